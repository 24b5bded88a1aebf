#include <algorithm>
#include <cmath>

#include "onnx/host.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;

Values constant(Call& c) {
  for (const Attribute& given : c.node.attributes) {
    const Attribute* one = c.attribute(given.name);
    if (one == nullptr) continue;
    const std::string& name = given.name;
    if (name == "value" && one->t) return {c.context.constant(*one->t)};
    if (name == "value_float")
      return {array_of(Type::f32, {}, std::vector<double>{static_cast<double>(one->f)})};
    if (name == "value_int") return {array_of(Type::i64, {}, std::vector<I>{one->i})};
    if (name == "value_floats")
      return {array_of(Type::f32, {one->floats.size()},
                       std::vector<double>(one->floats.begin(), one->floats.end()))};
    if (name == "value_ints") return {array_of(Type::i64, {one->ints.size()}, one->ints)};
    if (name == "value_string")
      return {
          Array{.type = Type::string, .shape = {}, .bytes = {}, .keep = {}, .strings = {one->s}}};
    if (name == "value_strings")
      return {Array{.type = Type::string,
                    .shape = {one->strings.size()},
                    .bytes = {},
                    .keep = {},
                    .strings = one->strings}};
    if (name == "sparse_value" || one->is_sparse) c.refuse("Sparse constants are not read.");
  }
  c.wrong("The constant has no value.");
}

Values shape(Call& c) {
  const Shape& all = c.shape(0);
  const auto rank = static_cast<I>(all.size());
  const auto placed = [rank](I at) { return std::clamp<I>(at < 0 ? at + rank : at, 0, rank); };
  const I start = placed(c.i("start", 0));
  const I end = placed(c.i("end", rank));
  std::vector<I> out;
  for (I i = start; i < end; ++i) out.push_back(static_cast<I>(all[static_cast<std::size_t>(i)]));
  return {array_of(Type::i64, {out.size()}, out)};
}

Values size(Call& c) {
  return {array_of(Type::i64, {}, std::vector<I>{static_cast<I>(c.in(0).size())})};
}

Values constant_of_shape(Call& c) {
  const Shape wanted = shape_from(c, c.ints(0));
  Array value = array_of(Type::f32, {}, std::vector<double>{0});
  if (const Attribute* given = c.attribute("value"); given != nullptr && given->t) {
    const Value number = c.context.constant(*given->t);
    value = c.host(number);
  }
  if (value.size() != 1 || !has_numbers(value.type))
    c.wrong(formatted("The value is {}, not one number.", describe(Value(value))));
  value.shape = {};
  const auto dtype = dtype_of(value.type);
  if (count_of(wanted) > 1U << 14 && dtype)
    return {Value(value).on(c.device()).broadcast_to(wanted)};
  if (too_large(wanted)) c.refuse(formatted("{} is too large for the host.", text_of(wanted)));
  if (is_float(value.type))
    return {array_of(value.type, wanted,
                     std::vector<double>(count_of(wanted), value.doubles().front()))};
  return {array_of(value.type, wanted, std::vector<I>(count_of(wanted), value.ints().front()))};
}

Values range(Call& c) {
  const Type type = c.in(0).type();
  constexpr double most = 1 << 26;
  if (is_integer(type)) {
    const I start = c.scalar_int(0);
    const I limit = c.scalar_int(1);
    const I step = c.scalar_int(2);
    if (step == 0) c.wrong("The step is 0.");
    const double count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                   static_cast<double>(step));
    if (count > most) c.wrong(formatted("{} numbers are too many.", count));
    std::vector<I> out(count > 0 ? static_cast<std::size_t>(count) : 0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] =
          static_cast<I>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(step));
    }
    return {array_of(type, {out.size()}, out)};
  }
  const double start = c.scalar(0);
  const double step = c.scalar(2);
  const double count = std::ceil((c.scalar(1) - start) / step);
  if (step == 0 || std::isnan(count) || count > most)
    c.wrong(formatted("A range from {} to {} by {} does not end.", start, c.scalar(1), step));
  std::vector<double> out(count > 0 ? static_cast<std::size_t>(count) : 0);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = start + static_cast<double>(i) * step;
  return {array_of(type, {out.size()}, out)};
}

Values eye_like(Call& c) {
  const Shape& s = c.shape(0);
  if (s.size() != 2) c.wrong(formatted("{} is not a matrix.", describe(c.in(0))));
  const auto type = c.attribute("dtype") != nullptr ? c.type("dtype", Type::f32) : c.in(0).type();
  const I k = std::clamp<I>(c.i("k", 0), -(I{1} << 30), I{1} << 30);
  if (const auto dtype = dtype_of(type)) return {eye(c.device(), s[0], s[1], k).to(*dtype)};
  if (too_large(s)) c.refuse(formatted("{} is too large for the host.", text_of(s)));
  std::vector<I> out(s[0] * s[1]);
  for (std::uint64_t row = 0; row < s[0]; ++row) {
    const I column = static_cast<I>(row) + k;
    if (column >= 0 && static_cast<std::uint64_t>(column) < s[1])
      out[row * s[1] + static_cast<std::uint64_t>(column)] = 1;
  }
  return {array_of(type, s, out)};
}

}  // namespace

void add_constants(Table& table) {
  table["Constant"] = constant;
  table["Shape"] = shape;
  table["Size"] = size;
  table["ConstantOfShape"] = constant_of_shape;
  table["Range"] = range;
  table["EyeLike"] = eye_like;
}

}  // namespace weft::onnx
