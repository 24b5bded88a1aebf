#pragma once

#include <span>
#include <string_view>

#include "device/caps.hpp"

namespace weft {

/// A known kind of device: how its adapters are recognised, what they offer, and what they are good
/// at.
struct Profile {
  std::string_view name;  ///< As in WEFT_CAPS=profile=NAME.
  /// What the adapter reports, in lower case; an empty one is not looked at. `kind` and `vendor`
  /// are whole words, `architecture` is how the reported one begins, `device` a part of the
  /// reported name.
  std::string_view kind;
  std::string_view vendor;
  std::string_view architecture;
  std::string_view device;
  std::string_view why;  ///< Where the traits come from.
  /// What such devices offer at most, with their traits. Of an adapter that is really there the
  /// traits are used and the rest is what it reports.
  Caps caps;
  bool measured = false;  ///< On the very device; else the row is an estimate for a family.
};

/// All known devices: the first row that fits an adapter is its own.
std::span<const Profile> profiles();

/// What is known about an adapter besides its traits, to find those.
struct AdapterFacts {
  std::string_view kind;  ///< "discrete", "integrated", "software" or "unknown".
  std::string_view vendor;
  std::string_view architecture;
  std::string_view device;
};

/// The row for an adapter, or null.
const Profile* find_profile(const AdapterFacts& facts);

/// Whether what an adapter is good at is better found out by a look at it (gpu/probe.hpp): it is in
/// no row, or in one that was not measured on it.
bool needs_probe(const AdapterFacts& facts);

/// The traits of an adapter: those of its row, or an estimate from its kind and what it offers
/// (`caps`, whose own traits are not looked at).
Traits traits_for(const AdapterFacts& facts, const Caps& caps);

/// The size of subgroups with which an adapter's matrices of this shape work, which WebGPU does not
/// tell: that of its row where the adapter has several sizes. 0 where kernels cannot ask for one.
std::uint32_t matrix_subgroup(const AdapterFacts& facts, const Caps& caps,
                              const MatrixConfig& config);

/// What is left of `caps` on a device like that of a profile: what both have, and the profile's
/// traits.
Result<Caps> restrict_to_profile(Caps caps, std::string_view name);

}  // namespace weft
