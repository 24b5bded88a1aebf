#include "ops/rows/outside.hpp"

#include <cstdint>
#include <utility>

#include "base/format.hpp"
#include "ops/rows/cases.hpp"

namespace weft::ops::rows {
namespace {

/// Indices from -2 to two above `count`.
Case outside_case(const std::string& label, TensorSpec indices, std::uint64_t count, bool negative,
                  std::optional<std::int32_t> ignored) {
  Case test;
  test.name = "outside_" + label;
  test.epsilons = 0;
  indices.fill = Fill::integers;
  indices.low = -2;
  indices.high = static_cast<double>(count) + 2;
  test.tensors = {std::move(indices),
                  {.dtype = DType::u32, .shape = {2}, .low = 0, .high = 0, .output = true}};
  test.plan = [=](std::span<const View> v, const Caps& caps) {
    return plan(
        {.indices = v[0], .count = count, .negative = negative, .ignored = ignored, .status = v[1]},
        caps);
  };
  test.reference = [=](std::span<HostTensor> t) {
    double bad = 0;
    double first = 0;
    for (std::size_t i = 0; i < t[0].values.size(); ++i) {
      const double index = t[0].values[i];
      if (index < 0 ? negative : index < static_cast<double>(count)) continue;
      if (ignored && index == *ignored) continue;
      if (bad++ == 0) first = ~static_cast<std::uint32_t>(i);
    }
    t[1].values = {bad, first};
  };
  return test;
}

}  // namespace

void add_outside_cases(std::vector<Case>& out) {
  for (const DType type : {DType::i32, DType::i64}) {
    out.push_back(outside_case(formatted("{}", name(type)), {.dtype = type, .shape = {300}}, 5,
                               false, std::nullopt));
    out.push_back(outside_case(formatted("{}_labels", name(type)), {.dtype = type, .shape = {7, 9}},
                               6, true, 7));
  }
  const auto add = [&](const std::string& label, TensorSpec indices, std::uint64_t count,
                       std::optional<std::int32_t> ignored) {
    indices.dtype = DType::i32;
    out.push_back(outside_case(label, std::move(indices), count, false, ignored));
  };
  add("strided", {.shape = {4, 3, 5}, .order = {2, 0, 1}, .offset = 2}, 3, -1);
  add("one", {.shape = {}}, 1, std::nullopt);
  add("none", {.shape = {0}}, 1, std::nullopt);
  add("large", {.shape = {1, 700, 500}}, 1000, 3);
}

}  // namespace weft::ops::rows
