#include "api/operands.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "weft/device.hpp"
#include "weft/ops.hpp"

namespace weft {
namespace {

bool compares(std::string_view function) {
  return function == "equal" || function == "not_equal" || function.starts_with("less") ||
         function.starts_with("greater");
}

bool has_fraction(double number) { return std::isfinite(number) && number != std::trunc(number); }

/// Whether a number lies above all of i64. Doubles have none between 2⁶³ - 1, which i64 has, and
/// 2⁶³, which it has not.
bool beyond(const Operand& operand) { return operand.number >= 0x1p63 && operand.whole == 0; }

/// The type that a number gets beside tensors which have this one together.
DType type_beside(const Operand& operand, DType common) {
  if (is_float(common)) return common;
  const bool whole = std::isfinite(operand.number) && operand.number == std::trunc(operand.number);
  if (is_quantized(common) || !whole) return DType::f32;
  if (common != DType::boolean || operand.kind == Operand::Kind::boolean) return common;
  return DType::i32;
}

/// The type that numbers alone have: what C++ calls them.
DType type_alone(std::span<const Operand> operands) {
  const auto any = [&](Operand::Kind kind) {
    return std::ranges::any_of(operands, [&](const Operand& o) { return o.kind == kind; });
  };
  if (any(Operand::Kind::real)) return DType::f32;
  return any(Operand::Kind::whole) ? DType::i32 : DType::boolean;
}

struct Range {
  double least;
  double most;
};
Range range_of(DType dtype) {
  if (dtype == DType::boolean) return {0, 1};
  const double bits = std::ldexp(1.0, static_cast<int>(8 * size_of(dtype)));
  return is_unsigned(dtype) ? Range{0, bits - 1} : Range{-bits / 2, bits / 2 - 1};
}

/// What a comparison of whole numbers with this number gives, where that is the same for all of
/// them: in f32 large whole numbers would become others.
std::optional<bool> known_answer(std::string_view function, const Operand& operand, bool is_first) {
  const double number = operand.number;
  const bool equality = function == "equal" || function == "not_equal";
  if (std::isnan(number) || (equality && has_fraction(number))) return function == "not_equal";
  const bool above = beyond(operand);
  if (!above && number >= -0x1p63) return std::nullopt;
  if (equality) return function == "not_equal";
  const bool asks_for_smaller = function.starts_with("less") != is_first;
  return asks_for_smaller == above;
}

/// A number with a fraction that whole ones are compared with: the nearest whole number on the side
/// that leaves the answer as it is.
Operand whole_limit(std::string_view function, const Operand& operand, bool is_first) {
  if (!has_fraction(operand.number)) return operand;
  // x < 2.5 and x >= 2.5 ask for 3; 2.5 > x and 2.5 <= x are the same.
  const bool above = (function == "less" || function == "greater_equal") != is_first;
  return above ? std::ceil(operand.number) : std::floor(operand.number);
}

/// A number as a tensor without dimensions.
Tensor number_tensor(std::string_view function, const Operand& operand, const Device& device,
                     DType common, const Where& where) {
  DType dtype = type_beside(operand, common);
  const auto holds = [&](DType type) {
    const Range range = range_of(type);
    return operand.number >= range.least && operand.number <= range.most;
  };
  if (!is_float(dtype) && !holds(dtype) && compares(function)) dtype = DType::i64;
  if (is_float(dtype)) return device.full({}, operand.number, dtype, where);
  if (!holds(dtype) || (dtype == DType::i64 && beyond(operand))) {
    refuse(function, where,
           formatted("The number {} is out of the range of {}.", operand.number, name(dtype)));
  }
  if (dtype == DType::i64 && operand.kind == Operand::Kind::whole) {  // doubles are not so exact
    return device.tensor(dtype, {}, std::as_bytes(std::span(&operand.whole, 1)));
  }
  return device.full({}, operand.number, dtype, where);
}

/// Powers that are exact by other functions.
std::optional<Tensor> float_power(In x, double exponent) {
  if (exponent == 2) return square(x);
  if (exponent == 3) return square(x) * x;
  if (exponent == 0.5) return sqrt(x);
  if (exponent == 1) return x.tensor;
  if (exponent == -1) return reciprocal(x);
  return std::nullopt;
}

/// What two operands make without a tensor for the number, where there is such a way.
std::optional<Tensor> with_number(std::string_view function, const Tensor& x, double number,
                                  const Where& where) {
  if (!x || !is_float(x.dtype())) return std::nullopt;
  const In in(x, where);
  if (function == "add") return in + number;
  if (function == "sub") return in - number;
  if (function == "mul") return in * number;
  if (function == "div") return in / number;
  if (function == "pow") return float_power(in, number);
  return std::nullopt;
}

}  // namespace

Tensor map_operands(std::string_view function, std::initializer_list<Operand> operands,
                    std::array<double, 4> scalars, Where where) {
  std::vector<Tensor> inputs;
  for (const Operand& operand : operands) {
    inputs.push_back(operand.tensor != nullptr ? *operand.tensor : Tensor());
    if (operand.tensor != nullptr) need(function, "one of its operands", inputs.back(), where);
  }
  const std::span all(operands.begin(), operands.size());
  if (all.size() == 2 && all[1].tensor == nullptr) {
    if (auto made = with_number(function, inputs[0], all[1].number, where)) return *made;
  }
  const std::size_t first = function == "where" ? 1 : 0;
  std::optional<DType> common;
  for (const Tensor& input : std::span(inputs).subspan(first)) {
    if (input) common = common ? promote(*common, input.dtype()) : input.dtype();
  }
  const DType beside = common.value_or(type_alone(all.subspan(first)));
  const Tensor& known =
      *std::ranges::find_if(inputs, [](const Tensor& t) { return static_cast<bool>(t); });
  const Device device = known.device();
  const bool exact = compares(function) && !is_float(beside) && !is_quantized(beside);
  for (std::size_t i = first; i < inputs.size(); ++i) {
    if (inputs[i]) continue;
    if (!exact) {
      inputs[i] = number_tensor(function, all[i], device, beside, where);
      continue;
    }
    if (const auto answer = known_answer(function, all[i], i == 0)) {
      return device.full(known.shape(), *answer ? 1 : 0, DType::boolean, where);
    }
    inputs[i] =
        number_tensor(function, whole_limit(function, all[i], i == 0), device, beside, where);
  }
  // Quotients of whole numbers are seldom whole; floor_divide() is for those that shall be.
  if (function == "div" && !is_float(beside) && !is_quantized(beside)) {
    for (Tensor& input : inputs) input = input.to(DType::f32, where);
  }
  return map(function, inputs, scalars, where);
}

Comparison operator==(In a, const Operand& b) { return Comparison(equal(a, b)); }
Comparison operator!=(In a, const Operand& b) { return Comparison(not_equal(a, b)); }
Comparison operator<(In a, const Operand& b) { return Comparison(less(a, b)); }
Comparison operator<=(In a, const Operand& b) { return Comparison(less_equal(a, b)); }
Comparison operator>(In a, const Operand& b) { return Comparison(greater(a, b)); }
Comparison operator>=(In a, const Operand& b) { return Comparison(greater_equal(a, b)); }
Comparison operator==(double a, In b) { return Comparison(equal(a, b)); }
Comparison operator!=(double a, In b) { return Comparison(not_equal(a, b)); }
Comparison operator<(double a, In b) { return Comparison(less(a, b)); }
Comparison operator<=(double a, In b) { return Comparison(less_equal(a, b)); }
Comparison operator>(double a, In b) { return Comparison(greater(a, b)); }
Comparison operator>=(double a, In b) { return Comparison(greater_equal(a, b)); }
Tensor operator%(In a, const Operand& b) { return remainder(a, b); }
Tensor operator%(double a, In b) { return remainder(a, b); }
Tensor operator&(In a, const Operand& b) { return bitwise_and(a, b); }
Tensor operator|(In a, const Operand& b) { return bitwise_or(a, b); }
Tensor operator^(In a, const Operand& b) { return bitwise_xor(a, b); }
Tensor operator~(In x) { return bitwise_not(x); }

}  // namespace weft
