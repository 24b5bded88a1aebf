#pragma once

#include <cstdint>

namespace weft::fuzz {

/// What an input reached. The parsers are compiled so that every branch calls
/// __sanitizer_cov_trace_pc(); targets can note more.
void begin_input();
/// Notes something that the input reached besides branches.
void note(std::uint64_t feature);
/// Whether the input since begin_input() reached anything that no input before did, or did so more
/// often by a power of two.
bool reached_new();
/// How many different things were reached so far.
std::uint64_t reached();
/// Starts anew.
void forget_reached();

}  // namespace weft::fuzz
