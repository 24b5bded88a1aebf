#include "ops/map/functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_map>

namespace weft::ops::map {
namespace {

using S = const Scalars&;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double gelu_tanh(double x) {
  return 0.5 * x *
         (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double gelu_erf(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }
double gelu_quick(double x) { return x * sigmoid(1.702 * x); }
double xielu(double x, S s) {
  if (x > 0) return s[1] * x * x + s[2] * x;
  return (std::expm1(std::min(x, s[3])) - x) * s[0] + s[2] * x;
}
double remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double swiglu_clamp(double a, double b, S s) {
  const double gate = std::min(a, s[0]);
  return gate * sigmoid(gate) * std::clamp(b, -s[0], s[0]);
}
double swiglu_oai(double a, double b, S s) {
  const double gate = std::min(a, s[1]);
  const double up = std::clamp(b, -s[1], s[1]);
  return gate * sigmoid(s[0] * gate) * (up + 1.0);
}

std::int64_t whole(double x) { return static_cast<std::int64_t>(x); }

/// The inverse of erf, from a first guess by Newton's method.
double erfinv(double y) {
  if (std::abs(y) >= 1) return y * std::numeric_limits<double>::infinity();
  double x = 0;
  for (int i = 0; i < 100; ++i) {
    const double step = (y - std::erf(x)) * std::sqrt(std::numbers::pi) / 2 * std::exp(x * x);
    x += std::clamp(step, -0.3, 0.3);
  }
  return x;
}

/// For numbers above 0, by its asymptotic series from 20 on.
double digamma(double x) {
  double less = 0;
  for (; x < 20; x += 1) less += 1 / x;
  const double r = 1 / (x * x);
  return std::log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r / 240))) -
         less;
}

// Derivatives, by which the rows of the backward family multiply.
double sigmoid_slope(double x) { return sigmoid(x) * sigmoid(-x); }
double silu_slope(double x, double rate) {
  return sigmoid(rate * x) + rate * x * sigmoid_slope(rate * x);
}
double gelu_slope(double x) {
  const double rate = 2 * std::sqrt(2.0 / std::numbers::pi);
  const double u = rate * (x + 0.044715 * x * x * x);
  return sigmoid(u) + x * sigmoid_slope(u) * rate * (1 + 3 * 0.044715 * x * x);
}
double gelu_erf_slope(double x) {
  return 0.5 * (1.0 + std::erf(x / std::numbers::sqrt2)) +
         x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}
double mish_slope(double x) {
  const double t = std::tanh(softplus(x));
  return t + x * (1 - t * t) * sigmoid(x);
}
double xielu_slope(double x, S s) {
  if (x > 0) return 2 * s[1] * x + s[2];
  return s[0] * ((x < s[3] ? std::exp(x) : 0) - 1) + s[2];
}
double hardswish_slope(double x) { return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6; }
double oai_gate_slope(double a, double b, S s) {
  return a > s[1] ? 0 : silu_slope(a, s[0]) * (std::clamp(b, -s[1], s[1]) + 1.0);
}
double oai_up_slope(double a, double b, S s) {
  const double gate = std::min(a, s[1]);
  return std::abs(b) > s[1] ? 0 : gate * sigmoid(s[0] * gate);
}

constexpr auto unary = Family::unary;
constexpr auto binary = Family::binary;
constexpr auto gated = Family::gated;
constexpr auto back = Family::backward;

// clang-format off
constexpr Function table[] = {
  {"copy", unary, 1, true, [](double a, double, double, S) { return a; }, -100, 100, 0},
  {"abs", unary, 1, true, [](double a, double, double, S) { return std::abs(a); }, -100, 100, 0},
  {"neg", unary, 1, true, [](double a, double, double, S) { return -a; }, -100, 100, 0},
  {"sign", unary, 1, true, [](double a, double, double, S) { return double((a > 0) - (a < 0)); }, -2, 2, 0},
  {"step", unary, 1, true, [](double a, double, double, S) { return a > 0 ? 1.0 : 0.0; }, -2, 2, 0},
  {"square", unary, 1, true, [](double a, double, double, S) { return a * a; }, -100, 100, 1},
  {"exp", unary, 1, false, [](double a, double, double, S) { return std::exp(a); }, -20, 10, 32},
  {"expm1", unary, 1, false, [](double a, double, double, S) { return std::expm1(a); }, -6, 6, 32},
  {"log", unary, 1, false, [](double a, double, double, S) { return std::log(a); }, 1e-3, 100, 16},
  {"log1p", unary, 1, false, [](double a, double, double, S) { return std::log1p(a); }, -0.9, 10, 16},
  {"sqrt", unary, 1, false, [](double a, double, double, S) { return std::sqrt(a); }, 0, 100, 4},
  {"rsqrt", unary, 1, false, [](double a, double, double, S) { return 1 / std::sqrt(a); }, 1e-2, 100, 8},
  {"reciprocal", unary, 1, false, [](double a, double, double, S) { return 1 / a; }, 0.1, 10, 4},
  {"sin", unary, 1, false, [](double a, double, double, S) { return std::sin(a); }, -3.1, 3.1, 4096},
  {"cos", unary, 1, false, [](double a, double, double, S) { return std::cos(a); }, -3.1, 3.1, 4096},
  {"tan", unary, 1, false, [](double a, double, double, S) { return std::tan(a); }, -1.2, 1.2, 8192},
  {"tanh", unary, 1, false, [](double a, double, double, S) { return std::tanh(a); }, -12, 12, 32},
  {"erf", unary, 1, false, [](double a, double, double, S) { return std::erf(a); }, -4, 4, 16},
  {"sigmoid", unary, 1, false, [](double a, double, double, S) { return sigmoid(a); }, -20, 20, 16},
  {"relu", unary, 1, true, [](double a, double, double, S) { return std::max(a, 0.0); }, -4, 4, 0},
  {"leaky_relu", unary, 1, false, [](double a, double, double, S s) { return a > 0 ? a : a * s[0]; }, -4, 4, 1, "slope", {0.1}},
  {"elu", unary, 1, false, [](double a, double, double, S s) { return a > 0 ? a : s[0] * std::expm1(a); }, -6, 6, 16, "alpha", {1.0}},
  {"gelu_tanh", unary, 1, false, [](double a, double, double, S) { return gelu_tanh(a); }, -8, 8, 32},
  {"gelu", unary, 1, false, [](double a, double, double, S) { return gelu_erf(a); }, -8, 8, 32},
  {"gelu_quick", unary, 1, false, [](double a, double, double, S) { return gelu_quick(a); }, -8, 8, 32},
  {"silu", unary, 1, false, [](double a, double, double, S) { return a * sigmoid(a); }, -20, 20, 16},
  {"hardswish", unary, 1, false, [](double a, double, double, S) { return a * std::clamp((a + 3) / 6, 0.0, 1.0); }, -5, 5, 4},
  {"hardsigmoid", unary, 1, false, [](double a, double, double, S) { return std::clamp((a + 3) / 6, 0.0, 1.0); }, -5, 5, 4},
  {"softplus", unary, 1, false, [](double a, double, double, S) { return softplus(a); }, -20, 30, 16},
  {"mish", unary, 1, false, [](double a, double, double, S) { return a * std::tanh(softplus(a)); }, -10, 10, 64},
  {"xielu", unary, 1, false, [](double a, double, double, S s) { return xielu(a, s); }, -4, 4, 32, "alpha_n, alpha_p, beta, eps", {0.8, 0.9, 0.5, -1e-6}},
  {"floor", unary, 1, false, [](double a, double, double, S) { return std::floor(a); }, -100, 100, 0},
  {"ceil", unary, 1, false, [](double a, double, double, S) { return std::ceil(a); }, -100, 100, 0},
  {"round", unary, 1, false, [](double a, double, double, S) { return std::nearbyint(a); }, -100, 100, 0},
  {"round_away", unary, 1, false, [](double a, double, double, S) { return std::round(a); }, -100, 100, 0},
  {"trunc", unary, 1, false, [](double a, double, double, S) { return std::trunc(a); }, -100, 100, 0},
  {"exp2", unary, 1, false, [](double a, double, double, S) { return std::exp2(a); }, -20, 10, 32},
  {"log2", unary, 1, false, [](double a, double, double, S) { return std::log2(a); }, 0.001, 100, 16},
  {"log10", unary, 1, false, [](double a, double, double, S) { return std::log10(a); }, 0.001, 100, 16},
  {"sinh", unary, 1, false, [](double a, double, double, S) { return std::sinh(a); }, -6, 6, 32},
  {"cosh", unary, 1, false, [](double a, double, double, S) { return std::cosh(a); }, -6, 6, 32},
  {"asin", unary, 1, false, [](double a, double, double, S) { return std::asin(a); }, -0.95, 0.95, 8},
  {"acos", unary, 1, false, [](double a, double, double, S) { return std::acos(a); }, -0.95, 0.95, 8},
  {"atan", unary, 1, false, [](double a, double, double, S) { return std::atan(a); }, -20, 20, 8},
  {"asinh", unary, 1, false, [](double a, double, double, S) { return std::asinh(a); }, -50, 50, 16},
  {"acosh", unary, 1, false, [](double a, double, double, S) { return std::acosh(a); }, 1, 50, 16},
  {"atanh", unary, 1, false, [](double a, double, double, S) { return std::atanh(a); }, -0.95, 0.95, 16},
  {"erfinv", unary, 1, false, [](double a, double, double, S) { return erfinv(a); }, -0.95, 0.95, 16},
  {"lgamma", unary, 1, false, [](double a, double, double, S) { return std::lgamma(a); }, 0.05, 30, 64},
  {"digamma", unary, 1, false, [](double a, double, double, S) { return digamma(a); }, 0.2, 30, 64},
  {"isnan", unary, 1, false, [](double a, double, double, S) { return std::isnan(a) ? 1.0 : 0.0; }, -2, 2, 0},
  {"isinf", unary, 1, false, [](double a, double, double, S) { return std::isinf(a) ? 1.0 : 0.0; }, -2, 2, 0},
  {"isfinite", unary, 1, false, [](double a, double, double, S) { return std::isfinite(a) ? 1.0 : 0.0; }, -2, 2, 0},
  {"nan_to_num", unary, 1, false, [](double a, double, double, S s) { return std::isnan(a) ? s[0] : std::isinf(a) ? s[a > 0 ? 1 : 2] : a; }, -4, 4, 0, "nan, posinf, neginf", {0.0, 3.4e38, -3.4e38}},
  {"div_scalar", unary, 1, false, [](double a, double, double, S s) { return a / s[0]; }, -100, 100, 4, "divisor", {3.0}},
  {"scalar_div", unary, 1, false, [](double a, double, double, S s) { return s[0] / a; }, 0.1, 10, 4, "dividend", {3.0}},
  {"logical_not", unary, 1, true, [](double a, double, double, S) { return a != 0 ? 0.0 : 1.0; }, -2, 2, 0},
  {"bitwise_not", unary, 1, true, [](double a, double, double, S) { return double(~whole(a)); }, -100, 100, 0},
  {"clamp", unary, 1, true, [](double a, double, double, S s) { return std::min(std::max(a, s[0]), s[1]); }, -10, 10, 0, "low, high", {-2.0, 3.0}},
  {"scale", unary, 1, true, [](double a, double, double, S s) { return a * s[0] + s[1]; }, -10, 10, 32, "factor, bias", {3.0, 2.0}},
  {"add", binary, 2, true, [](double a, double b, double, S) { return a + b; }, -100, 100, 1},
  {"sub", binary, 2, true, [](double a, double b, double, S) { return a - b; }, -100, 100, 1},
  {"mul", binary, 2, true, [](double a, double b, double, S) { return a * b; }, -100, 100, 1},
  {"div", binary, 2, true, [](double a, double b, double, S) { return a / b; }, 1, 50, 4},
  {"maximum", binary, 2, true, [](double a, double b, double, S) { return std::max(a, b); }, -100, 100, 0},
  {"minimum", binary, 2, true, [](double a, double b, double, S) { return std::min(a, b); }, -100, 100, 0},
  {"pow", binary, 2, true, [](double a, double b, double, S) { return std::pow(a, b); }, 0.2, 4, 128},
  {"fmod", binary, 2, true, [](double a, double b, double, S) { return std::fmod(a, b); }, 1, 50, 1},
  {"remainder", binary, 2, true, [](double a, double b, double, S) { return remainder(a, b); }, 1, 50, 1},
  {"logaddexp", binary, 2, false, [](double a, double b, double, S) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); }, -20, 20, 32},
  {"atan2", binary, 2, false, [](double a, double b, double, S) { return std::atan2(a, b); }, 0.1, 10, 4096},
  {"equal", binary, 2, true, [](double a, double b, double, S) { return a == b ? 1.0 : 0.0; }, -3, 3, 0},
  {"not_equal", binary, 2, true, [](double a, double b, double, S) { return a != b ? 1.0 : 0.0; }, -3, 3, 0},
  {"less", binary, 2, true, [](double a, double b, double, S) { return a < b ? 1.0 : 0.0; }, -3, 3, 0},
  {"less_equal", binary, 2, true, [](double a, double b, double, S) { return a <= b ? 1.0 : 0.0; }, -3, 3, 0},
  {"greater", binary, 2, true, [](double a, double b, double, S) { return a > b ? 1.0 : 0.0; }, -3, 3, 0},
  {"greater_equal", binary, 2, true, [](double a, double b, double, S) { return a >= b ? 1.0 : 0.0; }, -3, 3, 0},
  {"floor_divide", binary, 2, true, [](double a, double b, double, S) { return std::floor(a / b); }, 1, 50, 0},
  {"bitwise_and", binary, 2, true, [](double a, double b, double, S) { return double(whole(a) & whole(b)); }, -100, 100, 0},
  {"bitwise_or", binary, 2, true, [](double a, double b, double, S) { return double(whole(a) | whole(b)); }, -100, 100, 0},
  {"bitwise_xor", binary, 2, true, [](double a, double b, double, S) { return double(whole(a) ^ whole(b)); }, -100, 100, 0},
  {"left_shift", binary, 2, true, [](double a, double b, double, S) { return double(whole(a) << whole(b)); }, 0, 12, 0},
  {"right_shift", binary, 2, true, [](double a, double b, double, S) { return double(whole(a) >> whole(b)); }, 0, 12, 0},
  {"logical_and", binary, 2, true, [](double a, double b, double, S) { return a != 0 && b != 0 ? 1.0 : 0.0; }, -2, 2, 0},
  {"logical_or", binary, 2, true, [](double a, double b, double, S) { return a != 0 || b != 0 ? 1.0 : 0.0; }, -2, 2, 0},
  {"logical_xor", binary, 2, true, [](double a, double b, double, S) { return (a != 0) != (b != 0) ? 1.0 : 0.0; }, -2, 2, 0},
  {"where", Family::ternary, 3, true, [](double a, double b, double c, S) { return a != 0 ? b : c; }, -2, 2, 0},
  {"reglu", gated, 2, false, [](double a, double b, double, S) { return std::max(a, 0.0) * b; }, -4, 4, 1},
  {"geglu_tanh", gated, 2, false, [](double a, double b, double, S) { return gelu_tanh(a) * b; }, -4, 4, 64},
  {"geglu", gated, 2, false, [](double a, double b, double, S) { return gelu_erf(a) * b; }, -4, 4, 64},
  {"geglu_quick", gated, 2, false, [](double a, double b, double, S) { return gelu_quick(a) * b; }, -4, 4, 64},
  {"swiglu", gated, 2, false, [](double a, double b, double, S) { return a * sigmoid(a) * b; }, -4, 4, 32},
  {"swiglu_oai", gated, 2, false, [](double a, double b, double, S s) { return swiglu_oai(a, b, s); }, -10, 10, 64, "alpha, limit", {1.702, 7.0}},
  {"swiglu_clamp", gated, 2, false, [](double a, double b, double, S s) { return swiglu_clamp(a, b, s); }, -10, 10, 64, "limit", {7.0}},
  {"abs_back", back, 2, false, [](double a, double b, double, S) { return b * (double((a > 0) - (a < 0))); }, -4, 4, 1},
  {"square_back", back, 2, false, [](double a, double b, double, S) { return b * (2 * a); }, -4, 4, 2},
  {"exp_back", back, 2, false, [](double a, double b, double, S) { return b * (std::exp(a)); }, -4, 4, 64},
  {"expm1_back", back, 2, false, [](double a, double b, double, S) { return b * (std::exp(a)); }, -4, 4, 64},
  {"log_back", back, 2, false, [](double a, double b, double, S) { return b * (1 / a); }, 0.1, 10, 16},
  {"log1p_back", back, 2, false, [](double a, double b, double, S) { return b * (1 / (1 + a)); }, -0.8, 10, 32},
  {"sqrt_back", back, 2, false, [](double a, double b, double, S) { return b * (0.5 / std::sqrt(a)); }, 0.05, 10, 32},
  {"rsqrt_back", back, 2, false, [](double a, double b, double, S) { return b * (-0.5 / (a * std::sqrt(a))); }, 0.2, 10, 64},
  {"reciprocal_back", back, 2, false, [](double a, double b, double, S) { return b * (-1 / (a * a)); }, 0.2, 10, 32},
  {"sin_back", back, 2, false, [](double a, double b, double, S) { return b * (std::cos(a)); }, -3.1, 3.1, 4096},
  {"cos_back", back, 2, false, [](double a, double b, double, S) { return b * (-std::sin(a)); }, -3.1, 3.1, 4096},
  {"tan_back", back, 2, false, [](double a, double b, double, S) { return b * (1 / (std::cos(a) * std::cos(a))); }, -1.1, 1.1, 32768},
  {"tanh_back", back, 2, false, [](double a, double b, double, S) { return b * (1 - std::tanh(a) * std::tanh(a)); }, -4, 4, 64},
  {"erf_back", back, 2, false, [](double a, double b, double, S) { return b * (2 / std::sqrt(std::numbers::pi) * std::exp(-a * a)); }, -4, 4, 32},
  {"sigmoid_back", back, 2, false, [](double a, double b, double, S) { return b * (sigmoid_slope(a)); }, -4, 4, 16},
  {"relu_back", back, 2, false, [](double a, double b, double, S) { return b * (a > 0 ? 1.0 : 0.0); }, -4, 4, 0},
  {"leaky_relu_back", back, 2, false, [](double a, double b, double, S s) { return b * (a > 0 ? 1.0 : s[0]); }, -4, 4, 1, "slope", {0.1}},
  {"elu_back", back, 2, false, [](double a, double b, double, S s) { return b * (a > 0 ? 1.0 : s[0] * std::exp(a)); }, -4, 4, 32, "alpha", {1.0}},
  {"gelu_tanh_back", back, 2, false, [](double a, double b, double, S) { return b * (gelu_slope(a)); }, -4, 4, 64},
  {"gelu_back", back, 2, false, [](double a, double b, double, S) { return b * (gelu_erf_slope(a)); }, -4, 4, 64},
  {"gelu_quick_back", back, 2, false, [](double a, double b, double, S) { return b * (silu_slope(a, 1.702)); }, -4, 4, 64},
  {"silu_back", back, 2, false, [](double a, double b, double, S) { return b * (silu_slope(a, 1)); }, -4, 4, 64},
  {"hardswish_back", back, 2, false, [](double a, double b, double, S) { return b * (hardswish_slope(a)); }, -4, 4, 8},
  {"hardsigmoid_back", back, 2, false, [](double a, double b, double, S) { return b * (std::abs(a) < 3 ? 1.0 / 6 : 0.0); }, -4, 4, 4},
  {"softplus_back", back, 2, false, [](double a, double b, double, S) { return b * (sigmoid(a)); }, -4, 4, 16},
  {"mish_back", back, 2, false, [](double a, double b, double, S) { return b * (mish_slope(a)); }, -4, 4, 128},
  {"xielu_back", back, 2, false, [](double a, double b, double, S s) { return b * (xielu_slope(a, s)); }, -4, 4, 64, "alpha_n, alpha_p, beta, eps", {0.8, 0.9, 0.5, -1e-6}},
  {"clamp_back", back, 2, false, [](double a, double b, double, S s) { return b * (a >= s[0] && a <= s[1] ? 1.0 : 0.0); }, -4, 4, 0, "low, high", {-2.0, 3.0}},
  {"reglu_back", back, 3, false, [](double a, double b, double c, S) { return c * (a > 0 ? b : 0.0); }, -4, 4, 2},
  {"geglu_tanh_back", back, 3, false, [](double a, double b, double c, S) { return c * (b * gelu_slope(a)); }, -4, 4, 128},
  {"geglu_back", back, 3, false, [](double a, double b, double c, S) { return c * (b * gelu_erf_slope(a)); }, -4, 4, 128},
  {"geglu_quick_back", back, 3, false, [](double a, double b, double c, S) { return c * (b * silu_slope(a, 1.702)); }, -4, 4, 128},
  {"swiglu_back", back, 3, false, [](double a, double b, double c, S) { return c * (b * silu_slope(a, 1)); }, -4, 4, 128},
  {"swiglu_oai_back", back, 3, false, [](double a, double b, double c, S s) { return c * (oai_gate_slope(a, b, s)); }, -8, 8, 256, "alpha, limit", {1.702, 7.0}},
  {"swiglu_oai_back_up", back, 3, false, [](double a, double b, double c, S s) { return c * oai_up_slope(a, b, s); }, -8, 8, 256, "alpha, limit", {1.702, 7.0}},
  {"fill", Family::source, 0, true, [](double, double, double, S s) { return s[0]; }, 0, 1, 0, "value", {3.0}},
  {"arange", Family::source, 0, true, nullptr, 0, 1, 1, "start, step", {2.0, 3.0}},
};
// clang-format on

}  // namespace

std::span<const Function> functions() { return table; }

bool gives_boolean(std::string_view function) {
  constexpr std::array names{
      "equal", "not_equal", "less",        "less_equal", "greater",     "greater_equal", "isnan",
      "isinf", "isfinite",  "logical_and", "logical_or", "logical_xor", "logical_not"};
  return std::ranges::contains(names, function);
}

bool is_bitwise(std::string_view function) {
  constexpr std::array names{"bitwise_and", "bitwise_or", "bitwise_xor",
                             "bitwise_not", "left_shift", "right_shift"};
  return std::ranges::contains(names, function);
}

const Function* find_function(std::string_view name) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const Function*> out;
    for (const Function& function : table) out.emplace(function.name, &function);
    return out;
  }();
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace weft::ops::map
