#include "ops/searchsorted/searchsorted.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::searchsorted {
namespace {

using Shape = std::vector<std::uint64_t>;

Case search_case(const std::string& label, const Shape& rows, std::uint64_t length,
                 std::uint64_t count, bool right, TensorSpec sorted = {}, TensorSpec values = {},
                 TensorSpec y = {}) {
  Case test;
  test.name = label;
  sorted.shape = rows;
  sorted.shape.push_back(length);
  sorted.fill = Fill::sorted;
  sorted.low = 0;
  sorted.high = static_cast<double>(std::min<std::uint64_t>(length, 100));  // exact in every type
  values.shape = rows;
  values.shape.push_back(count);
  values.dtype = sorted.dtype;
  values.fill = Fill::integers;
  values.low = 0;
  values.high = sorted.high + 2;
  y.dtype = DType::i32;
  y.shape = values.shape;
  y.output = true;
  test.tensors = {std::move(sorted), std::move(values), std::move(y)};
  test.plan = [right](std::span<const View> v, const Caps& caps) {
    return plan({.sorted = v[0], .values = v[1], .y = v[2], .right = right}, caps);
  };
  test.reference = [=](std::span<HostTensor> t) {
    for (std::size_t i = 0; i < t[1].values.size(); ++i) {
      const std::size_t row = i / count;
      double below = 0;
      for (std::size_t k = 0; k < length; ++k) {
        const double here = t[0].values[row * length + k];
        if (right ? here <= t[1].values[i] : here < t[1].values[i]) below += 1;
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
  // Rows that small bindings hold in several parts.
  out.push_back(search_case("long_row", {}, 300000, 40, false));
  out.push_back(search_case("long_rows_right", {2}, 300000, 20, true, {.pad = 1}, {.order = {1, 0}},
                            {.pad = 1, .offset = 1}));
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
