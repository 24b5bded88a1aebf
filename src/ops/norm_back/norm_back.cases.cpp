#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/norm_back/norm_back.hpp"

namespace weft::ops::norm_back {
namespace {

using norm::Kind;
using Shape = std::vector<std::uint64_t>;

/// A case: the tensors x, dy and dx, and which others there are.
struct Setup {
  Kind kind = Kind::layer;
  TensorSpec x;
  TensorSpec dy;
  TensorSpec dx;
  bool weight = true;
  bool dweight = true;
  bool dbias = true;
  std::uint64_t groups = 1;
  float eps = 1e-5F;
};

std::uint64_t channels_of(const Setup& setup) {
  return setup.kind == Kind::group ? setup.x.shape[1] : setup.x.shape.back();
}

/// The order of a case's tensors: x, dy, weight, dx, dweight, dbias (those that it has).
struct Tensors {
  HostTensor *x, *dy, *weight = nullptr, *dx, *dweight = nullptr, *dbias = nullptr;
  Tensors(const Setup& setup, std::span<HostTensor> t) : x(&t[0]), dy(&t[1]), dx(nullptr) {
    std::size_t next = 2;
    if (setup.weight) weight = &t[next++];
    dx = &t[next++];
    if (setup.dweight) dweight = &t[next++];
    if (setup.dbias) dbias = &t[next++];
  }
};

void reference(const Setup& setup, std::span<HostTensor> tensors) {
  const Tensors t(setup, tensors);
  const std::uint64_t channels = channels_of(setup);
  std::uint64_t length = setup.x.shape.back();
  std::uint64_t span = 1;  // neighbours that share a channel
  if (setup.kind == Kind::group) {
    for (std::size_t d = 2; d < setup.x.shape.size(); ++d) span *= setup.x.shape[d];
    length = channels / setup.groups * span;
  }
  for (HostTensor* sum : {t.dweight, t.dbias}) {
    if (sum != nullptr) std::ranges::fill(sum->values, 0.0);
  }
  const bool centered = setup.kind == Kind::layer || setup.kind == Kind::group;
  for (std::uint64_t start = 0; start < t.x->values.size(); start += length) {
    const auto n = static_cast<double>(length);
    const auto channel = [&](std::uint64_t i) { return (start + i) / span % channels; };
    double mean = 0;
    for (std::uint64_t i = 0; centered && i < length; ++i) mean += t.x->values[start + i] / n;
    double squares = 0;
    double gradients = 0;
    double products = 0;
    for (std::uint64_t i = 0; i < length; ++i) {
      const double v = t.x->values[start + i] - mean;
      const double w = t.weight != nullptr ? t.weight->values[channel(i)] : 1;
      const double g = t.dy->values[start + i] * w;
      squares += v * v;
      gradients += g;
      products += g * v;
    }
    double factor = 1 / std::sqrt(squares / n + setup.eps);
    double pull = factor * factor * products / n;
    if (setup.kind == Kind::l2) {
      factor = 1 / std::max(std::sqrt(squares), double{setup.eps});
      pull = std::sqrt(squares) > setup.eps ? products / squares : 0;
    }
    for (std::uint64_t i = 0; i < length; ++i) {
      const double v = t.x->values[start + i] - mean;
      const double w = t.weight != nullptr ? t.weight->values[channel(i)] : 1;
      const double dy = t.dy->values[start + i];
      if (t.dweight != nullptr) t.dweight->values[channel(i)] += dy * v * factor;
      if (t.dbias != nullptr) t.dbias->values[channel(i)] += dy;
      t.dx->values[start + i] = factor * (dy * w - (centered ? gradients / n : 0) - v * pull);
    }
  }
}

Case make_case(std::string name, Setup setup) {
  Case test;
  test.name = std::move(name);
  setup.dx.output = true;
  test.tensors = {setup.x, setup.dy};
  const TensorSpec row{.shape = {channels_of(setup)}};
  if (setup.weight) test.tensors.push_back(row);
  test.tensors.push_back(setup.dx);
  for (const bool wanted : {setup.dweight, setup.dbias}) {
    if (!wanted) continue;
    test.tensors.push_back(row);
    test.tensors.back().output = true;
  }
  std::uint64_t count = 1;
  for (const std::uint64_t extent : setup.x.shape) count *= extent;
  test.epsilons = 64;
  test.scale = std::max(4.0, std::sqrt(static_cast<double>(count)) / 8);
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    Args args{.kind = setup.kind,
              .x = v[0],
              .dy = v[1],
              .dx = {},
              .eps = setup.eps,
              .groups = setup.groups};
    std::size_t next = 2;
    if (setup.weight) args.weight = v[next++];
    args.dx = v[next++];
    if (setup.dweight) args.dweight = v[next++];
    if (setup.dbias) args.dbias = v[next++];
    return plan(args, caps);
  };
  test.reference = [setup](std::span<HostTensor> t) { reference(setup, t); };
  return test;
}

Setup plain(Kind kind, DType type, const Shape& shape) {
  const TensorSpec spec{.dtype = type, .shape = shape};
  return {.kind = kind, .x = spec, .dy = spec, .dx = spec};
}

/// Only dx, as ggml has it.
Setup bare(Kind kind, DType type, const Shape& shape) {
  Setup setup = plain(kind, type, shape);
  setup.weight = setup.dweight = setup.dbias = false;
  return setup;
}

void add_benchmarks(std::vector<Case>& out) {
  const auto bench = [&](std::string label, const Setup& setup) {
    Case test = make_case("bench_" + std::move(label), setup);
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  for (const DType type : {DType::f32, DType::f16}) {
    bench(formatted("rms_norm_back_4096x4096_{}", name(type)), bare(Kind::rms, type, {4096, 4096}));
    Setup rms = plain(Kind::rms, type, {4096, 4096});
    rms.dbias = false;
    bench(formatted("rms_norm_back_weight_4096x4096_{}", name(type)), rms);
    bench(formatted("layer_norm_back_8192x768_{}", name(type)),
          plain(Kind::layer, type, {8192, 768}));
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  const auto add = [&](std::string_view label, const Setup& setup) {
    out.push_back(
        make_case(formatted("{}_{}_{}", name(setup.kind), label, name(setup.x.dtype)), setup));
  };
  for (const Kind kind : {Kind::layer, Kind::rms, Kind::l2}) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      add("5_12", plain(kind, type, {5, 12}));
      add("2_3_133", plain(kind, type, {2, 3, 133}));
      add("bare_4_64", bare(kind, type, {4, 64}));
    }
    add("1", plain(kind, DType::f32, {1}));
    add("no_rows", plain(kind, DType::f32, {0, 5}));
    add("long_2_70000", plain(kind, DType::f32, {2, 70000}));
    add("long_odd_2_20001", bare(kind, DType::f16, {2, 20001}));
    add("past_one_binding_rows", plain(kind, DType::f32, {700, 520}));
  }
  for (const DType type : {DType::f32, DType::f16}) {
    Setup group = plain(Kind::group, type, {3, 8, 5, 7});
    group.groups = 2;
    add("2_groups", group);
    group = plain(Kind::group, type, {2, 6, 16});
    group.groups = 3;
    add("3_groups", group);
    Setup inner = plain(Kind::group, type, {2, 6, 4, 4});
    inner.groups = 3;
    inner.x.order = inner.dy.order = inner.dx.order = {0, 2, 3, 1};
    add("channels_innermost", inner);
    Setup in_place = plain(Kind::layer, type, {6, 201});
    in_place.dx.same_as = 1;
    add("in_place_dy", in_place);
    in_place = plain(Kind::rms, type, {6, 200});
    in_place.dx.same_as = 0;
    add("in_place_x", in_place);
    Setup layout = plain(Kind::rms, type, {4, 3, 40});
    layout.x.offset = 1;
    layout.dy.order = {1, 0, 2};
    layout.dx.pad = 3;
    add("layouts", layout);
  }
  Setup small = bare(Kind::l2, DType::f32, {3, 4});
  small.eps = 100;
  add("all_below_eps", small);
  add("past_one_binding_row", bare(Kind::layer, DType::f32, {1, 300000}));
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t rows = random.between(1, 40);
    Setup setup = plain(Kind::layer, DType::f32, {rows, random.between(1, 600)});
    setup.dbias = i == 1;
    add(formatted("random{}", i), setup);
  }
  add_benchmarks(out);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"norm_back", "The gradients of layer, RMS, L2 and group norm: input, weight and bias",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::norm_back
