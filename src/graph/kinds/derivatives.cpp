#include "graph/kinds/derivatives.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <unordered_map>

#include "base/format.hpp"
#include "graph/autodiff.hpp"
#include "ops/map/functions.hpp"

namespace weft::graph {
namespace {

/// What a row of the table works with.
struct At {
  const std::vector<Tensor>& x;
  const Tensor& y;
  const Tensor& dy;
  const std::array<double, 4>& s;
  const std::vector<bool>& wanted;
  [[nodiscard]] const Tensor& a() const { return x[0]; }
  [[nodiscard]] const Tensor& b() const { return x[1]; }
  [[nodiscard]] bool want(std::size_t i) const { return i < wanted.size() && wanted[i]; }
};

using Parts = std::vector<Tensor>;

Tensor step(const Tensor& x) { return map("step", x); }
/// factor·x + bias.
Tensor line(const Tensor& x, double factor, double bias) { return map("scale", x, {factor, bias}); }
Tensor clamp(const Tensor& x, double low, double high) { return map("clamp", x, {low, high}); }
/// 1 where low < x < high, else 0.
Tensor inside(const Tensor& x, double low, double high) {
  return step(line(x, 1, -low)) * step(line(x, -1, high));
}

/// Derivatives of functions that are also parts of gated units.
Tensor d_silu(const Tensor& x) {
  const Tensor s = sigmoid(x);
  return s * line(x * line(s, -1, 1), 1, 1);
}
Tensor d_gelu_tanh(const Tensor& x) {
  const double c = std::sqrt(2 / std::numbers::pi);
  const Tensor squares = square(x);
  const Tensor t = tanh(x * line(squares, c * 0.044715, c));
  // 0.5 (1 + t) + 0.5 x (1 - t²) c (1 + 3 · 0.044715 x²)
  return line(t, 0.5, 0.5) + x * line(square(t), -0.5, 0.5) * line(squares, 3 * c * 0.044715, c);
}
Tensor gelu_tanh(const Tensor& x) { return map("gelu_tanh", x); }
Tensor d_gelu(const Tensor& x) {
  const Tensor density = exp(line(square(x), -0.5, 0)) * (1 / std::sqrt(2 * std::numbers::pi));
  return line(map("erf", line(x, 1 / std::numbers::sqrt2, 0)), 0.5, 0.5) + x * density;
}
Tensor gelu_quick(const Tensor& x) { return map("gelu_quick", x); }
Tensor d_gelu_quick(const Tensor& x) {
  const Tensor s = sigmoid(line(x, 1.702, 0));
  return s * line(x * line(s, -1, 1), 1.702, 1);
}

/// a unit f(a)·b.
Parts gated(const At& t, Tensor (*f)(const Tensor&), Tensor (*df)(const Tensor&)) {
  return {t.want(0) ? t.dy * t.b() * df(t.a()) : Tensor(), t.want(1) ? t.dy * f(t.a()) : Tensor()};
}

Parts d_swiglu_oai(const At& t) {
  const double alpha = t.s[0];
  const double limit = t.s[1];
  const Tensor gate = clamp(t.a(), -1e30, limit);
  const Tensor up = line(clamp(t.b(), -limit, limit), 1, 1);
  const Tensor s = sigmoid(line(gate, alpha, 0));
  return {t.dy * up * s * line(gate * line(s, -1, 1), alpha, 1) * step(line(t.a(), -1, limit)),
          t.dy * gate * s * inside(t.b(), -limit, limit)};
}

Parts d_swiglu_clamp(const At& t) {
  const double limit = t.s[0];
  const Tensor gate = clamp(t.a(), -1e30, limit);
  return {t.dy * clamp(t.b(), -limit, limit) * d_silu(gate) * step(line(t.a(), -1, limit)),
          t.dy * silu(gate) * inside(t.b(), -limit, limit)};
}

Parts d_xielu(const At& t) {
  const Tensor positive = step(t.a());
  // (expm1(min(x, eps)) - x) alpha_n + beta x
  const Tensor below = map("exp", clamp(t.a(), -1e30, t.s[3])) * step(line(t.a(), -1, t.s[3]));
  return {t.dy *
          where(positive, line(t.a(), 2 * t.s[1], t.s[2]), line(below, t.s[0], t.s[2] - t.s[0]))};
}

/// Of equals, each gets half.
Parts larger(const At& t, const char* compare) {
  const Tensor half = map("equal", t.a(), t.b()).to(DType::f32) * 0.5;
  const auto more = [&](const Tensor& a, const Tensor& b) {
    return map(compare, a, b).to(DType::f32) + half;
  };
  return {t.dy * more(t.a(), t.b()), t.dy * more(t.b(), t.a())};
}

struct Row {
  std::string_view function;
  Parts (*parts)(const At&);
};

Parts none(const At&) { return {}; }

// clang-format off
constexpr Row table[] = {
  {"copy", [](const At& t) -> Parts { return {t.dy}; }},
  {"abs", [](const At& t) -> Parts { return {t.dy * map("sign", t.a())}; }},
  {"neg", [](const At& t) -> Parts { return {-t.dy}; }},
  {"sign", none}, {"step", none}, {"floor", none}, {"ceil", none}, {"round", none},
  {"round_away", none}, {"trunc", none}, {"equal", none}, {"not_equal", none}, {"less", none}, {"less_equal", none},
  {"greater", none}, {"greater_equal", none}, {"fill", none}, {"arange", none}, {"isnan", none}, {"isinf", none},
  {"isfinite", none}, {"logical_and", none}, {"logical_or", none}, {"logical_xor", none}, {"logical_not", none},
  {"bitwise_and", none}, {"bitwise_or", none}, {"bitwise_xor", none}, {"bitwise_not", none}, {"left_shift", none},
  {"right_shift", none}, {"floor_divide", none},
  {"exp2", [](const At& t) -> Parts { return {t.dy * t.y * std::numbers::ln2}; }},
  {"log2", [](const At& t) -> Parts { return {t.dy / t.a() * (1 / std::numbers::ln2)}; }},
  {"log10", [](const At& t) -> Parts { return {t.dy / t.a() * (1 / std::numbers::ln10)}; }},
  {"sinh", [](const At& t) -> Parts { return {t.dy * map("cosh", t.a())}; }},
  {"cosh", [](const At& t) -> Parts { return {t.dy * map("sinh", t.a())}; }},
  {"asin", [](const At& t) -> Parts { return {t.dy * map("rsqrt", line(square(t.a()), -1, 1))}; }},
  {"acos", [](const At& t) -> Parts { return {-t.dy * map("rsqrt", line(square(t.a()), -1, 1))}; }},
  {"atan", [](const At& t) -> Parts { return {t.dy / line(square(t.a()), 1, 1)}; }},
  {"asinh", [](const At& t) -> Parts { return {t.dy * map("rsqrt", line(square(t.a()), 1, 1))}; }},
  {"acosh", [](const At& t) -> Parts { return {t.dy * map("rsqrt", line(square(t.a()), 1, -1))}; }},
  {"atanh", [](const At& t) -> Parts { return {t.dy / line(square(t.a()), -1, 1)}; }},
  {"erfinv", [](const At& t) -> Parts { return {t.dy * exp(square(t.y)) * (std::sqrt(std::numbers::pi) / 2)}; }},
  {"lgamma", [](const At& t) -> Parts { return {t.dy * map("digamma", t.a())}; }},
  {"nan_to_num", [](const At& t) -> Parts { return {t.dy * map("isfinite", t.a()).to(DType::f32)}; }},
  {"scalar_div", [](const At& t) -> Parts { return {-t.dy * t.y / t.a()}; }},
  {"div_scalar", [](const At& t) -> Parts { return {map("div_scalar", t.dy, {t.s[0]})}; }},
  {"square", [](const At& t) -> Parts { return {t.dy * t.a() * 2}; }},
  {"exp", [](const At& t) -> Parts { return {t.dy * t.y}; }},
  {"expm1", [](const At& t) -> Parts { return {t.dy * line(t.y, 1, 1)}; }},
  {"log", [](const At& t) -> Parts { return {t.dy / t.a()}; }},
  {"log1p", [](const At& t) -> Parts { return {t.dy / line(t.a(), 1, 1)}; }},
  {"sqrt", [](const At& t) -> Parts { return {t.dy / t.y * 0.5}; }},
  {"rsqrt", [](const At& t) -> Parts { return {t.dy * t.y * square(t.y) * -0.5}; }},
  {"reciprocal", [](const At& t) -> Parts { return {-t.dy * square(t.y)}; }},
  {"sin", [](const At& t) -> Parts { return {t.dy * map("cos", t.a())}; }},
  {"cos", [](const At& t) -> Parts { return {-t.dy * map("sin", t.a())}; }},
  {"tan", [](const At& t) -> Parts { return {t.dy * line(square(t.y), 1, 1)}; }},
  {"tanh", [](const At& t) -> Parts { return {t.dy * line(square(t.y), -1, 1)}; }},
  {"erf", [](const At& t) -> Parts { return {t.dy * exp(-square(t.a())) * (2 / std::sqrt(std::numbers::pi))}; }},
  {"sigmoid", [](const At& t) -> Parts { return {t.dy * t.y * line(t.y, -1, 1)}; }},
  {"relu", [](const At& t) -> Parts { return {t.dy * step(t.a())}; }},
  {"leaky_relu", [](const At& t) -> Parts { return {t.dy * line(step(t.a()), 1 - t.s[0], t.s[0])}; }},
  {"elu", [](const At& t) -> Parts { return {where(step(t.a()), t.dy, t.dy * line(t.y, 1, t.s[0]))}; }},
  {"gelu_tanh", [](const At& t) -> Parts { return {t.dy * d_gelu_tanh(t.a())}; }},
  {"gelu", [](const At& t) -> Parts { return {t.dy * d_gelu(t.a())}; }},
  {"gelu_quick", [](const At& t) -> Parts { return {t.dy * d_gelu_quick(t.a())}; }},
  {"silu", [](const At& t) -> Parts { return {t.dy * d_silu(t.a())}; }},
  {"hardswish", [](const At& t) -> Parts { return {t.dy * (clamp(line(t.a(), 1.0 / 6, 0.5), 0, 1) + t.a() * inside(t.a(), -3, 3) * (1.0 / 6))}; }},
  {"hardsigmoid", [](const At& t) -> Parts { return {t.dy * inside(t.a(), -3, 3) * (1.0 / 6)}; }},
  {"softplus", [](const At& t) -> Parts { return {t.dy * sigmoid(t.a())}; }},
  {"mish", [](const At& t) -> Parts {
    const Tensor u = tanh(map("softplus", t.a()));
    return {t.dy * (u + t.a() * line(square(u), -1, 1) * sigmoid(t.a()))};
  }},
  {"xielu", d_xielu},
  {"clamp", [](const At& t) -> Parts {
    // What is equal to a limit still counts as inside.
    return {t.dy * map("equal", t.a(), clamp(t.a(), t.s[0], t.s[1])).to(DType::f32)};
  }},
  {"scale", [](const At& t) -> Parts { return {t.dy * t.s[0]}; }},
  {"add", [](const At& t) -> Parts { return {t.dy, t.dy}; }},
  {"sub", [](const At& t) -> Parts { return {t.dy, t.want(1) ? -t.dy : Tensor()}; }},
  {"mul", [](const At& t) -> Parts { return {t.want(0) ? t.dy * t.b() : Tensor(), t.want(1) ? t.dy * t.a() : Tensor()}; }},
  {"div", [](const At& t) -> Parts { return {t.want(0) ? t.dy / t.b() : Tensor(), t.want(1) ? -t.dy * t.y / t.b() : Tensor()}; }},
  {"maximum", [](const At& t) -> Parts { return larger(t, "greater"); }},
  {"minimum", [](const At& t) -> Parts { return larger(t, "less"); }},
  {"pow", [](const At& t) -> Parts {
    // Neither 0 · infinity: x⁰ does not change with x, nor 0ʸ with y.
    const Tensor zero = full_like(t.dy, {}, t.dy.dtype());
    const auto unless = [&](const Tensor& x, const Tensor& part) {
      return where(map("equal", x, zero), zero, part);
    };
    return {t.want(0) ? unless(t.b(), t.dy * t.b() * map("pow", t.a(), line(t.b(), 1, -1))) : Tensor(),
            t.want(1) ? unless(t.a(), t.dy * t.y * log(t.a())) : Tensor()};
  }},
  {"fmod", [](const At& t) -> Parts { return {t.dy, t.want(1) ? -t.dy * map("trunc", t.a() / t.b()) : Tensor()}; }},
  {"remainder", [](const At& t) -> Parts { return {t.dy, t.want(1) ? -t.dy * map("floor", t.a() / t.b()) : Tensor()}; }},
  {"logaddexp", [](const At& t) -> Parts {
    const Tensor share = sigmoid(t.a() - t.b());
    return {t.dy * share, t.want(1) ? t.dy * line(share, -1, 1) : Tensor()};
  }},
  {"atan2", [](const At& t) -> Parts {
    const Tensor scaled = t.dy / (square(t.a()) + square(t.b()));
    return {scaled * t.b(), -scaled * t.a()};
  }},
  {"where", [](const At& t) -> Parts {
    const Tensor zero = full_like(t.dy, {}, t.dy.dtype());
    return {{}, where(t.a(), t.dy, zero), where(t.a(), zero, t.dy)};
  }},
  {"reglu", [](const At& t) -> Parts { return gated(t, [](const Tensor& x) { return relu(x); }, step); }},
  {"geglu_tanh", [](const At& t) -> Parts { return gated(t, gelu_tanh, d_gelu_tanh); }},
  {"geglu", [](const At& t) -> Parts { return gated(t, [](const Tensor& x) { return gelu(x); }, d_gelu); }},
  {"geglu_quick", [](const At& t) -> Parts { return gated(t, gelu_quick, d_gelu_quick); }},
  {"swiglu", [](const At& t) -> Parts { return gated(t, [](const Tensor& x) { return silu(x); }, d_silu); }},
  {"swiglu_oai", d_swiglu_oai},
  {"swiglu_clamp", d_swiglu_clamp},
};
// clang-format on

}  // namespace

namespace {

Parts expressions(std::string_view function, const At& at) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const Row*> out;
    for (const Row& row : table) out.emplace(row.function, &row);
    return out;
  }();
  const auto row = rows.find(function);
  if (row == rows.end()) {
    throw Error(ErrorCode::unsupported,
                formatted("No derivative of the function `{}` is known.", function));
  }
  return row->second->parts(at);
}

/// Derivatives that one kernel computes: NAME_back(x, dy), and NAME_back(a, b, dy) for the gate of
/// a gated unit.
Parts kernels(std::string_view function, const At& t) {
  const std::string back = std::string(function) + "_back";
  const ops::map::Function* found = ops::map::find_function(back);
  if (found == nullptr || t.x.size() > 2) return {};
  if (t.x.size() == 1) return {map(back, {t.a(), t.dy}, t.s)};
  Parts parts(2);
  if (t.want(0)) parts[0] = map(back, {t.a(), t.b(), t.dy}, t.s);
  if (t.want(1)) parts[1] = expressions(function, {t.x, t.y, t.dy, t.s, {false, true}})[1];
  return parts;
}

/// The derivatives of NAME_back itself, from those of the expression that it stands for.
Parts second(std::string_view function, const At& t) {
  std::vector<Tensor> x = t.x;
  const Tensor dy = x.back();
  x.pop_back();
  const Tensor y = map(function, x, t.s);
  const std::vector<bool> first{true, false};
  return partial_derivatives(expressions(function, {x, y, dy, t.s, first})[0], t.dy, t.x);
}

}  // namespace

std::vector<Tensor> derivatives(std::string_view function, const std::vector<Tensor>& inputs,
                                const Tensor& y, const Tensor& dy,
                                const std::array<double, 4>& scalars,
                                const std::vector<bool>& wanted) {
  const At at{inputs, y, dy, scalars, wanted};
  if (function.ends_with("_back")) return second(function.substr(0, function.size() - 5), at);
  Parts parts = kernels(function, at);
  return parts.empty() ? expressions(function, at) : parts;
}

}  // namespace weft::graph
