#include "api/pairs.hpp"

#include "weft/device.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft {

Pairs distinct_pairs(const Tensor& rows, const Tensor& columns, const Where& at) {
  const std::uint64_t n = rows.size();
  Tensor numbers = rows.device().full({1}, 0, DType::i32, at);
  if (n > 1) {
    const auto differs = [&](const Tensor& x) {
      return not_equal(In(x.slice(0, 1, n - 1, 1, at), at), x.slice(0, 0, n - 1, 1, at));
    };
    const Tensor changed = logical_or(In(differs(rows), at), differs(columns)).to(DType::i32, at);
    numbers = cumsum(In(concat({numbers, changed}, 0, at), at), 0);
  }
  const auto last = numbers.slice(0, -1, 1, 1, at).reshape({}, at).item<std::int32_t>();
  const std::uint64_t count = static_cast<std::uint64_t>(last) + 1;
  const Tensor firsts =
      searchsorted(In(numbers, at), rows.device().arange(count, 0, 1, DType::i32, at));
  return {numbers, gather(In(rows, at), firsts, 0), gather(In(columns, at), firsts, 0), count};
}

}  // namespace weft
