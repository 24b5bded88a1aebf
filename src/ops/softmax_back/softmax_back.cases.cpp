#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/softmax_back/softmax_back.hpp"

namespace weft::ops::softmax_back {
namespace {

using Shape = std::vector<std::uint64_t>;

/// The tensors y, dy and dx of a case, and its numbers.
struct Setup {
  TensorSpec y;
  TensorSpec dy;
  TensorSpec dx;
  float scale = 0.5F;
  bool log = false;
  bool columns = false;  ///< Along the first of two dimensions.
};

void reference(const Setup& setup, std::span<HostTensor> t) {
  const Shape& shape = t[0].shape;
  if (t[0].values.empty()) return;
  const std::uint64_t length = setup.columns ? shape.front() : shape.back();
  const std::uint64_t rows = t[0].values.size() / length;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const auto at = [&](std::uint64_t i) {
      return setup.columns ? i * rows + row : row * length + i;
    };
    double sum = 0;
    for (std::uint64_t i = 0; i < length; ++i) {
      sum += t[1].values[at(i)] * (setup.log ? 1 : t[0].values[at(i)]);
    }
    for (std::uint64_t i = 0; i < length; ++i) {
      const double y = t[0].values[at(i)];
      const double dy = t[1].values[at(i)];
      t[2].values[at(i)] = setup.scale * (setup.log ? dy - std::exp(y) * sum : y * (dy - sum));
    }
  }
}

Case make_case(std::string name, Setup setup) {
  Case test;
  test.name = std::move(name);
  // Probabilities of a row add up to about one, and logarithms of them are negative.
  const auto length = static_cast<double>(setup.y.shape.empty() ? 1
                                          : setup.columns       ? setup.y.shape.front()
                                                                : setup.y.shape.back());
  setup.y.low = setup.log ? -8 : 0;
  setup.y.high = setup.log ? -2 : 2 / std::max(length, 1.0);
  setup.dx.output = true;
  test.tensors = {setup.y, setup.dy, setup.dx};
  test.epsilons = 32;
  test.scale = setup.log ? std::sqrt(std::max(length, 1.0)) / 8 : 2 / std::max(length, 1.0);
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    Args args{.y = v[0], .dy = v[1], .dx = v[2], .scale = setup.scale, .log = setup.log};
    if (setup.columns) {
      for (View* view : {&args.y, &args.dy, &args.dx}) *view = view->transpose(0, 1);
    }
    return plan(args, caps);
  };
  test.reference = [setup](std::span<HostTensor> t) { reference(setup, t); };
  return test;
}

Setup plain(DType type, const Shape& shape, bool log = false) {
  const TensorSpec spec{.dtype = type, .shape = shape};
  return {.y = spec, .dy = spec, .dx = spec, .log = log};
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  const auto add = [&](std::string name, const Setup& setup) {
    out.push_back(make_case(std::move(name), setup));
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const std::string_view t = name(type);
    for (const Shape& shape : {Shape{1}, Shape{3, 0}, Shape{7, 1}, Shape{5, 12}, Shape{9, 131},
                               Shape{2, 3, 2, 512}, Shape{2, 4100}}) {
      std::string label = "shape";
      for (const std::uint64_t extent : shape) label += formatted("_{}", extent);
      add(formatted("{}_{}", label, t), plain(type, shape));
    }
    add(formatted("log_4_640_{}", t), plain(type, {4, 640}, true));
    Setup offset = plain(type, {6, 40});
    offset.y.offset = 3;
    offset.dx.offset = 1;
    add(formatted("odd_offset_{}", t), offset);
    Setup in_place = plain(type, {6, 201});
    in_place.dx.same_as = 1;
    add(formatted("in_place_{}", t), in_place);
    Setup columns = plain(type, {33, 40});
    columns.columns = true;
    add(formatted("columns_{}", t), columns);
  }
  Setup mixed = plain(DType::f16, {5, 96});
  mixed.dy.dtype = DType::f32;
  add("mixed_types", mixed);
  Setup padded = plain(DType::f32, {2, 3, 50});
  padded.y.pad = 5;
  padded.dy.order = {1, 0, 2};
  padded.dx.step = 2;
  add("layouts", padded);
  add("long_2_70001_f32", plain(DType::f32, {2, 70001}));
  add("log_long_2_70000_f16", plain(DType::f16, {2, 70000}, true));
  add("past_one_binding_rows_f32", plain(DType::f32, {700, 520}));
  add("past_one_binding_row_f32", plain(DType::f32, {1, 300000}));
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t rows = random.between(1, 9);
    add(formatted("random{}", i), plain(DType::f32, {rows, random.between(1, 900)}, i == 2));
  }
  for (const DType type : {DType::f32, DType::f16}) {
    Case bench = make_case(formatted("bench_softmax_back_4096x4096_{}", name(type)),
                           plain(type, {4096, 4096}));
    bench.test = false;
    bench.bench = true;
    out.push_back(std::move(bench));
  }
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"softmax_back", "The gradient of softmax and log-softmax", "f32 f16 bf16", cases};
}

}  // namespace weft::ops::softmax_back
