#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "onnx/host.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

I wrapped(U value) { return std::bit_cast<I>(value); }

/// An error where two inputs are not of one type.
void check_types(const Call& c, std::size_t a, std::size_t b) {
  if (c.in(a).type() != c.in(b).type())
    c.wrong(formatted("{} and {} are not of one type.", describe(c.in(a)), describe(c.in(b))));
}

/// f of broadcast elements, as whole numbers or as doubles.
template <class Whole, class Real>
Values binary(Call& c, Whole whole, Real real) {
  Array sum = c.host(0);
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    const Array& b = c.host(i);
    if (c.node.op != "Pow") check_types(c, 0, i);
    const Shape shape = broadcast_shapes({sum.shape, b.shape});
    if (too_large(shape)) return {};
    const auto from_a = broadcast_places(sum.shape, shape);
    const auto from_b = broadcast_places(b.shape, shape);
    if (is_integer(sum.type) || sum.type == Type::boolean) {
      const auto x = sum.ints();
      const auto y = b.ints();
      std::vector<I> out(from_a.size());
      for (std::size_t k = 0; k < out.size(); ++k)
        out[k] = whole(x[from_a[k]], y[from_b[k]], sum.type);
      sum = array_of(sum.type, shape, out);
    } else if (is_float(sum.type)) {
      const auto x = sum.doubles();
      const auto y = b.doubles();
      std::vector<double> out(from_a.size());
      for (std::size_t k = 0; k < out.size(); ++k) out[k] = real(x[from_a[k]], y[from_b[k]]);
      sum = array_of(sum.type, shape, out);
    } else {
      return {};
    }
  }
  return {sum};
}

template <class Whole, class Real>
Values compare(Call& c, Whole whole, Real real) {
  const Array& a = c.host(0);
  const Array& b = c.host(1);
  check_types(c, 0, 1);
  const Shape shape = broadcast_shapes({a.shape, b.shape});
  if (too_large(shape)) return {};
  const auto from_a = broadcast_places(a.shape, shape);
  const auto from_b = broadcast_places(b.shape, shape);
  std::vector<I> out(from_a.size());
  if (a.type == Type::string) {
    if (c.node.op != "Equal") return {};
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = static_cast<I>(a.strings[from_a[k]] == b.strings[from_b[k]]);
  } else if (is_integer(a.type) || a.type == Type::boolean) {
    const auto x = a.ints();
    const auto y = b.ints();
    // u64 in the order of i64, with the highest bit turned.
    const U turn = a.type == Type::u64 ? U{1} << 63 : 0;
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = static_cast<I>(whole(wrapped(static_cast<U>(x[from_a[k]]) ^ turn),
                                    wrapped(static_cast<U>(y[from_b[k]]) ^ turn)));
  } else {
    const auto x = a.doubles();
    const auto y = b.doubles();
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = static_cast<I>(real(x[from_a[k]], y[from_b[k]]));
  }
  return {array_of(Type::boolean, shape, out)};
}

/// f of each number; integers stay as they are where there is nothing for them to do.
template <class Real>
Values unary(Call& c, Real real) {
  const Array& a = c.host(0);
  if (!is_float(a.type)) return {};
  auto values = a.doubles();
  for (double& v : values) v = real(v);
  return {array_of(a.type, a.shape, values)};
}

I divided(I a, I b, Type type) {
  if (b == 0) return 0;
  if (type == Type::u64) return wrapped(static_cast<U>(a) / static_cast<U>(b));
  return b == -1 ? wrapped(U{0} - static_cast<U>(a)) : a / b;
}

Values mod(Call& c) {
  const bool fmod = c.i("fmod", 0) != 0;
  const auto whole = [fmod](I a, I b, Type type) -> I {
    if (b == 0 || b == -1) return 0;
    if (type == Type::u64) return wrapped(static_cast<U>(a) % static_cast<U>(b));
    const I rest = a % b;
    return !fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  };
  return binary(c, whole, [](double a, double b) { return std::fmod(a, b); });
}

Values power(Call& c) {
  const Array& a = c.host(0);
  const Array& b = c.host(1);
  if (is_integer(a.type) && !is_integer(b.type)) return {};
  const auto whole = [](I x, I n, Type) -> I {
    if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 == 0 ? 1 : -1) : 0;
    U result = 1;
    for (auto base = static_cast<U>(x); n > 0; n /= 2, base *= base) {
      if (n % 2 != 0) result *= base;
    }
    return wrapped(result);
  };
  return binary(c, whole, [](double x, double n) { return std::pow(x, n); });
}

Values where_op(Call& c) {
  const Array& condition = c.host(0);
  const Array& a = c.host(1);
  const Array& b = c.host(2);
  check_types(c, 1, 2);
  const Shape shape = broadcast_shapes({condition.shape, a.shape, b.shape});
  if (too_large(shape)) return {};
  const Array x = picked(a, shape, broadcast_places(a.shape, shape));
  const Array y = picked(b, shape, broadcast_places(b.shape, shape));
  const auto which = condition.ints();
  const auto from = broadcast_places(condition.shape, shape);
  if (a.type == Type::string) {
    Array out = y;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (which[from[i]] != 0) out.strings[i] = x.strings[i];
    }
    return {out};
  }
  const auto owner = std::make_shared<std::vector<std::byte>>(y.bytes.begin(), y.bytes.end());
  const std::size_t each = size_of(a.type);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (which[from[i]] != 0)
      std::ranges::copy(x.bytes.subspan(i * each, each),
                        owner->begin() + static_cast<std::ptrdiff_t>(i * each));
  }
  return {Array{.type = a.type, .shape = shape, .bytes = *owner, .keep = owner, .strings = {}}};
}

Values cast(Call& c) {
  const Type to = c.node.op == "CastLike" ? c.in(1).type() : c.type("to", Type::f32);
  if (!has_numbers(c.host(0).type) || !has_numbers(to)) return {};
  return {converted(c.host(0), to, c.i("saturate", 1) != 0)};
}

Values negate(Call& c) {
  const Array& a = c.host(0);
  if (is_float(a.type)) return unary(c, std::negate<>());
  auto values = a.ints();
  for (I& v : values) v = wrapped(U{0} - static_cast<U>(v));
  return {array_of(a.type, a.shape, values)};
}

Values absolute(Call& c) {
  const Array& a = c.host(0);
  if (is_float(a.type)) return unary(c, [](double v) { return std::fabs(v); });
  auto values = a.ints();
  for (I& v : values) v = v < 0 && a.type != Type::u64 ? wrapped(U{0} - static_cast<U>(v)) : v;
  return {array_of(a.type, a.shape, values)};
}

Values invert(Call& c) {
  const Array& a = c.host(0);
  auto values = a.ints();
  for (I& v : values) v = c.node.op == "Not" ? static_cast<I>(v == 0) : ~v;
  return {array_of(a.type, a.shape, values)};
}

Values shift(Call& c) {
  const bool left = c.s("direction", "") == "LEFT";
  return binary(
      c,
      [left](I a, I b, Type) {
        return b < 0 || b > 63 ? I{0}
               : left          ? wrapped(static_cast<U>(a) << b)
                               : wrapped(static_cast<U>(a) >> b);
      },
      [](double a, double) { return a; });
}

double no_real(double a, double) { return a; }

}  // namespace

void add_host_elementwise(HostTable& table) {
  table["Add"] = +[](Call& c) {
    return binary(
        c, [](I a, I b, Type) { return wrapped(static_cast<U>(a) + static_cast<U>(b)); },
        std::plus<>());
  };
  table["Sub"] = +[](Call& c) {
    return binary(
        c, [](I a, I b, Type) { return wrapped(static_cast<U>(a) - static_cast<U>(b)); },
        std::minus<>());
  };
  table["Mul"] = +[](Call& c) {
    return binary(
        c, [](I a, I b, Type) { return wrapped(static_cast<U>(a) * static_cast<U>(b)); },
        std::multiplies<>());
  };
  table["Div"] = +[](Call& c) { return binary(c, divided, std::divides<>()); };
  table["Sum"] = table["Add"];
  table["Max"] = +[](Call& c) {
    return binary(
        c,
        [](I a, I b, Type type) {
          return type == Type::u64 ? wrapped(std::max(static_cast<U>(a), static_cast<U>(b)))
                                   : std::max(a, b);
        },
        [](double a, double b) { return std::isnan(a) || a > b ? a : b; });
  };
  table["Min"] = +[](Call& c) {
    return binary(
        c,
        [](I a, I b, Type type) {
          return type == Type::u64 ? wrapped(std::min(static_cast<U>(a), static_cast<U>(b)))
                                   : std::min(a, b);
        },
        [](double a, double b) { return std::isnan(a) || a < b ? a : b; });
  };
  table["Mod"] = mod;
  table["Pow"] = power;
  table["And"] = +[](Call& c) { return binary(c, [](I a, I b, Type) { return a & b; }, no_real); };
  table["Or"] = +[](Call& c) { return binary(c, [](I a, I b, Type) { return a | b; }, no_real); };
  table["Xor"] = +[](Call& c) { return binary(c, [](I a, I b, Type) { return a ^ b; }, no_real); };
  table["BitwiseAnd"] = table["And"];
  table["BitwiseOr"] = table["Or"];
  table["BitwiseXor"] = table["Xor"];
  table["BitShift"] = shift;
  table["Not"] = invert;
  table["BitwiseNot"] = invert;
  table["Equal"] = +[](Call& c) { return compare(c, std::equal_to<>(), std::equal_to<>()); };
  table["Less"] = +[](Call& c) { return compare(c, std::less<>(), std::less<>()); };
  table["LessOrEqual"] =
      +[](Call& c) { return compare(c, std::less_equal<>(), std::less_equal<>()); };
  table["Greater"] = +[](Call& c) { return compare(c, std::greater<>(), std::greater<>()); };
  table["GreaterOrEqual"] =
      +[](Call& c) { return compare(c, std::greater_equal<>(), std::greater_equal<>()); };
  table["Neg"] = negate;
  table["Abs"] = absolute;
  table["Floor"] = +[](Call& c) { return unary(c, [](double v) { return std::floor(v); }); };
  table["Ceil"] = +[](Call& c) { return unary(c, [](double v) { return std::ceil(v); }); };
  table["Round"] = +[](Call& c) { return unary(c, [](double v) { return std::nearbyint(v); }); };
  table["Sqrt"] = +[](Call& c) { return unary(c, [](double v) { return std::sqrt(v); }); };
  table["Exp"] = +[](Call& c) { return unary(c, [](double v) { return std::exp(v); }); };
  table["Log"] = +[](Call& c) { return unary(c, [](double v) { return std::log(v); }); };
  table["Reciprocal"] = +[](Call& c) { return unary(c, [](double v) { return 1 / v; }); };
  table["Where"] = where_op;
  table["Cast"] = cast;
  table["CastLike"] = cast;
}

}  // namespace weft::onnx
