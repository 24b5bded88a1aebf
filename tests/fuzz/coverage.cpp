#include "coverage.hpp"

#include <array>
#include <bit>

namespace weft::fuzz {
namespace {

// Places by a hash; two that share one are seen as one. Plain numbers without a lock: parsers run
// in one thread.
constexpr std::size_t places = 1 << 16;
std::array<std::uint8_t, places> counts{};  // of this input, up to 255
std::array<std::uint8_t, places> seen{};    // a bit for each power of two

void count(std::uint64_t place) {
  std::uint8_t& times = counts[(place * 0x9e3779b97f4a7c15ULL) >> 48U];
  if (times < 255) ++times;
}

}  // namespace

void begin_input() { counts.fill(0); }

void note(std::uint64_t feature) { count(~feature); }

bool reached_new() {
  bool found = false;
  for (std::size_t i = 0; i < places; ++i) {
    if (counts[i] == 0) continue;
    const auto bit = static_cast<std::uint8_t>(1U << (std::bit_width(counts[i]) - 1U));
    if ((seen[i] & bit) != 0) continue;
    seen[i] |= bit;
    found = true;
  }
  return found;
}

std::uint64_t reached() {
  std::uint64_t total = 0;
  for (const std::uint8_t bits : seen) total += bits != 0 ? 1 : 0;
  return total;
}

void forget_reached() { seen.fill(0); }

}  // namespace weft::fuzz

// The compiler's names for what it calls at every branch, and for comparisons, which only libFuzzer
// makes something of.
extern "C" void __sanitizer_cov_trace_pc();   // NOLINT(bugprone-reserved-identifier)
extern "C" void __sanitizer_cov_trace_pc() {  // NOLINT(bugprone-reserved-identifier)
  weft::fuzz::count(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}

// NOLINTBEGIN(bugprone-reserved-identifier)
#define WEFT_COMPARISON(kind, type)                             \
  extern "C" void __sanitizer_cov_trace_##kind(type a, type b); \
  extern "C" void __sanitizer_cov_trace_##kind(type /*a*/, type /*b*/) {}
WEFT_COMPARISON(cmp1, std::uint8_t)
WEFT_COMPARISON(cmp2, std::uint16_t)
WEFT_COMPARISON(cmp4, std::uint32_t)
WEFT_COMPARISON(cmp8, std::uint64_t)
WEFT_COMPARISON(const_cmp1, std::uint8_t)
WEFT_COMPARISON(const_cmp2, std::uint16_t)
WEFT_COMPARISON(const_cmp4, std::uint32_t)
WEFT_COMPARISON(const_cmp8, std::uint64_t)
WEFT_COMPARISON(cmpf, float)
WEFT_COMPARISON(cmpd, double)
#undef WEFT_COMPARISON
extern "C" void __sanitizer_cov_trace_switch(std::uint64_t value, std::uint64_t* cases);
extern "C" void __sanitizer_cov_trace_switch(std::uint64_t /*value*/, std::uint64_t* /*cases*/) {}
// NOLINTEND(bugprone-reserved-identifier)
