#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::ops::map {

/// Scalar parameters of a function, in the order of its `parameters` text.
using Scalars = std::array<double, 4>;

/// The family that a function is listed under in docs/ops.md.
/// `backward`: NAME_back(x, dy) is dy times the derivative of the unary function NAME at x, and
/// NAME_back(a, b, dy) the gradient of the gate `a` of the gated unit NAME; that of `b` is NAME(a,
/// dy) (swiglu_oai: swiglu_oai_back_up).
enum class Family : std::uint8_t { unary, binary, ternary, gated, source, backward };

/// One elementwise function: its WGSL is `f_NAME` in functions.wgsl, its reference is here, in
/// double.
struct Function {
  std::string_view name;
  Family family = Family::unary;
  std::uint32_t inputs = 1;
  bool integers = false;  ///< Also defined for i32 and u32 (computed in that type).
  double (*reference)(double a, double b, double c, const Scalars& s) = nullptr;
  double low = -4;  ///< Range of test inputs.
  double high = 4;
  double epsilons = 8;  ///< Allowed error, in f32 epsilons of max(1, |result|).
  std::string_view parameters = {};
  Scalars defaults{};
};

/// Every function, in the order of the documentation.
std::span<const Function> functions();

/// Whether a function answers a question: its results are 1 or 0, booleans in graphs.
bool gives_boolean(std::string_view function);

/// Whether a function works on the bits of integers and has no meaning for floats.
bool is_bitwise(std::string_view function);

/// The function with that name, or null.
const Function* find_function(std::string_view name);

}  // namespace weft::ops::map
