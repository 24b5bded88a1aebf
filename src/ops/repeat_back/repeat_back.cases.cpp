#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/repeat_back/repeat_back.hpp"

namespace weft::ops::repeat_back {
namespace {

Case make_case(std::string name, TensorSpec dy, TensorSpec dx) {
  Case test;
  test.name = std::move(name);
  dx.output = true;
  double terms = 1;
  for (std::size_t i = 0; i < dx.shape.size(); ++i) {
    const std::uint64_t times = dx.shape[i] > 0 ? dy.shape[i] / dx.shape[i] : 1;
    terms *= static_cast<double>(times);
  }
  test.tensors = {std::move(dy), std::move(dx)};
  test.scale = std::sqrt(std::max(terms, 1.0));
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan({.dy = v[0], .dx = v[1]}, caps);
  };
  test.reference = [](std::span<HostTensor> t) {
    std::ranges::fill(t[1].values, 0.0);
    std::size_t n = 0;
    for (Index i(t[0].shape); !i.done(); i.next(), ++n) {
      std::uint64_t at = 0;
      for (std::size_t d = 0; d < t[1].shape.size(); ++d) {
        at = at * t[1].shape[d] + i[d] % t[1].shape[d];
      }
      t[1].values[at] += t[0].values[n];
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t /*seed*/) {
  std::vector<Case> out;
  for (const DType type : {DType::f32, DType::f16}) {
    const auto add = [&](std::string_view label, TensorSpec dy, TensorSpec dx) {
      dy.dtype = dx.dtype = type;
      out.push_back(make_case(formatted("{}_{}", label, name(type)), std::move(dy), std::move(dx)));
    };
    add("none", {.shape = {2, 4, 6, 8}}, {.shape = {2, 4, 6, 8}});
    add("inner", {.shape = {2, 4, 6, 16}}, {.shape = {2, 4, 6, 8}});
    add("rows", {.shape = {2, 4, 12, 8}}, {.shape = {2, 4, 6, 8}});
    add("outer", {.shape = {4, 4, 6, 8}}, {.shape = {2, 4, 6, 8}});
    add("all", {.shape = {4, 8, 6, 16}}, {.shape = {2, 4, 2, 8}});
    add("ones", {.shape = {5, 4, 7}}, {.shape = {1, 4, 1}});
    add("to_one", {.shape = {5, 9}}, {.shape = {1, 1}});
    add("strided", {.shape = {4, 9}, .pad = 3}, {.shape = {2, 3}, .step = 2, .offset = 1});
    add("empty", {.shape = {0, 9}}, {.shape = {0, 3}});
  }
  out.push_back(make_case("past_one_binding", {.shape = {600, 620}}, {.shape = {200, 310}}));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"repeat_back", "The gradient of repeating a tensor: sums over its repetitions",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::repeat_back
