#pragma once

#include <cstdint>
#include <string_view>

namespace weft::ops {

/// What a launch of a row kernel does; see plan_rows().
enum class RowPhase : std::uint8_t { whole, partial, merge, apply };
constexpr std::string_view name(RowPhase phase) {
  switch (phase) {
    case RowPhase::whole: return "whole";
    case RowPhase::partial: return "partial";
    case RowPhase::merge: return "merge";
    case RowPhase::apply: return "apply";
  }
  return "?";
}

/// How the chunks of an operand's rows lie in memory: NAME_KIND of lib/row_tile.wgsl.
enum class RowAccess : std::uint8_t { number, group, each, vec, step };
constexpr std::string_view name(RowAccess access) {
  switch (access) {
    case RowAccess::number: return "number";
    case RowAccess::group: return "group";
    case RowAccess::each: return "each";
    case RowAccess::vec: return "vec";
    case RowAccess::step: return "step";
  }
  return "?";
}

}  // namespace weft::ops
