#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/optimizer/optimizer.hpp"

namespace weft::ops::optimizer {
namespace {

using Shape = std::vector<std::uint64_t>;

/// A step over tensors of one shape.
struct Setup {
  Shape shape;
  bool adam = true;
  bool coupled = false;
  bool momentum = false;
  DType gradients = DType::f32;
  DType working = DType::f32;  ///< f32: none
  bool scale = false;
  bool infinite = false;  ///< The scale is infinite.
  std::uint64_t offset = 0;
};

/// Tensors: numbers, scale (if any), weights, gradients, m (if any), v (Adam), working (if any).
struct Places {
  std::size_t scale = 0, weights = 0, gradients = 0, m = 0, v = 0, working = 0;
  explicit Places(const Setup& setup) {
    std::size_t next = 1;
    if (setup.scale) scale = next++;
    weights = next++;
    gradients = next++;
    if (setup.adam || setup.momentum) m = next++;
    if (setup.adam) v = next++;
    if (setup.working != DType::f32) working = next++;
  }
};

void reference(const Setup& setup, std::span<HostTensor> t) {
  const Places at(setup);
  const auto& n = t[0].values;
  const double scale = setup.scale ? t[at.scale].values[0] : 1;
  if (!std::isfinite(scale)) {
    if (setup.working != DType::f32) t[at.working].values = t[at.weights].values;
    return;
  }
  for (std::uint64_t i = 0; i < t[at.weights].values.size(); ++i) {
    double& w = t[at.weights].values[i];
    double g = t[at.gradients].values[i] * scale;
    if (setup.adam) {
      if (setup.coupled) g += n[4] * w;
      double& m = t[at.m].values[i];
      double& v = t[at.v].values[i];
      m = m * n[1] + g * (1 - n[1]);
      v = v * n[2] + g * g * (1 - n[2]);
      w = w * (setup.coupled ? 1 : 1 - n[0] * n[4]) -
          n[0] * m * n[5] / (std::sqrt(v * n[6]) + n[3]);
    } else {
      if (setup.momentum) g = t[at.m].values[i] = t[at.m].values[i] * n[2] + g;
      w = w * (1 - n[0] * n[1]) - n[0] * g;
    }
    if (setup.working != DType::f32) t[at.working].values[i] = w;
  }
}

Case make_case(std::string name, const Setup& setup) {
  Case test;
  test.name = std::move(name);
  TensorSpec tensor{.shape = setup.shape, .output = true, .offset = setup.offset};
  // Rates, betas and corrections are numbers between 0.05 and 0.9 here: the formulas hold for any.
  test.tensors.push_back({.shape = {setup.adam       ? 7U
                                    : setup.momentum ? 3U
                                                     : 2U},
                          .low = 0.05,
                          .high = 0.9});
  if (setup.scale) {
    const double infinity = std::numeric_limits<double>::infinity();
    test.tensors.push_back({.shape = {1},
                            .low = setup.infinite ? infinity : 0.1,
                            .high = setup.infinite ? infinity : 2});
  }
  test.tensors.push_back(tensor);
  TensorSpec gradients = tensor;
  gradients.output = false;
  gradients.dtype = setup.gradients;
  test.tensors.push_back(gradients);
  if (setup.adam || setup.momentum) test.tensors.push_back(tensor);
  if (setup.adam) {
    test.tensors.push_back(tensor);
    test.tensors.back().low = 0.01;
  }
  if (setup.working != DType::f32) {
    test.tensors.push_back(tensor);
    test.tensors.back().dtype = setup.working;
  }
  test.epsilons = 64;
  test.scale = 4;
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    const Places at(setup);
    Weights weights{.weights = v[at.weights], .gradients = v[at.gradients]};
    if (setup.scale) weights.scale = v[at.scale];
    if (setup.working != DType::f32) weights.working = v[at.working];
    if (setup.adam) {
      return plan(AdamArgs{.tensors = weights,
                           .m = v[at.m],
                           .v = v[at.v],
                           .numbers = v[0],
                           .coupled = setup.coupled},
                  caps);
    }
    return plan(
        SgdArgs{.tensors = weights, .numbers = v[0], .momentum = setup.momentum ? v[at.m] : View{}},
        caps);
  };
  test.reference = [setup](std::span<HostTensor> t) { reference(setup, t); };
  return test;
}

/// Tensors: scale, norm, loss scale, gradients….
Case clip_case(std::string name, const std::vector<TensorSpec>& gradients, float max_norm) {
  Case test;
  test.name = std::move(name);
  test.tensors = {{.shape = {1}, .output = true},
                  {.shape = {1}, .output = true},
                  {.shape = {1}, .low = 2, .high = 64}};
  test.tensors.insert(test.tensors.end(), gradients.begin(), gradients.end());
  test.epsilons = 32;
  test.plan = [max_norm](std::span<const View> v, const Caps& caps) {
    return plan(ClipArgs{.gradients = {v.begin() + 3, v.end()},
                         .scale = v[0],
                         .norm = v[1],
                         .loss_scale = v[2],
                         .max_norm = max_norm},
                caps);
  };
  test.reference = [max_norm](std::span<HostTensor> t) {
    double sum = 0;
    for (const HostTensor& gradient : t.subspan(3)) {
      for (const double value : gradient.values) sum += value * value;
    }
    const double shrink = 1 / t[2].values[0];
    const double norm = std::sqrt(sum) * shrink;
    t[1].values[0] = norm;
    t[0].values[0] = shrink * (max_norm > 0 ? std::min(1.0, max_norm / norm) : 1.0);
    if (!std::isfinite(norm)) t[0].values[0] = std::numeric_limits<double>::quiet_NaN();
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  const auto add = [&](std::string name, const Setup& setup) {
    out.push_back(make_case(std::move(name), setup));
  };
  add("adamw", {.shape = {3, 4, 5, 10}});
  add("adamw_odd", {.shape = {1027}, .scale = true});
  add("adamw_offset", {.shape = {31}, .offset = 1});
  add("adamw_empty", {.shape = {0}});
  add("adamw_one", {.shape = {}});
  add("adam_coupled", {.shape = {70}, .coupled = true});
  add("adamw_not_finite", {.shape = {70}, .working = DType::bf16, .scale = true, .infinite = true});
  add("adamw_past_one_binding", {.shape = {300001}, .working = DType::f16});
  for (const DType type : {DType::f16, DType::bf16}) {
    add(formatted("adamw_working_{}", name(type)),
        {.shape = {random.between(100, 2000)}, .gradients = type, .working = type, .scale = true});
    add(formatted("adamw_working_offset_{}", name(type)),
        {.shape = {259}, .gradients = type, .working = type, .offset = 1});
  }
  add("sgd", {.shape = {3, 4, 5, 10}, .adam = false});
  add("sgd_working", {.shape = {259}, .adam = false, .working = DType::f16, .scale = true});
  add("sgd_momentum", {.shape = {259}, .adam = false, .momentum = true});
  const std::vector<TensorSpec> gradients{{.shape = {33, 70}},
                                          {.dtype = DType::f16, .shape = {259}},
                                          {.shape = {7, 9}, .order = {1, 0}, .pad = 2},
                                          {.shape = {0}},
                                          {.dtype = DType::bf16, .shape = {1}}};
  out.push_back(clip_case("clip", gradients, 0.5F));
  out.push_back(clip_case("clip_high", gradients, 1e6F));
  out.push_back(clip_case("norm_only", gradients, 0));
  out.push_back(clip_case("clip_nothing", {}, 1));
  out.push_back(clip_case("clip_many", std::vector<TensorSpec>(300, {.shape = {5}}), 1));
  std::vector<TensorSpec> infinite = gradients;
  infinite[1].fill = Fill::masked;
  out.push_back(clip_case("clip_not_finite", infinite, 0.5F));
  for (const DType type : {DType::f32, DType::bf16}) {
    Case bench = make_case(formatted("bench_adamw_124M_{}", name(type)),
                           {.shape = {124'000'000}, .gradients = type, .working = type});
    bench.test = false;
    bench.bench = true;
    // Weights, m and v are read and written.
    bench.bytes = 124e6 * (6 * 4 + size_of(type) + (type == DType::f32 ? 0 : size_of(type)));
    out.push_back(std::move(bench));
  }
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"optimizer",
          "Steps of AdamW, Adam and SGD with f32 masters, and clipping by the global norm",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::optimizer
