#include "ops/searchsorted/searchsorted.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/cumsum/cumsum.hpp"
#include "ops/stages.hpp"

namespace weft::ops::searchsorted {
namespace {

using Shape = std::vector<std::uint64_t>;

/// Rows that ascend are running sums of steps 0, 1 and 2: exact in every type, and with equal neighbours.
Case search_case(const std::string& label, const Shape& rows, std::uint64_t length,
                 std::uint64_t count, bool right, TensorSpec steps = {}, TensorSpec values = {},
                 TensorSpec y = {}) {
  Case test;
  test.name = label;
  steps.shape = rows;
  steps.shape.push_back(length);
  steps.fill = Fill::integers;
  steps.low = 0;
  steps.high = 2;
  values.shape = rows;
  values.shape.push_back(count);
  values.dtype = steps.dtype;
  values.fill = Fill::integers;
  values.low = 0;
  values.high = static_cast<double>(length) + 2;
  y.dtype = DType::i32;
  y.shape = values.shape;
  y.output = true;
  test.tensors = {std::move(steps), std::move(values), std::move(y)};
  test.plan = [right](std::span<const View> v, const Caps& caps) -> Result<Plan> {
    Stages stages({v[0], v[1], v[2]});
    const View sorted = stages.scratch(v[0].dtype, v[0].extents());
    const std::uint32_t axis = v[0].rank - 1;
    stages.add(cumsum::plan({.x = v[0], .y = sorted, .axis = axis}, caps));
    stages.add(plan({.sorted = sorted, .values = v[1], .y = v[2], .right = right}, caps));
    return std::move(stages).finish();
  };
  test.reference = [=](std::span<HostTensor> t) {
    for (std::size_t i = 0; i < t[1].values.size(); ++i) {
      const std::size_t row = i / count;
      double sum = 0;
      double below = 0;
      for (std::size_t k = 0; k < length; ++k) {
        sum += t[0].values[row * length + k];
        if (right ? sum <= t[1].values[i] : sum < t[1].values[i]) below += 1;
      }
      t[2].values[i] = below;
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32}) {
    for (const bool right : {false, true}) {
      out.push_back(search_case(formatted("{}_{}", name(type), right ? "right" : "left"), {3}, 50,
                                37, right, {.dtype = type}));
    }
  }
  out.push_back(search_case("one_row", {}, 300, 1000, false));
  out.push_back(search_case("one_element", {}, 1, 1, true));
  out.push_back(search_case("nothing_sorted", {2}, 0, 5, false));
  out.push_back(search_case("no_values", {2}, 5, 0, false));
  out.push_back(search_case("many_dimensions", {2, 3, 2}, 9, 4, false));
  out.push_back(search_case("strided", {4}, 33, 20, true, {.pad = 3, .offset = 1},
                            {.order = {1, 0}, .offset = 2}, {.pad = 1, .offset = 5}));
  out.push_back(search_case("large", {700}, 30, 500, false));
  out.push_back(search_case("random", {random.between(1, 5)}, random.between(1, 90),
                            random.between(1, 90), true));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"searchsorted", "Where values belong in ascending rows, by bisection",
          "f32 f16 bf16 i32 u32 (places i32)", cases};
}

}  // namespace weft::ops::searchsorted
