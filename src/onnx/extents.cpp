#include "onnx/extents.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/format.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;
using Sizes = std::vector<std::uint64_t>;

constexpr std::uint64_t step = 96;   // even parts of it are the strides of most models
constexpr I most_denominator = 768;  // of a fraction

Sizes base(std::size_t names, std::uint64_t scale) {
  Sizes out;
  for (std::size_t i = 0; i < names; ++i) out.push_back(scale * (192 + 96 * i));
  return out;
}

I floor_div(I a, I b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

std::string signed_text(I number) {
  return number < 0 ? formatted(" - {}", -number) : formatted(" + {}", number);
}

/// What two sightings that differ in one name only tell about it.
struct Moved {
  bool is_seen = false;  ///< There are such sightings.
  bool matters = false;  ///< The extent follows from it.
};

Moved moved(const std::vector<Sighting>& all, std::size_t name) {
  Moved out;
  const Sighting& from = all.front();
  for (const Sighting& to : all) {
    bool alone = to.sizes[name] != from.sizes[name];
    for (std::size_t other = 0; other < to.sizes.size(); ++other)
      alone = alone && (other == name || to.sizes[other] == from.sizes[other]);
    out.is_seen = out.is_seen || alone;
    out.matters = out.matters || (alone && to.extent != from.extent);
  }
  return out;
}

/// floor((p * name + r) / q) with r from `low` to `high`.
struct Fraction {
  I p = 0;
  I q = 1;
  I low = std::numeric_limits<I>::min() / 4;
  I high = std::numeric_limits<I>::max() / 4;
};

std::optional<Fraction> fraction_of(const std::vector<Sighting>& all, std::size_t name) {
  const auto size = [&](const Sighting& one) { return static_cast<I>(one.sizes[name]); };
  const auto [first, last] = std::ranges::minmax(all, {}, size);
  const I width = size(last) - size(first);
  const I rise = static_cast<I>(last.extent) - static_cast<I>(first.extent);
  for (I q = 1; width > 0 && q <= most_denominator; ++q) {
    const auto p = static_cast<I>(std::llround(static_cast<double>(rise) * static_cast<double>(q) /
                                               static_cast<double>(width)));
    Fraction out{.p = p, .q = q};
    for (const Sighting& one : all) {
      const I least = q * static_cast<I>(one.extent) - p * size(one);
      out.low = std::max(out.low, least);
      out.high = std::min(out.high, least + q - 1);
    }
    if (out.low <= out.high) return out;
  }
  return std::nullopt;
}

std::string text_of(const Fraction& f, I r, const std::string& name, bool is_factor) {
  const std::string term = f.p == 1 ? name : formatted("{}*{}", f.p, name);
  if (f.q == 1) return r == 0 ? term : term + signed_text(r);
  // A whole part stands behind: floor((n - 1)/2) + 1.
  const I whole = !is_factor && (r >= f.q || r <= -f.q) ? floor_div(r, f.q) : 0;
  const I rest = r - whole * f.q;
  const std::string inside = rest == 0 ? term : formatted("({}{})", term, signed_text(rest));
  return formatted("floor({}/{}){}", inside, f.q, whole == 0 ? "" : signed_text(whole));
}

/// Two fractions with denominators up to q differ by one over their product, which only shows in
/// sightings that lie far apart: the sizes to look at next, or nothing where they do.
std::optional<Sizes> further(const std::vector<Sighting>& all, std::size_t name, I q,
                             std::uint64_t scale) {
  const auto [low, high] =
      std::ranges::minmax(all, {}, [&](const Sighting& one) { return one.sizes[name]; });
  const std::uint64_t span = high.sizes[name] - low.sizes[name];
  if (q == 1 || span >= static_cast<std::uint64_t>(q * (q - 1))) return std::nullopt;
  Sizes out = all.front().sizes;
  out[name] += scale * (span < scale * 4800 ? 4800 : 48000);
  return out;
}

std::optional<Formula> one_name(const std::vector<std::string>& names,
                                const std::vector<Sighting>& all, std::size_t name,
                                std::uint64_t scale) {
  std::optional<Fraction> fraction = fraction_of(all, name);
  std::uint64_t factor = 1;
  std::uint64_t rest = 0;
  if (!fraction) {  // All of them may be multiples of a stride, and a rest.
    factor = 0;
    for (const Sighting& one : all)
      factor = std::gcd(
          factor, static_cast<std::uint64_t>(
                      std::abs(static_cast<I>(one.extent) - static_cast<I>(all.front().extent))));
    rest = all.front().extent % factor;
    std::vector<Sighting> parts = all;
    for (Sighting& one : parts) one.extent /= factor;
    fraction = fraction_of(parts, name);
  }
  if (!fraction || fraction->p <= 0) return std::nullopt;
  Formula out;
  const I r = fraction->low <= 0 && fraction->high >= 0 ? 0 : fraction->low;
  out.text = (factor == 1 ? "" : formatted("{}*", factor)) +
             text_of(*fraction, r, names[name], factor != 1) +
             (rest == 0 ? "" : formatted(" + {}", rest));
  if (const auto far = further(all, name, fraction->q, scale)) {
    out.is_sure = false;
    out.ask.push_back(*far);
  } else if (fraction->low < fraction->high) {
    // At a size where p * size + middle is a multiple of q, the extent says on which side of the
    // middle r is.
    const I middle = fraction->low + (fraction->high - fraction->low + 1) / 2;
    Sizes at = all.front().sizes;
    for (I tries = 0; tries < fraction->q; ++tries, ++at[name]) {
      const I numerator = fraction->p * static_cast<I>(at[name]) + middle;
      if (numerator % fraction->q == 0) {
        out.ask.push_back(at);
        break;
      }
    }
  }
  return out;
}

/// Sums of products of up to two names, from the steps along each and along both.
std::optional<Formula> several_names(const std::vector<std::string>& names,
                                     const std::vector<Sighting>& all, std::uint64_t scale) {
  std::map<Sizes, I> seen;
  for (const Sighting& one : all) seen[one.sizes] = static_cast<I>(one.extent);
  const auto at = [&](const std::vector<std::size_t>& which) -> std::optional<I> {
    Sizes sizes = base(names.size(), scale);
    for (const std::size_t name : which) sizes[name] += step * scale;
    const auto found = seen.find(sizes);
    return found == seen.end() ? std::nullopt : std::optional(found->second);
  };
  const Sizes origin = base(names.size(), scale);
  const auto wide = static_cast<I>(step * scale);
  std::map<std::vector<std::size_t>, I> factors;
  const auto here = at({});
  if (!here) return std::nullopt;
  for (std::size_t a = 0; a < names.size(); ++a) {
    for (std::size_t b = a + 1; b < names.size(); ++b) {
      const auto both = at({a, b});
      const auto one = at({a});
      const auto other = at({b});
      if (!both || !one || !other) return std::nullopt;
      const I mixed = *both - *one - *other + *here;
      if (mixed % (wide * wide) != 0) return std::nullopt;
      if (mixed != 0) factors[{a, b}] = mixed / (wide * wide);
    }
  }
  for (std::size_t a = 0; a < names.size(); ++a) {
    const auto along = at({a});
    if (!along) return std::nullopt;
    I slope = *along - *here;
    for (const auto& [pair, factor] : factors) {
      if (pair.size() != 2 || std::ranges::find(pair, a) == pair.end()) continue;
      const std::size_t other = pair[0] == a ? pair[1] : pair[0];
      slope -= factor * wide * static_cast<I>(origin[other]);
    }
    if (slope % wide != 0) return std::nullopt;
    if (slope != 0) factors[{a}] = slope / wide;
  }
  const auto value = [&](const Sizes& sizes) {
    I sum = 0;
    for (const auto& [which, factor] : factors) {
      I product = factor;
      for (const std::size_t name : which) product *= static_cast<I>(sizes[name]);
      sum += product;
    }
    return sum;
  };
  const I rest = *here - value(origin);
  for (const Sighting& one : all) {
    if (value(one.sizes) + rest != static_cast<I>(one.extent)) return std::nullopt;
  }
  Formula out;
  for (const auto& [which, factor] : factors) {
    std::string term;
    for (const std::size_t name : which) term += (term.empty() ? "" : "*") + names[name];
    const I size = factor < 0 ? -factor : factor;
    if (size != 1) term = formatted("{}*{}", size, term);
    if (out.text.empty()) {
      out.text = (factor < 0 ? "-" : "") + term;
    } else {
      out.text += (factor < 0 ? " - " : " + ") + term;
    }
  }
  if (rest != 0) out.text += signed_text(rest);
  return out;
}

}  // namespace

std::vector<Sizes> extent_probes(std::size_t names, std::uint64_t scale) {
  const Sizes origin = base(names, scale);
  std::vector<Sizes> out{origin};
  const auto add = [&](std::size_t name, std::uint64_t more) {
    out.push_back(origin);
    out.back()[name] += more;
  };
  for (std::size_t a = 0; a < names; ++a) {
    add(a, step * scale);
    for (std::size_t b = a + 1; b < names; ++b) {
      add(a, step * scale);
      out.back()[b] += step * scale;
    }
    for (const std::uint64_t more : {1U, 31U, 480U}) add(a, more);  // not only multiples of strides
  }
  if (names > 0) {
    out.push_back(origin);
    for (std::size_t a = 0; a < names; ++a) out.back()[a] += 32 * scale * (a + 2);
  }
  return out;
}

std::optional<Formula> fitted(const std::vector<std::string>& names,
                              const std::vector<Sighting>& sightings, std::uint64_t scale) {
  if (sightings.empty()) return std::nullopt;
  std::vector<std::size_t> follows;
  for (std::size_t name = 0; name < names.size(); ++name) {
    const Moved what = moved(sightings, name);
    if (!what.is_seen) return std::nullopt;
    if (what.matters) follows.push_back(name);
  }
  const std::uint64_t first = sightings.front().extent;
  if (std::ranges::all_of(sightings, [&](const Sighting& one) { return one.extent == first; }))
    return Formula{.text = std::to_string(first), .number = first, .ask = {}};
  if (follows.size() == 1) {
    if (auto found = one_name(names, sightings, follows.front(), scale)) return found;
  }
  return several_names(names, sightings, scale);
}

}  // namespace weft::onnx
