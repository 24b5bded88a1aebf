#include <algorithm>
#include <cmath>
#include <numeric>

#include "random_program.hpp"

namespace weft::test {
namespace {

/// The type that sums and products of a type have.
DType sum_type(DType from) {
  return is_float(from) || size_of(from) >= 4 ? from : from == DType::u8 ? DType::u32 : DType::i32;
}

DType reduced_type(const std::string& which, DType from) {
  if (which.starts_with("arg")) return DType::i32;
  if (which == "any" || which == "all") return DType::boolean;
  if (which == "mean") return is_float(from) ? from : DType::f32;
  return which == "sum" || which == "prod" ? sum_type(from) : from;
}

/// The place of the largest or smallest number; the first NaN before any.
std::size_t extreme(const Values& v, bool low) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < v.size() && !std::isnan(v[best]); ++i) {
    if (std::isnan(v[i]) || (low ? v[i] < v[best] : v[i] > v[best])) best = i;
  }
  return best;
}

Number reduced(const std::string& which, DType from, DType to, const Values& v) {
  if (which == "any") return std::ranges::any_of(v, [](Number e) { return e != 0; });
  if (which == "all") return std::ranges::all_of(v, [](Number e) { return e != 0; });
  if (which == "argmax" || which == "argmin") {
    return static_cast<Number>(extreme(v, which == "argmin"));
  }
  if (which == "max" || which == "min") return v[extreme(v, which == "min")];
  if (is_float(from) || which == "mean") {
    const Number total = std::accumulate(v.begin(), v.end(), Number{0});
    return which == "mean" ? total / static_cast<Number>(v.size()) : total;
  }
  Wide total = which == "sum" ? 0 : 1;
  for (const Number e : v) {
    const auto n = static_cast<Wide>(e);
    total = static_cast<std::int64_t>(which == "sum" ? total + n : total * n);
  }
  return fold(to, total);
}

std::optional<Step> reduction(Source& source) {
  const std::size_t input = source.any();
  const HostArray& x = source.arrays[input];
  const auto rank = static_cast<std::uint32_t>(x.shape.size());
  if (rank == 0) return std::nullopt;
  std::vector<std::uint32_t> dims;
  for (std::uint32_t i = 0; i < rank; ++i) {
    if (source.chance(2)) dims.push_back(i);
  }
  if (dims.empty()) dims.push_back(static_cast<std::uint32_t>(source.below(rank)));
  const bool keep = source.chance(2);
  const std::string which = source.random.pick(std::vector<std::string>{
      "sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "mean"});
  if (is_float(x.dtype) && which == "prod") return std::nullopt;  // overflows
  const DType t = reduced_type(which, x.dtype);
  Step step{.what = which + " of " + describe(x),
            .inputs = {input},
            .run =
                [=](const std::vector<Tensor>& in) {
                  return reduce(which, in[0], {dims.begin(), dims.end()}, keep);
                },
            .wanted = along(t, x, dims, keep,
                            [&](const Values& v) { return reduced(which, x.dtype, t, v); }),
            .rounds = which == "mean"};
  if (which == "sum" || which == "mean") {
    step.sizes = along(DType::f32, x, dims, keep, [&](const Values& v) {
                   Number size = 0;
                   for (const Number e : v) size += finite(e);
                   return which == "mean" ? size / static_cast<Number>(v.size()) : size;
                 }).values;
  }
  return step;
}

std::optional<Step> ordered(Source& source) {
  const std::size_t input = source.any();
  const HostArray& x = source.arrays[input];
  if (x.shape.empty()) return std::nullopt;
  const bool descending = source.chance(2);
  const auto less_than = [](Number a, Number b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  return Step{
      .what = "sort of " + describe(x),
      .inputs = {input},
      .run = [descending](
                 const std::vector<Tensor>& in) { return sort(in[0], -1, descending).values; },
      .wanted =
          rows(x.dtype, x, static_cast<std::uint32_t>(x.shape.size() - 1), [&](const Values& v) {
            Values out = v;
            std::ranges::stable_sort(out, [&](Number a, Number b) {
              return descending ? less_than(b, a) : less_than(a, b);
            });
            return out;
          })};
}

std::optional<Step> scan(Source& source) {
  const std::size_t input = source.any();
  const HostArray& x = source.arrays[input];
  const DType from = x.dtype;
  if (x.shape.empty() || from == DType::i64) return std::nullopt;
  const auto dim = static_cast<std::uint32_t>(source.below(x.shape.size()));
  const bool real = is_float(from);
  const bool largest = source.chance(2);
  const DType t = largest ? from : sum_type(from);
  Step step{.what = std::string(largest ? "cummax of " : "cumsum of ") + describe(x),
            .inputs = {input},
            .run =
                [=](const std::vector<Tensor>& in) {
                  return largest ? cummax(in[0], dim) : cumsum(in[0], dim);
                },
            .wanted = rows(t, x, dim, [&](const Values& v) {
              Values out = v;
              for (std::size_t i = 1; i < v.size(); ++i) {
                const Number before = out[i - 1];
                if (!largest) {
                  out[i] = real ? before + v[i] : fold(t, static_cast<Wide>(before + v[i]));
                } else {
                  out[i] = std::isnan(before) || std::isnan(v[i]) ? not_a_number
                                                                  : std::max(before, v[i]);
                }
              }
              return out;
            })};
  if (real && !largest) {
    step.sizes = rows(DType::f32, x, dim, [&](const Values& v) {
                   Values out(v.size());
                   Number size = 0;
                   for (std::size_t i = 0; i < v.size(); ++i) out[i] = size += finite(v[i]);
                   return out;
                 }).values;
  }
  return step;
}

/// x times its transpose: shapes fit always.
std::optional<Step> product(Source& source) {
  const std::size_t input = source.any();
  const HostArray& x = source.arrays[input];
  if (x.shape.size() != 2 || !is_float(x.dtype) || x.shape[0] > 100) return std::nullopt;
  const std::uint64_t m = x.shape[0];
  const std::uint64_t k = x.shape[1];
  Step step{.what = "x x^T of " + describe(x),
            .inputs = {input},
            .run = [](const std::vector<Tensor>& in) { return matmul(in[0], in[0].transpose()); },
            .wanted = {x.dtype, {m, m}, {}}};
  for (std::uint64_t i = 0; i < m; ++i) {
    for (std::uint64_t j = 0; j < m; ++j) {
      Number total = 0;
      Number size = 0;
      for (std::uint64_t c = 0; c < k; ++c) {
        const Number term = x.values[i * k + c] * x.values[j * k + c];
        total += term;
        size += finite(term);
      }
      step.wanted.values.push_back(as_element(x.dtype, total));
      step.sizes.push_back(size);
    }
  }
  return step;
}

}  // namespace

std::optional<Step> random_rows(Source& source) {
  switch (source.below(6)) {
    case 0:
    case 1:
    case 2: return reduction(source);
    case 3: return ordered(source);
    case 4: return scan(source);
    default: return product(source);
  }
}

}  // namespace weft::test
