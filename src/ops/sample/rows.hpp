#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

#include "ops/random/tables.hpp"
#include "ops/sample/sample.hpp"

// What the launches of this folder have in common.

namespace weft::ops::sample {

/// What a launch of split.wgsl does; `whole` and `none` are no launches of it.
enum class Phase : std::uint8_t {
  whole,
  none,
  clear,
  copy,
  penalty,
  max,
  count,
  mass,
  share,
  draw,
  finish,
};
constexpr std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::whole: return "whole";
    case Phase::none: return "none";
    case Phase::clear: return "clear";
    case Phase::copy: return "copy";
    case Phase::penalty: return "penalty";
    case Phase::max: return "max";
    case Phase::count: return "count";
    case Phase::mass: return "mass";
    case Phase::share: return "share";
    case Phase::draw: return "draw";
    case Phase::finish: return "finish";
  }
  return "?";
}

struct Variant {
  bool greedy = false;
  bool penalty = false;
  bool top_k = false;
  bool top_p = false;
  bool min_p = false;
  std::uint32_t workgroup = 256;
  std::uint32_t batch = 1;  // elements in flight
  // Of split.wgsl: what a launch does, and what the step before it counted.
  Phase phase = Phase::whole;
  Phase prior = Phase::none;
  // Those of random/draw.wgsl.
  std::string_view function = "gumbel";
  std::uint32_t rows = random::quantile_rows;
  bool pairs = false;
  bool table = true;
  bool weights = false;
};

struct Params {
  std::uint32_t rows = 0;
  std::uint32_t vocabulary = 0;
  std::uint32_t previous = 0;
  std::uint32_t logits_row = 0;
  std::uint32_t logits_step = 0;
  std::uint32_t previous_row = 0;
  std::uint32_t previous_step = 0;
  std::uint32_t y_step = 0;
  std::uint32_t top_k = 0;
  std::uint32_t lowest = std::bit_cast<std::uint32_t>(-std::numeric_limits<float>::infinity());
  float penalty = 1;
  float temperature = 1;
  float top_p = 1;
  float min_p = 0;  // its logarithm
  std::uint32_t zero = 0;
  std::uint32_t first_low = 0;
  std::uint32_t first_high = 0;
  std::uint32_t domain = 0;
  // Of split.wgsl.
  std::uint32_t parts = 1;  // of a row
  std::uint32_t each = 0;   // elements of a part
  std::uint32_t state = 0;  // words of a row
  std::uint32_t step = 0;
  std::uint32_t shift = 0;        // of the digit that is counted
  std::uint32_t prior_shift = 0;  // of the one before
};

/// Rows of the logits that are launched together.
struct Rows {
  View logits;
  View previous;  // not given: none
  View y;
  std::uint64_t first = 0;  // among all rows
  std::uint64_t parts = 1;  // of each, with a workgroup for each
};

/// What a launch for some rows needs to know.
Variant variant_of(const Args& args);
Params params_of(const Args& args, const Rows& rows);

/// Scratch for the rows as f32, where previous tokens change them.
View changed_rows(Plan& plan, const Rows& rows);

/// As many parts of each row as keep the device busy; 1 where a workgroup alone is as good.
std::uint64_t parts_of(const Args& args, std::uint64_t rows, const Caps& caps);

/// The launches of some rows with several workgroups for each.
Status launch_split(Plan& plan, const Args& args, const Rows& rows, const Caps& caps);

/// The operands by which elements are drawn: the key and the table of Gumbel numbers.
void add_draw(Launch& launch, const Args& args);

}  // namespace weft::ops::sample
