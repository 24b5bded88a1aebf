#pragma once

#include <nanobind/stl/string.h>

#include "convert.hpp"

// What the code that python/generate.py writes is made of.

namespace weft::python {

inline float float_of(nb::handle value, Place place) {
  return static_cast<float>(number_of(value, place));
}
inline std::int64_t long_of(nb::handle value, Place place) {
  return whole_of(value, place, INT64_MIN, INT64_MAX);
}
inline std::uint32_t u32_of(nb::handle value, Place place) {
  return static_cast<std::uint32_t>(whole_of(value, place, 0, UINT32_MAX));
}

}  // namespace weft::python
