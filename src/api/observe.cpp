#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "weft/device.hpp"
#include "weft/math.hpp"
#include "weft/neighbours.hpp"
#include "weft/quantize.hpp"

namespace weft {
namespace {

constexpr std::size_t levels = 128;  // of the size of an i8

/// How much is lost (the Kullback-Leibler divergence) where the first `kept` bins become `levels`
/// of them; what lies behind counts to the last.
double loss_of(const std::vector<double>& counts, std::size_t kept, double total) {
  std::vector<double> clipped(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(kept));
  for (std::size_t i = kept; i < counts.size(); ++i) clipped.back() += counts[i];
  double inside = 0;
  for (std::size_t i = 0; i < kept; ++i) inside += counts[i];
  if (inside == 0) return std::numeric_limits<double>::infinity();
  double loss = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t first = level * kept / levels;
    const std::size_t end = (level + 1) * kept / levels;
    // A level is spread evenly over its bins that have elements.
    double sum = 0;
    double filled = 0;
    for (std::size_t i = first; i < end; ++i) {
      sum += counts[i];
      filled += counts[i] > 0 ? 1 : 0;
    }
    for (std::size_t i = first; i < end; ++i) {
      const double p = clipped[i] / total;
      if (p == 0) continue;
      // Elements behind the end that fall into a bin without its own: as rare as can be.
      const double q = counts[i] > 0 ? sum / filled / inside : 1e-12;
      loss += p * std::log(p / q);
    }
  }
  return loss;
}

/// The end t of the range -t to t that loses least.
double least_loss_end(const std::vector<double>& counts, double most) {
  double total = 0;
  for (const double count : counts) total += count;
  double best = std::numeric_limits<double>::infinity();
  std::size_t found = counts.size();
  for (std::size_t kept = levels; kept <= counts.size(); kept += levels / 8) {
    const double loss = loss_of(counts, kept, total);
    if (loss < best) {
      best = loss;
      found = kept;
    }
  }
  return most * static_cast<double>(found) / static_cast<double>(counts.size());
}

QuantizationRange by_entropy(const Tensor& x, std::uint64_t bins, const Where& at) {
  const Device device = x.device();
  const Tensor size = abs(In(x, at));
  const Tensor none = device.full({}, 0, DType::f32, at);
  const Tensor finite =
      less(In(size, at), device.full({}, std::numeric_limits<double>::infinity(), DType::f32, at));
  const float most = max(In(where(In(finite, at), size, none), at)).item();
  if (!(most > 0)) return {none, none};
  const Tensor counted = histogram(In(size, at), bins, 0, most);
  const std::vector<std::int32_t> numbers = counted.to_vector<std::int32_t>();
  const double end = least_loss_end({numbers.begin(), numbers.end()}, most);
  return {device.full({}, -end, DType::f32, at), device.full({}, end, DType::f32, at)};
}

}  // namespace

QuantizationRange quantization_range(In x, const QuantizationRangeOptions& options) {
  need("quantization_range", "x", x.tensor, x.where);
  const Where& at = x.where;
  if (!is_float(x.tensor.dtype()) || x.tensor.size() == 0) {
    refuse("quantization_range", at,
           formatted("quantization_range needs at least one element of a float type; it was given "
                     "{}.",
                     describe(x.tensor)));
  }
  const Tensor flat = x.tensor.to(DType::f32, at).reshape({x.tensor.size()}, at);
  if (options.method == "min_max") return {min(In(flat, at)), max(In(flat, at))};
  if (options.method == "percentile") {
    if (!(options.percentile > 50) || options.percentile > 100) {
      refuse("quantization_range", at,
             formatted("quantization_range takes a percentile above 50 and up to 100; it is {}.",
                       options.percentile));
    }
    const double share = options.percentile / 100;
    return {quantile(In(flat, at), 1 - share), quantile(In(flat, at), share)};
  }
  if (options.method == "entropy") {
    if (options.bins < 2 * levels || options.bins > (1ULL << 20U)) {
      refuse("quantization_range", at,
             formatted("quantization_range takes from {} to {} bins; they are {}.", 2 * levels,
                       1ULL << 20U, options.bins));
    }
    return by_entropy(flat, options.bins, at);
  }
  refuse(
      "quantization_range", at,
      formatted("quantization_range has the methods \"min_max\", \"percentile\" and \"entropy\"; "
                "it was given \"{}\".",
                options.method));
}

QuantizationScale quantization_scale(In low, const Tensor& high, bool symmetric) {
  need("quantization_scale", "low", low.tensor, low.where);
  need("quantization_scale", "high", high, low.where);
  const Where& at = low.where;
  if (!is_float(low.tensor.dtype()) || !is_float(high.dtype()) ||
      low.tensor.shape() != high.shape()) {
    refuse("quantization_scale", at,
           formatted("quantization_scale needs ends of one shape and of a float type; they are {} "
                     "and {}.",
                     describe(low.tensor), describe(high)));
  }
  const Device device = high.device();
  const Tensor zero = device.full({}, 0, DType::f32, at);
  const Tensor least = device.full({}, std::numeric_limits<float>::min(), DType::f32, at);
  const Tensor from = low.tensor.to(DType::f32, at);
  const Tensor to = high.to(DType::f32, at);
  if (symmetric) {
    const Tensor most = maximum(In(abs(In(from, at)), at), abs(In(to, at)));
    return {maximum(In(most / 127.0, at), least), device.full(high.shape(), 0, DType::i32, at)};
  }
  const Tensor bottom = minimum(In(from, at), zero);
  const Tensor width = maximum(In(to, at), zero) - In(bottom, at);
  const Tensor scale = maximum(In(width / 255.0, at), least);
  return {scale, round(In(-In(bottom / In(scale, at), at), at)).to(DType::i32, at)};
}

}  // namespace weft
