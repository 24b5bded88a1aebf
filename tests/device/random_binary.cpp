#include <algorithm>
#include <cmath>

#include "random_program.hpp"

namespace weft::test {
namespace {

using Wides = Wide (*)(Wide, Wide);
using Numbers = Number (*)(Number, Number);

/// What a function of two tensors does with floats and with integers; null where it takes none.
struct Row {
  const char* name;
  Tensor (*run)(const Tensor&, const Tensor&);
  Numbers real;
  Wides whole;
  bool booleans = true;  ///< Takes two of them.
};

std::int64_t word(Wide v) { return static_cast<std::int64_t>(v); }

const std::vector<Row>& arithmetic() {
  static const std::vector<Row> table{
      {"add", [](const Tensor& a, const Tensor& b) { return a + b; },
       [](Number p, Number q) { return p + q; }, [](Wide p, Wide q) { return p + q; }},
      {"sub", [](const Tensor& a, const Tensor& b) { return a - b; },
       [](Number p, Number q) { return p - q; }, [](Wide p, Wide q) { return p - q; }, false},
      {"mul", [](const Tensor& a, const Tensor& b) { return a * b; },
       [](Number p, Number q) { return p * q; }, [](Wide p, Wide q) { return p * q; }},
      {"maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
       [](Number p, Number q) {
         return std::isnan(p) || std::isnan(q) ? not_a_number : std::max(p, q);
       },
       [](Wide p, Wide q) { return std::max(p, q); }},
      {"minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); },
       [](Number p, Number q) {
         return std::isnan(p) || std::isnan(q) ? not_a_number : std::min(p, q);
       },
       [](Wide p, Wide q) { return std::min(p, q); }},
      // A rounded quotient of floats may lie on the other side of a whole number.
      {"floor_divide", [](const Tensor& a, const Tensor& b) { return floor_divide(a, b); }, nullptr,
       [](Wide p, Wide q) {
         return q == 0 ? 0 : p / q - (p % q != 0 && (p < 0) != (q < 0) ? 1 : 0);
       },
       false},
      {"bitwise_and", [](const Tensor& a, const Tensor& b) { return bitwise_and(a, b); }, nullptr,
       [](Wide p, Wide q) -> Wide { return word(p) & word(q); }},
      {"bitwise_or", [](const Tensor& a, const Tensor& b) { return bitwise_or(a, b); }, nullptr,
       [](Wide p, Wide q) -> Wide { return word(p) | word(q); }},
      {"bitwise_xor", [](const Tensor& a, const Tensor& b) { return bitwise_xor(a, b); }, nullptr,
       [](Wide p, Wide q) -> Wide { return word(p) ^ word(q); }}};
  return table;
}

struct Relation {
  const char* name;
  Tensor (*run)(const Tensor&, const Tensor&);
  bool (*holds)(Number, Number);
};

const std::vector<Relation>& relations() {
  static const std::vector<Relation> table{
      {"equal", [](const Tensor& a, const Tensor& b) { return equal(a, b); },
       [](Number p, Number q) { return p == q; }},
      {"not_equal", [](const Tensor& a, const Tensor& b) { return not_equal(a, b); },
       [](Number p, Number q) { return p != q; }},
      {"less", [](const Tensor& a, const Tensor& b) { return less(a, b); },
       [](Number p, Number q) { return p < q; }},
      {"less_equal", [](const Tensor& a, const Tensor& b) { return less_equal(a, b); },
       [](Number p, Number q) { return p <= q; }},
      {"greater", [](const Tensor& a, const Tensor& b) { return greater(a, b); },
       [](Number p, Number q) { return p > q; }},
      {"greater_equal", [](const Tensor& a, const Tensor& b) { return greater_equal(a, b); },
       [](Number p, Number q) { return p >= q; }},
      {"logical_and", [](const Tensor& a, const Tensor& b) { return logical_and(a, b); },
       [](Number p, Number q) { return p != 0 && q != 0; }},
      {"logical_or", [](const Tensor& a, const Tensor& b) { return logical_or(a, b); },
       [](Number p, Number q) { return p != 0 || q != 0; }},
      {"logical_xor", [](const Tensor& a, const Tensor& b) { return logical_xor(a, b); },
       [](Number p, Number q) { return (p != 0) != (q != 0); }}};
  return table;
}

bool broadcasts(const Shape& a, const Shape& b) {
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const std::uint64_t x = a[a.size() - i];
    const std::uint64_t y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

/// Two tensors that a function takes.
struct Two {
  std::size_t first;
  std::size_t second;
  const HostArray& a;
  const HostArray& b;
  DType type;
  [[nodiscard]] std::string of(const std::string& name) const {
    return name + " of " + describe(a) + " and " + describe(b);
  }
};

Step with(const Two& two, const std::string& name, Tensor (*run)(const Tensor&, const Tensor&),
          HostArray wanted) {
  return {.what = two.of(name),
          .inputs = {two.first, two.second},
          .run = [run](const std::vector<Tensor>& in) { return run(in[0], in[1]); },
          .wanted = std::move(wanted)};
}

std::optional<Step> compute(Source& source, const Two& two) {
  const Row& row = arithmetic()[source.below(arithmetic().size())];
  const bool real = is_float(two.type);
  if ((real && row.real == nullptr) || (two.type == DType::boolean && !row.booleans)) {
    return std::nullopt;
  }
  // In long double a product of 64-bit integers is rounded: those are exact in 128 bits.
  Step step = with(
      two, row.name, row.run, each(two.type, {two.a, two.b}, [&](const Values& v) {
        return real ? row.real(v[0], v[1])
                    : fold(two.type, row.whole(static_cast<Wide>(v[0]), static_cast<Wide>(v[1])));
      }));
  const std::string name = row.name;
  if (real && (name == "add" || name == "sub")) {
    step.sizes = each(DType::f32, {two.a, two.b}, [](const Values& v) {
                   return finite(v[0]) + finite(v[1]);
                 }).values;
  }
  return step;
}

std::optional<Step> divide(const Two& two) {
  Step step = with(
      two, "divide", [](const Tensor& a, const Tensor& b) { return a / b; },
      each(is_float(two.type) ? two.type : DType::f32, {two.a, two.b},
           [](const Values& v) { return v[0] / v[1]; }));
  step.rounds = true;
  return step;
}

std::optional<Step> shift(Source& source, const Two& two) {
  if (is_float(two.type) || two.type == DType::boolean) return std::nullopt;
  const int width = static_cast<int>(size_of(two.type)) * 8;
  const auto all = [width](Number q) { return q < 0 || q >= std::max(width, 32); };
  if (source.chance(2)) {
    return with(
        two, "left_shift", [](const Tensor& a, const Tensor& b) { return left_shift(a, b); },
        each(two.type, {two.a, two.b}, [&](const Values& v) -> Number {
          if (all(v[1]) || v[1] >= width) return 0;
          return fold(two.type, static_cast<Wide>(v[0]) << static_cast<int>(v[1]));
        }));
  }
  return with(
      two, "right_shift", [](const Tensor& a, const Tensor& b) { return right_shift(a, b); },
      each(two.type, {two.a, two.b}, [&](const Values& v) -> Number {
        if (all(v[1])) return v[0] < 0 ? -1 : 0;
        return static_cast<Number>(word(static_cast<Wide>(v[0])) >> static_cast<int>(v[1]));
      }));
}

std::optional<Step> compare(Source& source, const Two& two) {
  const Relation& row = relations()[source.below(relations().size())];
  // An integer beside a float is compared as a float.
  const bool as_floats = is_float(two.type) && !std::string_view(row.name).starts_with("logical");
  return with(
      two, row.name, row.run, each(DType::boolean, {two.a, two.b}, [&](const Values& v) -> Number {
        return as_floats ? row.holds(as_element(DType::f32, v[0]), as_element(DType::f32, v[1]))
                         : row.holds(v[0], v[1]);
      }));
}

std::optional<Step> choose(Source& source, const Two& two) {
  const std::size_t third = source.any();
  const HostArray& c = source.arrays[third];
  if (!broadcasts(c.shape, two.a.shape) || !broadcasts(c.shape, two.b.shape)) return std::nullopt;
  return Step{.what = "where " + describe(c) + ", " + describe(two.a) + ", " + describe(two.b),
              .inputs = {third, two.first, two.second},
              .run = [](const std::vector<Tensor>& in) { return where(in[0], in[1], in[2]); },
              .wanted = each(two.type, {c, two.a, two.b},
                             [](const Values& v) { return v[0] != 0 ? v[1] : v[2]; })};
}

}  // namespace

std::optional<Step> random_binary(Source& source) {
  const std::size_t first = source.any();
  const std::size_t second = source.any();
  const HostArray& a = source.arrays[first];
  const HostArray& b = source.arrays[second];
  if (!broadcasts(a.shape, b.shape)) return std::nullopt;
  const Two two{first, second, a, b, promote(a.dtype, b.dtype)};
  switch (source.below(9)) {
    case 0: return choose(source, two);
    case 1: return divide(two);
    case 2: return shift(source, two);
    case 3:
    case 4: return compare(source, two);
    default: return compute(source, two);
  }
}

}  // namespace weft::test
