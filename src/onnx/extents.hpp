#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::onnx {

/// An extent at some sizes of the named extents that it may follow from, one number for each name.
struct Sighting {
  std::vector<std::uint64_t> sizes;
  std::uint64_t extent = 0;
};

/// An extent as a text ("batch", "2*sequence + 1", "4*floor((width - 1)/2)", "batch*sequence"), or
/// a number.
struct Formula {
  std::string text;
  std::optional<std::uint64_t> number;
  /// Sizes at which sightings would tell more: with another rest, it fits as well. Empty once it is
  /// the only one.
  std::vector<std::vector<std::uint64_t>> ask;
  bool is_sure = true;  ///< No other fraction fits.
};

/// The formula that fits all sightings, among those that models have: numbers, multiples of the
/// floor of a fraction of one name, and sums of products of names with whole factors. Nothing where
/// none fits, or where sightings do not tell what each name does. They must be at the sizes of
/// extent_probes() with the same scale, and at others where these are not enough.
std::optional<Formula> fitted(const std::vector<std::string>& names,
                              const std::vector<Sighting>& sightings, std::uint64_t scale = 1);

/// The sizes to begin with. A larger scale has larger ones, for models that are not for small
/// inputs.
std::vector<std::vector<std::uint64_t>> extent_probes(std::size_t names, std::uint64_t scale = 1);

}  // namespace weft::onnx
