#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/norm/norm.hpp"

namespace weft::ops::norm {
namespace {

using Shape = std::vector<std::uint64_t>;

/// The tensors of a case, in the order x, residual, weight, bias, sum, y; those without the flag
/// are left out.
struct Setup {
  Kind kind = Kind::layer;
  TensorSpec x;
  TensorSpec residual;
  TensorSpec weight;
  TensorSpec bias;
  TensorSpec sum;
  TensorSpec y;
  bool has_residual = false;
  bool has_weight = false;
  bool has_bias = false;
  bool has_sum = false;
  std::uint32_t axis = ~0U;  ///< The dimension to normalise along; by default the last.
  std::uint64_t groups = 1;
  float eps = 1e-5F;
  double epsilons = 24;
  bool bench = false;
};

/// Where each tensor stands in the list of a case.
struct Places {
  std::size_t residual, weight, bias, sum, y;
  explicit Places(const Setup& setup) {
    std::size_t next = 1;
    residual = setup.has_residual ? next++ : 0;
    weight = setup.has_weight ? next++ : 0;
    bias = setup.has_bias ? next++ : 0;
    sum = setup.has_sum ? next++ : 0;
    y = next;
  }
};

std::uint64_t broadcast_at(const HostTensor& tensor, std::span<const std::uint64_t> at) {
  std::uint64_t element = 0;
  const std::size_t missing = at.size() - tensor.shape.size();
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    element = element * tensor.shape[d] + (tensor.shape[d] == 1 ? 0 : at[d + missing]);
  }
  return element;
}

void normalise(std::vector<double>& row, Kind kind, double eps) {
  const double count = static_cast<double>(row.size());
  double mean = 0;
  if (kind == Kind::layer || kind == Kind::group) {
    for (const double v : row) mean += v / count;
  }
  double squares = 0;
  for (double& v : row) {
    v -= mean;
    squares += v * v;
  }
  const double divisor =
      kind == Kind::l2 ? std::max(std::sqrt(squares), eps) : std::sqrt(squares / count + eps);
  for (double& v : row) v /= divisor;
}

void reference(const Setup& setup, std::span<HostTensor> tensors) {
  const Places places(setup);
  std::vector<double> h = tensors[0].values;
  const Shape shape = tensors[0].shape;
  if (setup.has_residual) {
    for (std::size_t i = 0; i < h.size(); ++i) h[i] += tensors[places.residual].values[i];
  }
  const HostTensor& weight = tensors[places.weight];
  const HostTensor& bias = tensors[places.bias];
  if (setup.has_sum) tensors[places.sum].values = h;
  if (h.empty()) return;

  // Elements of one row lie `step` apart; rows of groups are contiguous pieces.
  std::uint64_t step = 1;
  std::uint64_t length = 0;
  if (setup.kind == Kind::group) {
    length = h.size() / shape[0] / setup.groups;
  } else {
    const std::size_t axis = std::min<std::size_t>(setup.axis, shape.size() - 1);
    for (std::size_t d = axis + 1; d < shape.size(); ++d) step *= shape[d];
    length = shape[axis];
  }
  for (std::uint64_t outer = 0; outer < h.size(); outer += step * length) {
    for (std::uint64_t inner = 0; inner < step; ++inner) {
      std::vector<double> row(length);
      for (std::uint64_t i = 0; i < length; ++i) row[i] = h[outer + inner + i * step];
      normalise(row, setup.kind, setup.eps);
      for (std::uint64_t i = 0; i < length; ++i) h[outer + inner + i * step] = row[i];
    }
  }
  std::size_t n = 0;
  for (Index i(shape); !i.done(); i.next(), ++n) {
    const auto at = [&](const HostTensor& tensor) {
      return setup.kind == Kind::group ? i[1] : broadcast_at(tensor, i.values());
    };
    if (setup.has_weight) h[n] *= weight.values[at(weight)];
    if (setup.has_bias) h[n] += bias.values[at(bias)];
  }
  tensors[places.y].values = h;  // not rounded: the allowed error has half a step of the type in it
}

Case make_case(std::string name, Setup setup) {
  Case test;
  test.name = std::move(name);
  test.bench = setup.bench;
  test.test = !setup.bench;
  setup.y.output = setup.sum.output = true;
  test.tensors.push_back(setup.x);
  if (setup.has_residual) test.tensors.push_back(setup.residual);
  if (setup.has_weight) test.tensors.push_back(setup.weight);
  if (setup.has_bias) test.tensors.push_back(setup.bias);
  if (setup.has_sum) test.tensors.push_back(setup.sum);
  test.tensors.push_back(setup.y);
  test.epsilons = setup.epsilons;
  test.plan = [setup](std::span<const View> views, const Caps& caps) {
    const Places places(setup);
    const auto turned = [&](View view) {
      return setup.axis < view.rank ? view.transpose(setup.axis, view.rank - 1) : view;
    };
    Args args{.kind = setup.kind, .x = turned(views[0]), .eps = setup.eps, .groups = setup.groups};
    if (setup.has_residual) args.residual = turned(views[places.residual]);
    if (setup.has_weight) args.weight = views[places.weight];
    if (setup.has_bias) args.bias = views[places.bias];
    if (setup.has_sum) args.sum = turned(views[places.sum]);
    args.y = turned(views[places.y]);
    return plan(args, caps);
  };
  test.reference = [setup](std::span<HostTensor> tensors) { reference(setup, tensors); };
  return test;
}

Setup plain(Kind kind, DType type, const Shape& shape) {
  Setup setup{.kind = kind};
  for (TensorSpec* spec : {&setup.x, &setup.residual, &setup.sum, &setup.y}) {
    spec->dtype = type;
    spec->shape = shape;
  }
  setup.x.low = -2;
  setup.x.high = 3;
  setup.weight = {.dtype = type, .shape = {kind == Kind::group ? shape[1] : shape.back()}};
  setup.bias = setup.weight;
  return setup;
}

Setup affine(Kind kind, DType type, const Shape& shape) {
  Setup setup = plain(kind, type, shape);
  setup.has_weight = true;
  setup.has_bias = kind != Kind::rms;
  return setup;
}

Setup with_residual(Kind kind, DType type, const Shape& shape, bool sum = true) {
  Setup setup = affine(kind, type, shape);
  setup.has_residual = true;
  setup.has_sum = sum;
  return setup;
}

std::string join(const Shape& shape) {
  std::string text;
  for (const std::uint64_t extent : shape) text += formatted("_{}", extent);
  return text;
}

void add_shape_cases(std::vector<Case>& out) {
  for (const Kind kind : {Kind::layer, Kind::rms, Kind::l2}) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      const auto add = [&](std::string_view label, Setup setup) {
        out.push_back(make_case(formatted("{}_{}_{}", name(kind), label, name(type)), setup));
      };
      add("shape_5_12", plain(kind, type, {5, 12}));
      add("residual_2_3_640", with_residual(kind, type, {2, 3, 640}));
      // What depends on shape and type alone is the same kernel text in all kinds: f32 or layers
      // are enough.
      if (kind != Kind::layer && type != DType::f32) continue;
      for (const Shape& shape : {Shape{1}, Shape{0}, Shape{3, 0}, Shape{0, 5}, Shape{33, 64},
                                 Shape{3, 333}, Shape{3, 1000}, Shape{2, 4096}}) {
        add("shape" + join(shape), plain(kind, type, shape));
      }
      add("affine_5_768", affine(kind, type, {5, 768}));
      add("affine_5_77", affine(kind, type, {5, 77}));
      add("residual_3_90", with_residual(kind, type, {3, 90}));
      add("residual_3_91", with_residual(kind, type, {3, 91}));
      add("long_2_70000", with_residual(kind, type, {2, 70000}));
      add("long_odd_2_50257", affine(kind, type, {2, 50257}));
    }
    out.push_back(
        make_case(formatted("{}_wide_2_16384", name(kind)), affine(kind, DType::f32, {2, 16384})));
  }
  // A mean far larger than the spread: one-pass sums of squares would lose everything.
  for (const std::uint64_t length : {640U, 70000U}) {
    Setup shifted = plain(Kind::layer, DType::f32, {3, length});
    shifted.x.low = 1000;
    shifted.x.high = 1001;
    shifted.epsilons = 4000;  // an epsilon of x is that much of its spread
    out.push_back(make_case(formatted("layer_large_mean_{}", length), shifted));
  }
  Setup tiny = plain(Kind::l2, DType::f32, {4, 20});
  tiny.eps = 100;
  out.push_back(make_case("l2_below_eps", tiny));
}

void add_group_cases(std::vector<Case>& out) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const auto add = [&](std::string_view label, std::uint64_t groups, Setup setup) {
      setup.groups = groups;
      out.push_back(make_case(formatted("group_{}_{}", label, name(type)), setup));
    };
    add("2_8_4_4", 2, affine(Kind::group, type, {2, 8, 4, 4}));
    add("residual", 4, with_residual(Kind::group, type, {2, 8, 6, 6}));
    add("2_6_5_3", 3, affine(Kind::group, type, {2, 6, 5, 3}));
    add("1_4_2_3_2", 4, plain(Kind::group, type, {1, 4, 2, 3, 2}));
    add("3_12_no_space", 4, affine(Kind::group, type, {3, 12}));
    if (type == DType::bf16) continue;
    add("one_group", 1, affine(Kind::group, type, {2, 5, 7}));
    add("long", 2, affine(Kind::group, type, {1, 4, 130, 140}));
    add("long_odd", 2, affine(Kind::group, type, {1, 6, 127, 131}));
    Setup inner = with_residual(Kind::group, type, {2, 8, 5, 6});
    inner.x.order = inner.y.order = inner.sum.order = {0, 2, 3, 1};
    add("channels_innermost", 4, inner);
    Setup padded = affine(Kind::group, type, {2, 8, 5, 6});
    padded.x.pad = 3;
    add("padded_rows", 2, padded);
    Setup weights = affine(Kind::group, type, {2, 8, 4, 5});
    weights.weight.step = 3;
    weights.bias.offset = 1;
    add("strided_weight", 2, weights);
  }
}

void add_layout_cases(std::vector<Case>& out, Random& random) {
  // bf16 differs from f16 in packing alone, which the shapes cover.
  for (const DType type : {DType::f32, DType::f16}) {
    const auto add = [&](std::string_view label, const Setup& setup) {
      out.push_back(make_case(formatted("{}_{}_{}", name(setup.kind), label, name(type)), setup));
    };
    Setup offset = affine(Kind::layer, type, {6, 40});
    offset.x.offset = 3;
    offset.y.offset = 1;
    offset.weight.offset = 1;
    add("odd_offset", offset);
    Setup padded = with_residual(Kind::rms, type, {7, 48});
    padded.x.pad = 5;
    padded.residual.pad = 8;
    padded.y.pad = 8;
    padded.sum.pad = 4;
    add("padded", padded);
    Setup stepped = affine(Kind::layer, type, {5, 30});
    stepped.x.step = 3;
    stepped.y.step = 2;
    stepped.weight.step = 2;
    add("stepped", stepped);
    Setup permuted = with_residual(Kind::layer, type, {3, 4, 5, 24});
    permuted.x.order = {2, 0, 3, 1};
    permuted.sum.order = {1, 0, 2, 3};
    add("permuted", permuted);
    Setup permuted_out = affine(Kind::rms, type, {3, 4, 5, 24});
    permuted_out.y.order = {1, 3, 2, 0};
    add("permuted_output", permuted_out);
    for (const Kind kind : {Kind::layer, Kind::rms}) {
      Setup in_place = affine(kind, type, {6, 200});
      in_place.y.same_as = 0;
      add("in_place", in_place);
      Setup residual_in_place = with_residual(kind, type, {6, 200}, false);
      residual_in_place.y.same_as = 1;
      add("residual_in_place", residual_in_place);
      Setup sum_in_place = with_residual(kind, type, {6, 201});
      sum_in_place.sum.same_as = 0;
      add("sum_in_place", sum_in_place);
      Setup long_in_place = with_residual(kind, type, {2, 40000});
      long_in_place.sum.same_as = 0;
      add("long_sum_in_place", long_in_place);
      Setup columns = plain(kind, type, {130, 33});
      columns.axis = 0;
      add("columns", columns);
    }
    Setup middle = with_residual(Kind::l2, type, {3, 50, 9});
    middle.has_weight = middle.has_bias = false;
    middle.axis = 1;
    add("middle_axis", middle);
    for (const Shape& shape : {Shape{3, 1, 24}, Shape{4, 1}, Shape{1}, Shape{3, 4, 24}}) {
      Setup broadcast = affine(Kind::rms, type, {3, 4, 24});
      broadcast.weight.shape = shape;
      add("weight" + join(shape), broadcast);
    }
    for (int i = 0; i < 4; ++i) {
      Shape shape(random.between(1, 5));
      for (std::uint64_t& extent : shape) extent = random.between(1, 7);
      shape.back() = random.between(1, 300);
      Setup mixed = with_residual(random.pick<Kind>({Kind::layer, Kind::rms, Kind::l2}), type,
                                  shape, random.between(0, 1) == 1);
      for (TensorSpec* spec : {&mixed.x, &mixed.y, &mixed.residual, &mixed.sum, &mixed.weight}) {
        spec->offset = random.between(0, 9);
        spec->pad = random.between(0, 9);
        spec->step = random.between(1, 2);
      }
      add(formatted("random{}", i), mixed);
    }
  }
  for (const auto& [from, to] : {std::pair{DType::f16, DType::f32}, {DType::f32, DType::f16}}) {
    for (const std::uint64_t length : {96U, 90U, 91U}) {
      Setup setup = with_residual(Kind::rms, from, {5, length});
      setup.y.dtype = to;
      setup.weight.dtype = DType::f32;
      setup.sum.dtype = DType::f32;
      out.push_back(make_case(formatted("rms_{}_to_{}_{}", name(from), name(to), length), setup));
    }
  }
}

void add_large_cases(std::vector<Case>& out) {
  // Past 65,535 workgroups (rows of 5 take 8 invocations each), and past the 1 MiB bindings of the
  // masked run by many rows, by one row, by columns and by groups.
  out.push_back(
      make_case("rms_many_workgroups", plain(Kind::rms, DType::f32, {65536 * 32 + 1, 5})));
  out.push_back(
      make_case("layer_past_one_binding_rows", with_residual(Kind::layer, DType::f32, {700, 520})));
  out.push_back(
      make_case("layer_past_one_binding_row", affine(Kind::layer, DType::f32, {2, 300000})));
  out.push_back(
      make_case("rms_past_one_binding_row_f16", affine(Kind::rms, DType::f16, {1, 600001})));
  Setup columns = plain(Kind::layer, DType::f32, {600, 601});
  columns.axis = 0;
  out.push_back(make_case("layer_past_one_binding_columns", columns));
  Setup groups = affine(Kind::group, DType::f32, {1, 6, 300, 301});
  groups.groups = 2;
  out.push_back(make_case("group_past_one_binding", groups));
}

void add_benchmarks(std::vector<Case>& out) {
  const auto bench = [&](std::string label, Setup setup) {
    setup.bench = true;
    out.push_back(make_case("bench_" + std::move(label), std::move(setup)));
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const std::string_view t = name(type);
    bench(formatted("rms_4096x4096_{}", t), affine(Kind::rms, type, {4096, 4096}));
    bench(formatted("layer_4096x4096_{}", t), affine(Kind::layer, type, {4096, 4096}));
    bench(formatted("rms_residual_4096x4096_{}", t), with_residual(Kind::rms, type, {4096, 4096}));
    bench(formatted("l2_4096x4096_{}", t), plain(Kind::l2, type, {4096, 4096}));
    bench(formatted("rms_short_65536x64_{}", t), affine(Kind::rms, type, {65536, 64}));
    bench(formatted("layer_long_16x131072_{}", t), affine(Kind::layer, type, {16, 131072}));
    Setup groups = affine(Kind::group, type, {8, 256, 28, 28});
    groups.groups = 32;
    bench(formatted("group_8x256x28x28_{}", t), groups);
  }
  Setup large = affine(Kind::group, DType::f16, {1, 128, 512, 512});
  large.groups = 32;
  bench("group_1x128x512x512_f16", large);
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_shape_cases(out);
  add_group_cases(out);
  add_layout_cases(out, random);
  add_large_cases(out);
  add_benchmarks(out);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"norm", "Layer, RMS, L2 and group norms with fused weight, bias and residual",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::norm
