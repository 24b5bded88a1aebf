#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host_array.hpp"
#include "ops/case.hpp"

// Random programs of tensors: each step has what to run on the device, and what the host makes of
// the same elements with the meaning that numpy gives it.

namespace weft::test {

using Values = std::vector<Number>;

inline constexpr Number infinite = std::numeric_limits<Number>::infinity();
inline constexpr Number not_a_number = std::numeric_limits<Number>::quiet_NaN();

/// One operation on tensors that were made before.
struct Step {
  std::string what;
  std::vector<std::size_t> inputs;  ///< Their numbers.
  std::function<Tensor(const std::vector<Tensor>&)> run;
  HostArray wanted;
  Values sizes = {};  ///< What each result was summed up from, where that is more than the result.
  bool rounds =
      false;  ///< Devices may round it in their own way, even where the result has few digits.
};

/// Numbers that programs are drawn by: at random, or from bytes, of which every draw takes one or
/// two, so that a change of a byte changes one thing.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  explicit Draws(std::span<const std::uint8_t> bytes)
      : random_(0), bytes_(bytes), of_bytes_(true) {}

  /// Whether there were bytes, and none is left; draws are 0 from then on.
  [[nodiscard]] bool used_up() const { return of_bytes_ && bytes_.empty(); }
  std::uint64_t next(std::uint64_t limit);
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + next(high - low + 1);
  }
  template <class T>
  const T& pick(const std::vector<T>& choices) {
    return choices[next(choices.size())];
  }

 private:
  ops::Random random_;
  std::span<const std::uint8_t> bytes_;
  bool of_bytes_ = false;
};

/// What steps are drawn from.
class Source {
 public:
  explicit Source(std::uint64_t seed) : random(seed), elements(~seed) {}
  explicit Source(std::span<const std::uint8_t> bytes)
      : random(bytes), elements(random.between(0, 255)) {}
  bool chance(std::uint64_t of) { return random.between(1, of) == 1; }
  std::uint64_t below(std::uint64_t n) { return random.between(0, n - 1); }
  /// The number of any tensor that there is.
  std::size_t any() { return below(arrays.size()); }

  Draws random;
  ops::Random elements;  ///< What arrays are filled by.
  std::vector<HostArray> arrays;
};

/// Draws a step; nothing where what was drawn does not go together.
std::optional<Step> random_step(Source& source);
std::optional<Step> random_elementwise(Source& source);  ///< Of one tensor.
std::optional<Step> random_binary(Source& source);
std::optional<Step> random_move(Source& source);
std::optional<Step> random_rows(Source& source);  ///< Reductions, sorting, running sums, products.

Shape random_shape(Source& source);
/// Elements of any value of their type: its ends, NaN and infinities among them.
HostArray random_array(DType dtype, const Shape& shape, Source& source);
/// Small elements, whose sums and products have few digits.
HostArray small_array(DType dtype, const Shape& shape, Source& source);

std::string describe(const HostArray& host);
Number lowest(DType dtype);
Number highest(DType dtype);
/// An integer as an element of a type.
Number fold(DType dtype, Wide value);
inline Number finite(Number v) { return v < infinite && v > -infinite ? (v < 0 ? -v : v) : 0; }

}  // namespace weft::test
