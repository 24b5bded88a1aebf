// Which kernels the products and the attention of a language model take, over numbers of tokens and
// depths of the cache: few enough that a server that has seen some of them compiles nothing for
// the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "device/profiles.hpp"
#include "ops/attention/attention.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/plan.hpp"

namespace weft {
namespace {

using ops::Slot;
using ops::View;

Caps caps_of(std::string_view profile) {
  const auto all = profiles();
  return std::ranges::find(all, profile, &Profile::name)->caps;
}

View dense(DType dtype, std::initializer_list<std::uint64_t> shape, std::uint64_t slot) {
  return View::dense(dtype, std::span(shape.begin(), shape.size()), Slot(slot));
}

/// The kernels of a plan.
std::set<std::string> kernels_of(const Result<ops::Plan>& plan) {
  std::set<std::string> keys;
  EXPECT_TRUE(plan) << plan.error().message;
  if (!plan) return keys;
  for (const ops::Dispatch& dispatch : plan->dispatches) keys.insert(dispatch.kernel.key());
  return keys;
}

Result<ops::Plan> product(DType type, std::uint64_t rows, std::uint64_t terms,
                          std::uint64_t columns, const Caps& caps) {
  return plan(ops::mul_mat::Args{.weights = dense(type, {rows, terms}, 0),
                                 .x = dense(DType::f32, {columns, terms}, 1),
                                 .y = dense(DType::f32, {columns, rows}, 2),
                                 .allow_q8 = true},
              caps);
}

/// As llama.cpp asks for it: grouped heads, tokens first in the cache, and a mask.
Result<ops::Plan> attention(std::uint64_t queries, std::uint64_t keys, const Caps& caps) {
  const View cache = dense(DType::f16, {1, keys, 8, 128}, 1).transpose(1, 2);
  View values = cache;
  values.slot = Slot(2);
  return plan(ops::attention::Args{.q = dense(DType::f32, {1, 32, queries, 128}, 0),
                                   .k = cache,
                                   .v = values,
                                   .y = dense(DType::f32, {1, queries, 32, 128}, 3).transpose(1, 2),
                                   .mask = dense(DType::f16, {1, 1, queries, keys}, 4),
                                   .rules = {.scale = 0.088F}},
              caps);
}

/// Those of some numbers that bring a kernel which none before them had.
std::vector<std::uint64_t> new_at(std::uint64_t first, std::uint64_t last, std::uint64_t step,
                                  const std::function<Result<ops::Plan>(std::uint64_t)>& plan_of) {
  std::set<std::string> seen;
  std::vector<std::uint64_t> out;
  for (std::uint64_t number = first; number <= last; number += step) {
    const std::size_t before = seen.size();
    seen.merge(kernels_of(plan_of(number)));
    if (seen.size() > before) out.push_back(number);
  }
  return out;
}

constexpr std::array<std::string_view, 5> devices{"h200", "rdna3", "apple", "software", "old"};

TEST(Buckets, FewNumbersOfTokensBringNewKernels) {
  for (const std::string_view profile : devices) {
    const Caps caps = caps_of(profile);
    for (const DType type : {DType::q4_0, DType::q4_k, DType::f16}) {
      const auto found =
          new_at(1, 512, 1, [&](std::uint64_t n) { return product(type, 4096, 14336, n, caps); });
      EXPECT_LE(found.size(), 12U)
          << profile << " " << name(type) << ": " << testing::PrintToString(found);
    }
    const auto found = new_at(1, 512, 1, [&](std::uint64_t n) { return attention(n, 4096, caps); });
    EXPECT_LE(found.size(), 4U) << profile << ": " << testing::PrintToString(found);
  }
}

TEST(Buckets, FewDepthsBringNewKernels) {
  for (const std::string_view profile : devices) {
    const Caps caps = caps_of(profile);
    for (const std::uint64_t tokens : {1U, 4U, 16U, 512U}) {
      const auto found = new_at(256, 32768, 256,
                                [&](std::uint64_t keys) { return attention(tokens, keys, caps); });
      EXPECT_LE(found.size(), 2U) << profile << ", " << tokens
                                  << " tokens: " << testing::PrintToString(found);
      EXPECT_LE(found.back(), 1024U) << profile << ", " << tokens << " tokens";
    }
  }
}

}  // namespace
}  // namespace weft
