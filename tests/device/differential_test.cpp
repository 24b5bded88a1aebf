// Random programs of elementwise functions, reductions and moves over all plain types, each step against the same on the
// host with the meaning that numpy gives it. WEFT_SEEDS=FIRST..LAST runs other programs than the few of every test run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>

#include "host_array.hpp"
#include "ops/case.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

using ops::Random;
using Values = std::vector<Number>;

constexpr Number inf = std::numeric_limits<Number>::infinity();
constexpr Number nan = std::numeric_limits<Number>::quiet_NaN();

/// A tensor on the device and what it is on the host.
struct Pair {
  Tensor tensor;
  HostArray host;
};

Number lowest(DType dtype) {
  switch (dtype) {
    case DType::i32: return -0x1p31L;
    case DType::i64: return -0x1p63L;
    case DType::i16: return -0x1p15L;
    case DType::i8: return -128;
    default: return 0;
  }
}

Number highest(DType dtype) {
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  return std::ldexp(1.0L, is_unsigned(dtype) ? bits : bits - 1) - 1;
}

Number random_element(DType dtype, Random& random) {
  const std::uint64_t which = random.between(0, 19);
  if (dtype == DType::boolean) return static_cast<Number>(which % 2);
  if (is_float(dtype)) {
    if (which == 0) return nan;
    if (which == 1) return inf;
    if (which == 2) return -inf;
    if (which == 3) return -0.0L;
    return as_element(dtype, static_cast<Number>(random.between(0, 80)) * 0.25L - 10);
  }
  if (which == 0) return lowest(dtype);
  if (which == 1) return highest(dtype);
  if (which < 6) return as_element(dtype, static_cast<Number>(random.next() >> 1U));
  return as_element(dtype,
                    static_cast<Number>(random.between(0, 12)) - (is_unsigned(dtype) ? 0 : 6));
}

class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {}

  /// Runs the program; `log` says what it did.
  void run() {
    const Shape base = random_shape();
    for (int i = 0; i < 3; ++i) {
      Shape shape = base;
      for (std::uint64_t& extent : shape) {
        if (chance(4)) extent = 1;
      }
      add_leaf(random_.pick(types_), shape);
    }
    for (int i = 0; i < 8 && !testing::Test::HasFailure(); ++i) step();
  }

  std::string log;

 private:
  bool chance(std::uint64_t of) { return random_.between(1, of) == 1; }
  std::uint64_t below(std::uint64_t n) { return random_.between(0, n - 1); }

  Shape random_shape() {
    Shape shape;
    const std::uint64_t rank = random_.between(1, 3);
    for (std::uint64_t i = 0; i < rank; ++i)
      shape.push_back(chance(8) ? random_.between(200, 700) : random_.between(1, 9));
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    return count > 20000 ? Shape{random_.between(1, 1500)} : shape;
  }

  void add_leaf(DType dtype, const Shape& shape) {
    HostArray host{dtype, shape, {}};
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    for (std::uint64_t i = 0; i < count; ++i) host.values.push_back(random_element(dtype, random_));
    pool_.push_back({upload(api_device(), host), host});
    log += "leaf " + describe(pool_.back().host) + "\n";
  }

  static std::string describe(const HostArray& host) {
    return std::string(name(host.dtype)) + ops::describe(host.shape);
  }

  const Pair& any() { return pool_[below(pool_.size())]; }

  /// Compares, and keeps the device's own values, so that the next step starts from the same ones.
  void check(const std::string& what, const Tensor& got, const HostArray& wanted) {
    log += what + " -> " + describe(wanted) + "\n";
    ASSERT_EQ(got.dtype(), wanted.dtype) << log;
    ASSERT_EQ(got.shape(), wanted.shape) << log;
    const HostArray found = read(got);
    const Number digits = wanted.dtype == DType::f32   ? 4e-6L
                          : wanted.dtype == DType::f16 ? 2e-3L
                                                       : 1.6e-2L;
    for (std::size_t i = 0; i < wanted.values.size(); ++i) {
      const Number a = found.values[i];
      const Number b = wanted.values[i];
      const bool same =
          a == b || (std::isnan(a) && std::isnan(b)) ||
          (is_float(wanted.dtype) && std::abs(a - b) <= digits * (std::abs(b) + slack(i)));
      ASSERT_TRUE(same) << log << "element " << i << ": " << static_cast<double>(a) << ", expected "
                        << static_cast<double>(b);
    }
    if (found.values.size() <= 20000) pool_.push_back({got, found});
    sizes_.clear();
  }

  /// What a result was summed up from, where that is more than the result.
  Number slack(std::size_t i) const { return i < sizes_.size() ? sizes_[i] : 0; }

  static Number finite(Number v) { return std::isfinite(v) ? std::abs(v) : 0; }

  void unary() {
    const Pair& x = any();
    const DType t = x.host.dtype;
    const bool real = is_float(t);
    struct Row {
      const char* name;
      Tensor (*run)(In);
      Number (*f)(Number);
      int takes;  // 0: all, 1: no booleans, 2: integers and booleans
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
    const Row& row = table[below(table.size())];
    if ((row.takes == 1 && t == DType::boolean) ||
        (row.takes == 2 && (real || t == DType::boolean)))
      return;
    check(row.name + (" of " + describe(x.host)), row.run(x.tensor),
          each(t, {x.host}, [&](const Values& v) { return row.f(v[0]); }));
  }

  void question() {
    const Pair& x = any();
    const std::uint64_t which = below(4);
    const Tensor y = which == 0   ? isnan(x.tensor)
                     : which == 1 ? isinf(x.tensor)
                     : which == 2 ? isfinite(x.tensor)
                                  : logical_not(x.tensor);
    check("question " + std::to_string(which) + " of " + describe(x.host), y,
          each(DType::boolean, {x.host}, [&](const Values& v) -> Number {
            return which == 0   ? std::isnan(v[0])
                   : which == 1 ? std::isinf(v[0])
                   : which == 2 ? std::isfinite(v[0])
                                : v[0] == 0;
          }));
  }

  bool broadcasts(const Shape& a, const Shape& b) {
    for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
      const std::uint64_t x = a[a.size() - i];
      const std::uint64_t y = b[b.size() - i];
      if (x != y && x != 1 && y != 1) return false;
    }
    return true;
  }

  void binary() {
    const Pair a = any();
    const Pair b = any();
    if (!broadcasts(a.host.shape, b.host.shape)) return;
    const DType t = promote(a.host.dtype, b.host.dtype);
    const bool real = is_float(t);
    const bool boolean = t == DType::boolean;
    const std::string which = random_.pick(std::vector<std::string>{
        "add",        "sub",         "mul",         "maximum",    "minimum",       "equal",
        "not_equal",  "less",        "less_equal",  "greater",    "greater_equal", "logical_and",
        "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",   "floor_divide",
        "divide",     "left_shift",  "right_shift"});
    const bool bits = which.starts_with("bitwise");
    const bool shifts = which.ends_with("shift");
    if ((bits || shifts) && real) return;
    if (boolean && (which == "sub" || which == "floor_divide" || shifts)) return;
    const Tensor& x = a.tensor;
    const Tensor& y = b.tensor;
    DType result = t;
    Tensor got;
    std::function<Number(Number, Number)> f;
    const auto wide = [](Number v) { return static_cast<Wide>(v); };
    const auto word = [](Number v) { return static_cast<std::int64_t>(static_cast<Wide>(v)); };
    // In long double a product of 64-bit integers is rounded: those are exact in 128 bits.
    const auto whole = [&](auto g) {
      return [=](Number p, Number q) -> Number {
        return as_element(t, 0) + fold(t, g(wide(p), wide(q)));
      };
    };
    if (which == "add") {
      got = x + y;
      f = real ? std::function<Number(Number, Number)>([](Number p, Number q) { return p + q; })
               : whole([](Wide p, Wide q) { return p + q; });
    } else if (which == "sub") {
      got = x - y;
      f = real ? std::function<Number(Number, Number)>([](Number p, Number q) { return p - q; })
               : whole([](Wide p, Wide q) { return p - q; });
    } else if (which == "mul") {
      got = x * y;
      f = real ? std::function<Number(Number, Number)>([](Number p, Number q) { return p * q; })
               : whole([](Wide p, Wide q) { return p * q; });
    } else if (which == "maximum") {
      got = maximum(x, y);
      f = [](Number p, Number q) { return std::isnan(p) || std::isnan(q) ? nan : std::max(p, q); };
    } else if (which == "minimum") {
      got = minimum(x, y);
      f = [](Number p, Number q) { return std::isnan(p) || std::isnan(q) ? nan : std::min(p, q); };
    } else if (which == "divide") {
      got = x / y;
      result = real ? t : DType::f32;
      f = [](Number p, Number q) { return p / q; };
    } else if (which == "floor_divide") {
      if (real) return;  // rounded quotients may lie on the other side of a whole number
      got = floor_divide(x, y);
      f = whole([](Wide p, Wide q) {
        return q == 0 ? 0 : p / q - (p % q != 0 && (p < 0) != (q < 0) ? 1 : 0);
      });
    } else if (bits) {
      const char kind = which[8];
      got = kind == 'a' ? bitwise_and(x, y) : kind == 'o' ? bitwise_or(x, y) : bitwise_xor(x, y);
      f = [=](Number p, Number q) -> Number {
        return static_cast<Number>(kind == 'a'   ? word(p) & word(q)
                                   : kind == 'o' ? word(p) | word(q)
                                                 : word(p) ^ word(q));
      };
    } else if (shifts) {
      const bool left = which[0] == 'l';
      got = left ? left_shift(x, y) : right_shift(x, y);
      const int width = static_cast<int>(size_of(t)) * 8;
      f = [=](Number p, Number q) -> Number {
        const bool all = q < 0 || q >= std::max(width, 32);
        if (left) return all || q >= width ? 0 : fold(t, wide(p) << static_cast<int>(q));
        return all ? (p < 0 ? -1 : 0) : static_cast<Number>(word(p) >> static_cast<int>(q));
      };
    } else {
      result = DType::boolean;
      got = which == "equal"           ? equal(x, y)
            : which == "not_equal"     ? not_equal(x, y)
            : which == "less"          ? less(x, y)
            : which == "less_equal"    ? less_equal(x, y)
            : which == "greater"       ? greater(x, y)
            : which == "greater_equal" ? greater_equal(x, y)
            : which == "logical_and"   ? logical_and(x, y)
            : which == "logical_or"    ? logical_or(x, y)
                                       : logical_xor(x, y);
      // An integer beside a float is compared as a float.
      f = [=](Number p, Number q) -> Number {
        const bool logical = which.starts_with("logical");
        if (real && !logical) p = as_element(DType::f32, p), q = as_element(DType::f32, q);
        return which == "equal"           ? p == q
               : which == "not_equal"     ? p != q
               : which == "less"          ? p < q
               : which == "less_equal"    ? p <= q
               : which == "greater"       ? p > q
               : which == "greater_equal" ? p >= q
               : which == "logical_and"   ? p != 0 && q != 0
               : which == "logical_or"    ? p != 0 || q != 0
                                          : (p != 0) != (q != 0);
      };
    }
    if (real && (which == "add" || which == "sub")) {
      sizes_ = each(DType::f32, {a.host, b.host}, [](const Values& v) {
                 return finite(v[0]) + finite(v[1]);
               }).values;
    }
    check(which + " of " + describe(a.host) + " and " + describe(b.host), got,
          each(result, {a.host, b.host}, [&](const Values& v) { return f(v[0], v[1]); }));
  }

  static Number fold(DType t, Wide value) {
    if (t == DType::boolean) return value != 0 ? 1 : 0;
    return as_element(t, static_cast<Number>(static_cast<std::int64_t>(value)));
  }

  void scalar() {
    const Pair x = any();
    const auto s = static_cast<double>(static_cast<std::int64_t>(below(9)) - 4);
    const bool fraction = chance(3);
    const double b = fraction ? s + 0.5 : s;
    const std::uint64_t which = below(4);
    const DType from = x.host.dtype;
    const DType t = is_float(from)           ? from
                    : fraction || which == 3 ? DType::f32
                    : from == DType::boolean ? DType::i32
                                             : from;
    if (which == 3 && b == 0) return;
    const Tensor got = which == 0   ? x.tensor + b
                       : which == 1 ? b - x.tensor
                       : which == 2 ? x.tensor * b
                                    : x.tensor / b;
    if (is_float(t) && which < 2) {
      sizes_ = each(DType::f32, {x.host}, [&](const Values& v) {
                 return finite(v[0]) + std::abs(b);
               }).values;
    }
    check(
        "scalar " + std::to_string(which) + " " + std::to_string(b) + " with " + describe(x.host),
        got, each(t, {x.host}, [&](const Values& v) -> Number {
          if (is_float(t)) {
            return which == 0 ? v[0] + b : which == 1 ? b - v[0] : which == 2 ? v[0] * b : v[0] / b;
          }
          const auto p = static_cast<Wide>(v[0]);
          const auto q = static_cast<Wide>(b);
          return fold(t, which == 0 ? p + q : which == 1 ? q - p : p * q);
        }));
  }

  void cast() {
    const Pair x = any();
    const DType to = random_.pick(types_);
    const bool narrows = is_float(x.host.dtype) && !is_float(to) && to != DType::boolean;
    const bool odd = std::ranges::any_of(x.host.values, [&](Number v) {
      return !std::isfinite(v) || v < lowest(to) || v > highest(to);
    });
    if (narrows && odd) return;  // numpy leaves it open
    check("cast of " + describe(x.host), x.tensor.to(to), each(to, {x.host}, [&](const Values& v) {
            return is_float(to) || to == DType::boolean ? v[0] : fold(to, static_cast<Wide>(v[0]));
          }));
  }

  void choose() {
    const Pair c = any();
    const Pair a = any();
    const Pair b = any();
    if (!broadcasts(c.host.shape, a.host.shape) || !broadcasts(c.host.shape, b.host.shape) ||
        !broadcasts(a.host.shape, b.host.shape))
      return;
    check("where " + describe(c.host) + ", " + describe(a.host) + ", " + describe(b.host),
          where(c.tensor, a.tensor, b.tensor),
          each(promote(a.host.dtype, b.host.dtype), {c.host, a.host, b.host},
               [](const Values& v) { return v[0] != 0 ? v[1] : v[2]; }));
  }

  void reduction() {
    const Pair x = any();
    const auto rank = static_cast<std::uint32_t>(x.host.shape.size());
    if (rank == 0) return;
    std::vector<std::uint32_t> dims;
    for (std::uint32_t i = 0; i < rank; ++i) {
      if (chance(2)) dims.push_back(i);
    }
    if (dims.empty()) dims.push_back(static_cast<std::uint32_t>(below(rank)));
    const bool keep = chance(2);
    const std::string which = random_.pick(std::vector<std::string>{
        "sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "mean"});
    const DType from = x.host.dtype;
    const bool real = is_float(from);
    const DType adds = real || size_of(from) >= 4 ? from
                       : from == DType::u8        ? DType::u32
                                                  : DType::i32;
    const bool picks = which.starts_with("arg");
    const DType t = picks                               ? DType::i32
                    : which == "any" || which == "all"  ? DType::boolean
                    : which == "mean"                   ? (real ? from : DType::f32)
                    : which == "sum" || which == "prod" ? adds
                                                        : from;
    if (real && which == "prod") return;  // overflows
    if (which == "sum" || which == "mean") {
      sizes_ = along(DType::f32, x.host, dims, keep, [&](const Values& v) {
                 Number size = 0;
                 for (const Number e : v) size += finite(e);
                 return which == "mean" ? size / static_cast<Number>(v.size()) : size;
               }).values;
    }
    check(which + " of " + describe(x.host),
          reduce(which, x.tensor, {dims.begin(), dims.end()}, keep),
          along(t, x.host, dims, keep, [&](const Values& v) -> Number {
            if (which == "any") return std::ranges::any_of(v, [](Number e) { return e != 0; });
            if (which == "all") return std::ranges::all_of(v, [](Number e) { return e != 0; });
            const bool low = which == "min" || which == "argmin";
            if (which == "max" || which == "min" || picks) {
              std::size_t best = 0;
              for (std::size_t i = 0; i < v.size(); ++i) {
                if (std::isnan(v[best])) break;
                if (std::isnan(v[i]) || (low ? v[i] < v[best] : v[i] > v[best])) best = i;
              }
              return picks ? static_cast<Number>(best) : v[best];
            }
            if (real || which == "mean") {
              const Number total = std::accumulate(v.begin(), v.end(), Number{0});
              return which == "mean" ? total / static_cast<Number>(v.size()) : total;
            }
            Wide total = which == "sum" ? 0 : 1;
            for (const Number e : v) {
              const auto n = static_cast<Wide>(e);
              total = static_cast<std::int64_t>(which == "sum" ? total + n : total * n);
            }
            return fold(t, total);
          }));
  }

  void move() {
    const Pair x = any();
    const Shape& shape = x.host.shape;
    const auto rank = static_cast<std::uint32_t>(shape.size());
    if (rank == 0) return;
    const auto dim = static_cast<std::uint32_t>(below(rank));
    const std::uint64_t extent = shape[dim];
    using Place = std::vector<std::uint64_t>;
    switch (below(7)) {
      case 0: {
        std::vector<std::uint32_t> order(rank);
        std::iota(order.begin(), order.end(), 0U);
        for (std::uint32_t i = rank; i-- > 1;) std::swap(order[i], order[below(i + 1)]);
        Shape out(rank);
        for (std::uint32_t i = 0; i < rank; ++i) out[i] = shape[order[i]];
        return check("permute of " + describe(x.host),
                     x.tensor.permute(std::vector<int>(order.begin(), order.end())),
                     take(x.host, out, [&](Place& at) {
                       Place from(rank);
                       for (std::uint32_t i = 0; i < rank; ++i) from[order[i]] = at[i];
                       at = from;
                       return true;
                     }));
      }
      case 1: {
        const std::uint64_t first = below(extent);
        const std::uint64_t step = random_.between(1, 3);
        const std::uint64_t count = (extent - first + step - 1) / step;
        Shape out = shape;
        out[dim] = count;
        return check("slice of " + describe(x.host), x.tensor.slice(dim, first, count, step),
                     take(x.host, out, [&](Place& at) {
                       at[dim] = first + at[dim] * step;
                       return true;
                     }));
      }
      case 2: {
        std::vector<std::int64_t> places(rank, 0);
        places[dim] = static_cast<std::int64_t>(below(9)) - 4;
        return check("roll of " + describe(x.host), roll(x.tensor, places),
                     take(x.host, shape, [&](Place& at) {
                       const auto n = static_cast<std::int64_t>(extent);
                       const auto to = static_cast<std::int64_t>(at[dim]) - places[dim];
                       at[dim] = static_cast<std::uint64_t>(((to % n) + n) % n);
                       return true;
                     }));
      }
      case 3: {
        if (rank < 2) return;
        return check(
            "tril of " + describe(x.host), tril(x.tensor, 1),
            take(x.host, shape, [&](Place& at) { return at[rank - 1] <= at[rank - 2] + 1; }));
      }
      case 4: {
        Shape low(rank, 0);
        Shape high(rank, 0);
        low[dim] = below(4);
        high[dim] = below(4);
        Shape out = shape;
        out[dim] += low[dim] + high[dim];
        return check("pad of " + describe(x.host), pad(x.tensor, low, high, 1),
                     take(
                         x.host, out,
                         [&](Place& at) {
                           if (at[dim] < low[dim] || at[dim] >= low[dim] + extent) return false;
                           at[dim] -= low[dim];
                           return true;
                         },
                         1));
      }
      case 5: {
        Shape flat{1};
        for (const std::uint64_t e : shape) flat[0] *= e;
        HostArray wanted = x.host;
        wanted.shape = flat;
        return check("reshape of " + describe(x.host), x.tensor.reshape(flat), wanted);
      }
      default: {
        std::vector<std::int32_t> index;
        for (std::uint64_t i = 0; i < 5; ++i)
          index.push_back(static_cast<std::int32_t>(below(extent)));
        Shape out = shape;
        out[dim] = index.size();
        Shape places(rank, 1);
        places[dim] = index.size();
        const Tensor at_device = api_device().tensor(places, index).broadcast_to(out);
        return check("gather of " + describe(x.host), gather(x.tensor, at_device, dim),
                     take(x.host, out, [&](Place& at) {
                       at[dim] = static_cast<std::uint64_t>(index[at[dim]]);
                       return true;
                     }));
      }
    }
  }

  void ordered() {
    const Pair x = any();
    if (x.host.shape.empty()) return;
    const auto last = static_cast<std::uint32_t>(x.host.shape.size() - 1);
    const bool descending = chance(2);
    const auto less_than = [](Number a, Number b) {
      return std::isnan(b) ? !std::isnan(a) : a < b;
    };
    check("sort of " + describe(x.host), sort_last(x.tensor, descending),
          rows(x.host.dtype, x.host, last, [&](const Values& v) {
            Values out = v;
            std::ranges::stable_sort(out, [&](Number a, Number b) {
              return descending ? less_than(b, a) : less_than(a, b);
            });
            return out;
          }));
  }

  static Tensor sort_last(const Tensor& x, bool descending) {
    return sort(x, -1, descending).values;
  }

  void scan() {
    const Pair x = any();
    const DType from = x.host.dtype;
    if (x.host.shape.empty() || from == DType::i64) return;
    const auto dim = static_cast<std::uint32_t>(below(x.host.shape.size()));
    const bool real = is_float(from);
    const bool extreme = chance(2);
    const DType adds = real || size_of(from) >= 4 ? from
                       : from == DType::u8        ? DType::u32
                                                  : DType::i32;
    if (real && !extreme) {
      sizes_ = rows(DType::f32, x.host, dim, [&](const Values& v) {
                 Values out(v.size());
                 Number size = 0;
                 for (std::size_t i = 0; i < v.size(); ++i) out[i] = size += finite(v[i]);
                 return out;
               }).values;
    }
    check(std::string(extreme ? "cummax of " : "cumsum of ") + describe(x.host),
          extreme ? cummax(x.tensor, dim) : cumsum(x.tensor, dim),
          rows(extreme ? from : adds, x.host, dim, [&](const Values& v) {
            Values out = v;
            for (std::size_t i = 1; i < v.size(); ++i) {
              const Number before = out[i - 1];
              if (!extreme) {
                out[i] = real ? before + v[i] : fold(adds, static_cast<Wide>(before + v[i]));
              } else {
                out[i] = std::isnan(before) || std::isnan(v[i]) ? nan : std::max(before, v[i]);
              }
            }
            return out;
          }));
  }

  void step() {
    switch (below(14)) {
      case 0: return unary();
      case 1: return question();
      case 2: return cast();
      case 3: return choose();
      case 4:
      case 5: return reduction();
      case 6:
      case 7: return move();
      case 8: return ordered();
      case 9: return scan();
      case 10: return scalar();
      default: return binary();
    }
  }

  Random random_;
  std::vector<Pair> pool_;
  std::vector<Number> sizes_;
  const std::vector<DType> types_{all_dtypes.begin(), all_dtypes.end()};
};

TEST(DeviceDifferential, RandomProgramsAreWhatTheHostMakesOfThem) {
  std::uint64_t first = 1;
  std::uint64_t last = 40;
  if (const char* text = std::getenv("WEFT_SEEDS"); text != nullptr) {
    const std::string range = text;
    const std::size_t dots = range.find("..");
    first = std::stoull(range);
    last = dots == std::string::npos ? first : std::stoull(range.substr(dots + 2));
  }
  for (std::uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    Program program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    try {
      program.run();
    } catch (const Error& error) {
      FAIL() << program.log << error.what();
    }
  }
}

}  // namespace
}  // namespace weft::test
