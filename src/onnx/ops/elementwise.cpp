#include "weft/elementwise.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "onnx/host.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/ops.hpp"

namespace weft::onnx {
namespace {

using Unary = Tensor (*)(In);
using Binary = Tensor (*)(In, const Operand&);

template <Unary function>
Values unary(Call& c) {
  const Tensor x = c.t(0);
  return {as(function(x), x.dtype())};
}

/// Before opset 7, the second input is repeated only where an attribute says so, and its first axis
/// may be named.
Tensor second(const Call& c) {
  const Tensor b = c.t(1);
  if (c.opset >= 7 || c.i("broadcast", 0) == 0 || c.attribute("axis") == nullptr) return Tensor(b);
  const std::size_t rank = c.shape(0).size();
  const std::size_t axis = axis_of(c, c.i("axis", 0), rank);
  Shape shape = b.shape();
  while (axis + shape.size() < rank) shape.push_back(1);
  return b.reshape(shape);
}

template <Binary function>
Values binary(Call& c) {
  const Tensor a = c.t(0);
  return {as(function(a, second(c)), a.dtype())};
}

template <Binary function>
Values compare(Call& c) {
  return {function(c.t(0), second(c))};
}

/// Of any number of inputs.
template <Binary function>
Values fold(Call& c) {
  Tensor out = c.t(0);
  for (std::size_t i = 1; i < c.inputs.size(); ++i) out = as(function(out, c.t(i)), out.dtype());
  return {out};
}

Values divide(Call& c) {
  const Tensor a = c.t(0);
  const Tensor b = second(c);
  if (is_float(a.dtype())) return {as(div(a, b), a.dtype())};
  if (is_unsigned(a.dtype())) return {as(floor_divide(a, b), a.dtype())};
  // Towards 0: one more than the floor where signs differ and a remainder is left.
  const Tensor down = floor_divide(a, b);
  const Tensor inexact = logical_and(not_equal(down * b, a), less(down, zeros_like(down)));
  return {as(where(logical_and(inexact, not_equal(b, zeros_like(b))), down + 1, down), a.dtype())};
}

Values mod(Call& c) {
  const Tensor a = c.t(0);
  const Tensor b = c.t(1);
  if (c.i("fmod", 0) == 0) return {as(remainder(a, b), a.dtype())};
  if (is_float(a.dtype())) return {as(fmod(a, b), a.dtype())};
  if (is_unsigned(a.dtype())) return {as(remainder(a, b), a.dtype())};
  const Tensor rest = remainder(a, b);  // with the sign of b; wanted is that of a
  const Tensor zero = zeros_like(rest);
  const Tensor differs =
      logical_and(not_equal(rest, zero), not_equal(less(a, zeros_like(a)), less(b, zeros_like(b))));
  return {as(where(differs, rest - b, rest), a.dtype())};
}

Values power(Call& c) {
  const Tensor a = c.t(0);
  const Tensor b = second(c);
  if (is_float(a.dtype())) return {as(pow(a, as(b, a.dtype())), a.dtype())};
  if (is_float(b.dtype())) return {pow(a.to(DType::f32), b.to(DType::f32)).to(a.dtype())};
  return {as(pow(a, b), a.dtype())};
}

Values mean_of(Call& c) {
  Tensor out = c.t(0);
  for (std::size_t i = 1; i < c.inputs.size(); ++i) out = out + c.t(i);
  return {out / static_cast<double>(c.inputs.size())};
}

Values is_inf(Call& c) {
  const Tensor x = c.t(0);
  const bool low = c.i("detect_negative", 1) != 0;
  const bool high = c.i("detect_positive", 1) != 0;
  const Tensor all = isinf(x);
  if (low && high) return {all};
  const Tensor zero = zeros_like(x);
  if (!low && !high) return {zeros_like(all)};
  return {logical_and(all, low ? less(x, zero) : greater(x, zero))};
}

Values shift(Call& c) {
  const Tensor a = c.t(0);
  return {as(c.s("direction", "") == "LEFT" ? left_shift(a, c.t(1)) : right_shift(a, c.t(1)),
             a.dtype())};
}

/// Texts to numbers and back, as Cast does it.
Values cast_text(Call& c, Type to) {
  const Array& from = c.host(0);
  if (to == Type::string) {
    Array out{.type = to, .shape = from.shape, .bytes = {}, .keep = {}, .strings = {}};
    if (from.type == Type::string) return {from};
    if (is_integer(from.type) || from.type == Type::boolean) {
      for (const std::int64_t v : from.ints()) out.strings.push_back(std::to_string(v));
    } else {
      for (const double v : from.doubles()) {
        if (std::isnan(v))
          out.strings.emplace_back("NaN");
        else if (std::isinf(v))
          out.strings.emplace_back(v > 0 ? "INF" : "-INF");
        else if (from.type == Type::f64)
          out.strings.push_back(formatted("{}", v));
        else
          out.strings.push_back(formatted("{}", static_cast<float>(v)));
      }
    }
    return {out};
  }
  std::vector<double> out;
  for (const std::string& text : from.strings) {
    double value = 0;
    const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      c.wrong(formatted("'{}' is no number.", text));
    out.push_back(value);
  }
  return {array_of(to, from.shape, out)};
}

Values cast_to(Call& c, Type to) {
  const Type from = c.in(0).type();
  if (from == Type::string || to == Type::string) return cast_text(c, to);
  const auto dtype = dtype_of(to);
  if (dtype && dtype_of(from)) return {as(c.t(0), *dtype)};
  if (!has_numbers(to) || !has_numbers(from))
    c.refuse(formatted("There is no conversion from {} to {}.", name(from), name(to)));
  return {converted(c.host(0), to, c.i("saturate", 1) != 0)};
}

Values cast(Call& c) {
  if (const Attribute* to = c.attribute("to");
      to != nullptr && !to->s.empty()) {  // opset 1 names the type
    for (const auto& [text, type] :
         {std::pair{"FLOAT", Type::f32}, std::pair{"INT32", Type::i32},
          std::pair{"INT64", Type::i64}, std::pair{"BOOL", Type::boolean},
          std::pair{"FLOAT16", Type::f16}}) {
      if (to->s == text) return cast_to(c, type);
    }
  }
  return cast_to(c, c.type("to", Type::f32));
}

}  // namespace

void add_elementwise(Table& table) {
  table["Abs"] = unary<abs>;
  table["Acos"] = unary<acos>;
  table["Acosh"] = unary<acosh>;
  table["Asin"] = unary<asin>;
  table["Asinh"] = unary<asinh>;
  table["Atan"] = unary<atan>;
  table["Atanh"] = unary<atanh>;
  table["BitwiseNot"] = unary<bitwise_not>;
  table["Ceil"] = unary<ceil>;
  table["Cos"] = unary<cos>;
  table["Cosh"] = unary<cosh>;
  table["Erf"] = unary<erf>;
  table["Exp"] = unary<exp>;
  table["Floor"] = unary<floor>;
  table["Log"] = unary<log>;
  table["Neg"] = unary<neg>;
  table["Not"] = unary<logical_not>;
  table["Reciprocal"] = unary<reciprocal>;
  table["Round"] = unary<round>;
  table["Sigmoid"] = unary<sigmoid>;
  table["Sign"] = unary<sign>;
  table["Sin"] = unary<sin>;
  table["Sinh"] = unary<sinh>;
  table["Sqrt"] = unary<sqrt>;
  table["Tan"] = unary<tan>;
  table["Tanh"] = unary<tanh>;
  table["Add"] = binary<add>;
  table["Sub"] = binary<sub>;
  table["Mul"] = binary<mul>;
  table["Div"] = divide;
  table["Mod"] = mod;
  table["Pow"] = power;
  table["And"] = compare<logical_and>;
  table["Or"] = compare<logical_or>;
  table["Xor"] = compare<logical_xor>;
  table["BitwiseAnd"] = binary<bitwise_and>;
  table["BitwiseOr"] = binary<bitwise_or>;
  table["BitwiseXor"] = binary<bitwise_xor>;
  table["BitShift"] = shift;
  table["Equal"] = compare<equal>;
  table["Greater"] = compare<greater>;
  table["GreaterOrEqual"] = compare<greater_equal>;
  table["Less"] = compare<less>;
  table["LessOrEqual"] = compare<less_equal>;
  table["Max"] = fold<maximum>;
  table["Min"] = fold<minimum>;
  table["Sum"] = fold<add>;
  table["Mean"] = mean_of;
  table["IsNaN"] = +[](Call& c) { return Values{isnan(c.t(0))}; };
  table["IsInf"] = is_inf;
  table["Where"] = +[](Call& c) {
    const Tensor a = c.t(1);
    return Values{as(where(c.t(0), a, c.t(2)), a.dtype())};
  };
  table["Cast"] = cast;
  table["CastLike"] = +[](Call& c) { return cast_to(c, c.in(1).type()); };
}

}  // namespace weft::onnx
