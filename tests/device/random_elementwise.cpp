#include <algorithm>
#include <cmath>

#include "random_program.hpp"

namespace weft::test {
namespace {

Step unary_step(const std::string& what, std::size_t input, Tensor (*run)(In), HostArray wanted) {
  return {.what = what,
          .inputs = {input},
          .run = [run](const std::vector<Tensor>& in) { return run(in[0]); },
          .wanted = std::move(wanted)};
}

std::optional<Step> unary(Source& source) {
  const std::size_t input = source.any();
  const HostArray& x = source.arrays[input];
  const DType t = x.dtype;
  struct Row {
    const char* name;
    Tensor (*run)(In);
    Number (*f)(Number);
    int takes;  // 0: all, 1: no booleans, 2: integers
  };
  static const std::vector<Row> table{
      {"neg", [](In v) { return -v; }, [](Number v) { return -v; }, 1},
      {"abs", [](In v) { return abs(v); }, [](Number v) { return std::abs(v); }, 0},
      {"sign", [](In v) { return sign(v); },
       [](Number v) { return std::isnan(v) ? v : Number((v > 0) - (v < 0)); }, 1},
      {"floor", [](In v) { return floor(v); }, [](Number v) { return std::floor(v); }, 0},
      {"ceil", [](In v) { return ceil(v); }, [](Number v) { return std::ceil(v); }, 0},
      {"round", [](In v) { return round(v); }, [](Number v) { return std::nearbyint(v); }, 0},
      {"bitwise_not", [](In v) { return bitwise_not(v); },
       [](Number v) { return Number(~static_cast<std::int64_t>(v)); }, 2}};
  const Row& row = table[source.below(table.size())];
  if ((row.takes == 1 && t == DType::boolean) ||
      (row.takes == 2 && (is_float(t) || t == DType::boolean))) {
    return std::nullopt;
  }
  return unary_step(row.name + (" of " + describe(x)), input, row.run,
                    each(t, {x}, [&](const Values& v) { return row.f(v[0]); }));
}

std::optional<Step> question(Source& source) {
  const std::size_t input = source.any();
  const HostArray& x = source.arrays[input];
  struct Row {
    const char* name;
    Tensor (*run)(In);
    bool (*f)(Number);
  };
  static const std::vector<Row> table{
      {"isnan", [](In v) { return isnan(v); }, [](Number v) { return std::isnan(v); }},
      {"isinf", [](In v) { return isinf(v); }, [](Number v) { return std::isinf(v); }},
      {"isfinite", [](In v) { return isfinite(v); }, [](Number v) { return std::isfinite(v); }},
      {"logical_not", [](In v) { return logical_not(v); }, [](Number v) { return v == 0; }}};
  const Row& row = table[source.below(table.size())];
  return unary_step(
      row.name + (" of " + describe(x)), input, row.run,
      each(DType::boolean, {x}, [&](const Values& v) -> Number { return row.f(v[0]); }));
}

std::optional<Step> scalar(Source& source) {
  const std::size_t input = source.any();
  const HostArray& x = source.arrays[input];
  const auto s = static_cast<double>(static_cast<std::int64_t>(source.below(9)) - 4);
  const bool fraction = source.chance(3);
  const double b = fraction ? s + 0.5 : s;
  const std::uint64_t which = source.below(4);
  const DType from = x.dtype;
  const DType t = is_float(from)           ? from
                  : fraction || which == 3 ? DType::f32
                  : from == DType::boolean ? DType::i32
                                           : from;
  if (which == 3 && b == 0) return std::nullopt;
  Step step{
      .what = "scalar " + std::to_string(which) + " " + std::to_string(b) + " with " + describe(x),
      .inputs = {input},
      .run =
          [which, b](const std::vector<Tensor>& in) {
            return which == 0   ? in[0] + b
                   : which == 1 ? b - in[0]
                   : which == 2 ? in[0] * b
                                : in[0] / b;
          },
      .wanted = each(t, {x},
                     [&](const Values& v) -> Number {
                       if (is_float(t)) {
                         return which == 0   ? v[0] + b
                                : which == 1 ? b - v[0]
                                : which == 2 ? v[0] * b
                                             : v[0] / b;
                       }
                       const auto p = static_cast<Wide>(v[0]);
                       const auto q = static_cast<Wide>(b);
                       return fold(t, which == 0 ? p + q : which == 1 ? q - p : p * q);
                     }),
      .rounds = which == 3};
  if (is_float(t) && which < 2) {
    step.sizes =
        each(DType::f32, {x}, [&](const Values& v) { return finite(v[0]) + std::abs(b); }).values;
  }
  return step;
}

std::optional<Step> cast(Source& source) {
  const std::size_t input = source.any();
  const HostArray& x = source.arrays[input];
  static const std::vector<DType> types{all_dtypes.begin(), all_dtypes.end()};
  const DType to = source.random.pick(types);
  const bool narrows = is_float(x.dtype) && !is_float(to) && to != DType::boolean;
  const bool odd = std::ranges::any_of(
      x.values, [&](Number v) { return !std::isfinite(v) || v < lowest(to) || v > highest(to); });
  if (narrows && odd) return std::nullopt;  // numpy leaves it open
  return Step{.what = "cast of " + describe(x),
              .inputs = {input},
              .run = [to](const std::vector<Tensor>& in) { return in[0].to(to); },
              .wanted = each(to, {x}, [&](const Values& v) {
                return is_float(to) || to == DType::boolean ? v[0]
                                                            : fold(to, static_cast<Wide>(v[0]));
              })};
}

}  // namespace

std::optional<Step> random_elementwise(Source& source) {
  switch (source.below(4)) {
    case 0: return unary(source);
    case 1: return question(source);
    case 2: return scalar(source);
    default: return cast(source);
  }
}

}  // namespace weft::test
