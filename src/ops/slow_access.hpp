#pragma once

#include "device/caps.hpp"

namespace weft::ops {

/// Whether every place of a kernel's text that reads or writes memory takes about a millisecond to
/// compile and tens of instructions to run. Chromium's software adapter, whose subgroups have four
/// invocations, compiles each of them three times over: for lanes that access neighbours, the same,
/// or anything. Texts with few such places are best there, and lanes that access neighbouring
/// words.
inline bool slow_access(const Caps& caps) {
  return caps.traits.slow_barriers && caps.subgroup_max == 4;
}

}  // namespace weft::ops
