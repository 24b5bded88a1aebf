#include "ops/map/functions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::ops::map {
namespace {

using S = const Scalars&;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double gelu_tanh(double x) {
  return 0.5 * x *
         (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double gelu_erf(double x) { return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2)); }
double gelu_quick(double x) { return x * sigmoid(1.702 * x); }
double xielu(double x, S s) {
  if (x > 0) return s[1] * x * x + s[2] * x;
  return (std::expm1(std::min(x, s[3])) - x) * s[0] + s[2] * x;
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

constexpr auto unary = Family::unary;
constexpr auto binary = Family::binary;
constexpr auto gated = Family::gated;

// clang-format off
constexpr Function table[] = {
  {"copy", unary, 1, true, [](double a, double, double, S) { return a; }, -100, 100, 0},
  {"abs", unary, 1, true, [](double a, double, double, S) { return std::abs(a); }, -100, 100, 0},
  {"neg", unary, 1, true, [](double a, double, double, S) { return -a; }, -100, 100, 0},
  {"sign", unary, 1, true, [](double a, double, double, S) { return double((a > 0) - (a < 0)); }, -2, 2, 0},
  {"step", unary, 1, true, [](double a, double, double, S) { return a > 0 ? 1.0 : 0.0; }, -2, 2, 0},
  {"sqr", unary, 1, true, [](double a, double, double, S) { return a * a; }, -100, 100, 1},
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
  {"gelu", unary, 1, false, [](double a, double, double, S) { return gelu_tanh(a); }, -8, 8, 32},
  {"gelu_erf", unary, 1, false, [](double a, double, double, S) { return gelu_erf(a); }, -8, 8, 32},
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
  {"clamp", unary, 1, true, [](double a, double, double, S s) { return std::min(std::max(a, s[0]), s[1]); }, -10, 10, 0, "low, high", {-2.0, 3.0}},
  {"scale", unary, 1, true, [](double a, double, double, S s) { return a * s[0] + s[1]; }, -10, 10, 32, "factor, bias", {3.0, 2.0}},
  {"add", binary, 2, true, [](double a, double b, double, S) { return a + b; }, -100, 100, 1},
  {"sub", binary, 2, true, [](double a, double b, double, S) { return a - b; }, -100, 100, 1},
  {"mul", binary, 2, true, [](double a, double b, double, S) { return a * b; }, -100, 100, 1},
  {"div", binary, 2, true, [](double a, double b, double, S) { return a / b; }, 1, 50, 4},
  {"max", binary, 2, true, [](double a, double b, double, S) { return std::max(a, b); }, -100, 100, 0},
  {"min", binary, 2, true, [](double a, double b, double, S) { return std::min(a, b); }, -100, 100, 0},
  {"pow", binary, 2, false, [](double a, double b, double, S) { return std::pow(a, b); }, 0.2, 4, 128},
  {"mod", binary, 2, true, [](double a, double b, double, S) { return std::fmod(a, b); }, 1, 50, 64},
  {"atan2", binary, 2, false, [](double a, double b, double, S) { return std::atan2(a, b); }, 0.1, 10, 4096},
  {"eq", binary, 2, true, [](double a, double b, double, S) { return a == b ? 1.0 : 0.0; }, -3, 3, 0},
  {"ne", binary, 2, true, [](double a, double b, double, S) { return a != b ? 1.0 : 0.0; }, -3, 3, 0},
  {"lt", binary, 2, true, [](double a, double b, double, S) { return a < b ? 1.0 : 0.0; }, -3, 3, 0},
  {"le", binary, 2, true, [](double a, double b, double, S) { return a <= b ? 1.0 : 0.0; }, -3, 3, 0},
  {"gt", binary, 2, true, [](double a, double b, double, S) { return a > b ? 1.0 : 0.0; }, -3, 3, 0},
  {"ge", binary, 2, true, [](double a, double b, double, S) { return a >= b ? 1.0 : 0.0; }, -3, 3, 0},
  {"where", Family::ternary, 3, true, [](double a, double b, double c, S) { return a != 0 ? b : c; }, -2, 2, 0},
  {"reglu", gated, 2, false, [](double a, double b, double, S) { return std::max(a, 0.0) * b; }, -4, 4, 1},
  {"geglu", gated, 2, false, [](double a, double b, double, S) { return gelu_tanh(a) * b; }, -4, 4, 64},
  {"geglu_erf", gated, 2, false, [](double a, double b, double, S) { return gelu_erf(a) * b; }, -4, 4, 64},
  {"geglu_quick", gated, 2, false, [](double a, double b, double, S) { return gelu_quick(a) * b; }, -4, 4, 64},
  {"swiglu", gated, 2, false, [](double a, double b, double, S) { return a * sigmoid(a) * b; }, -4, 4, 32},
  {"swiglu_oai", gated, 2, false, [](double a, double b, double, S s) { return swiglu_oai(a, b, s); }, -10, 10, 64, "alpha, limit", {1.702, 7.0}},
  {"swiglu_clamp", gated, 2, false, [](double a, double b, double, S s) { return swiglu_clamp(a, b, s); }, -10, 10, 64, "limit", {7.0}},
  {"fill", Family::source, 0, true, [](double, double, double, S s) { return s[0]; }, 0, 1, 0, "value", {3.0}},
  {"arange", Family::source, 0, true, nullptr, 0, 1, 1, "start, step", {2.0, 3.0}},
};
// clang-format on

}  // namespace

std::span<const Function> functions() { return table; }

const Function* find_function(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Function::name);
  return found == std::end(table) ? nullptr : found;
}

}  // namespace weft::ops::map
