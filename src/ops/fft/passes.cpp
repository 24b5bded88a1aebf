#include "ops/fft/passes.hpp"

#include <algorithm>
#include <bit>

#include "base/math.hpp"

namespace weft::ops::fft {
namespace {

/// Bytes of workgroup memory for one transform: see PITCH in pass.wgsl.
std::uint64_t bytes_of(std::uint64_t length) { return (length + length / 8 + 1) * 8; }

/// Long passes pay where workgroup memory is faster than any other.
/// An invocation takes 16 elements at most.
std::uint64_t longest_pass(const Caps& caps) {
  return caps.traits.near_memory
             ? std::min<std::uint64_t>(4096, 16ULL * std::bit_floor(caps.workgroup_invocations))
             : 64;
}

/// The radices of stages: powers of two in as few as can be, of about the same size, and odd ones
/// of up to 16 elements.
std::vector<std::uint32_t> stages_of(std::uint64_t length) {
  std::vector<std::uint32_t> out;
  auto bits = static_cast<std::uint32_t>(std::countr_zero(length));
  for (std::uint32_t left = ceil_div(bits, 4U); left > 0; --left) {
    const std::uint32_t mine = ceil_div(bits, left);
    out.push_back(1U << mine);
    bits -= mine;
  }
  length >>= std::countr_zero(length);
  for (const std::uint32_t radix : {13U, 11U, 15U, 9U, 7U, 5U, 3U}) {
    for (; length % radix == 0; length /= radix) out.push_back(radix);
  }
  return out;
}

}  // namespace

std::vector<Pass> passes_of(std::uint64_t n, const Caps& caps) {
  std::vector<std::uint32_t> primes;
  for (const std::uint32_t prime : {13U, 11U, 7U, 5U, 3U, 2U}) {
    for (; n > 1 && n % prime == 0; n /= prime) primes.push_back(prime);
  }
  if (n != 1 || primes.empty()) return {};
  for (std::size_t count = 1;; ++count) {
    // Passes of several have at least four transforms side by side, for whole sectors of memory.
    const std::uint64_t side_by_side = count == 1 ? 1 : 4;
    std::vector<Pass> out(count);
    for (const std::uint32_t prime : primes) {
      std::ranges::min_element(out, {}, &Pass::length)->length *= prime;
    }
    const std::uint64_t longest = std::ranges::max_element(out, {}, &Pass::length)->length;
    const bool fits = longest <= longest_pass(caps) &&
                      bytes_of(longest) * side_by_side <= caps.workgroup_bytes &&
                      longest / 16 <= caps.workgroup_invocations;
    if (!fits && count < primes.size()) continue;
    for (Pass& pass : out) pass.radices = stages_of(pass.length);
    return out;
  }
}

std::uint64_t convolution_of(std::uint64_t n, const Caps& caps) {
  const std::uint64_t least = 2 * n - 1;
  std::uint64_t best = std::bit_ceil(least);
  std::size_t fewest = passes_of(best, caps).size();
  for (const std::uint64_t odd : {3U, 5U, 9U, 15U}) {
    const std::uint64_t length = odd * std::bit_ceil(ceil_div(least, odd));
    const std::size_t count = passes_of(length, caps).size();
    if (count < fewest || (count == fewest && length < best)) {
      best = length;
      fewest = count;
    }
  }
  return best;
}

std::uint32_t together(const Pass& pass, std::uint64_t total, bool whole, const Caps& caps) {
  // Side by side, 16 complex numbers are 128 bytes. Rows of 1024 elements took 23 us one by one, 28
  // us in twos (4096 of them on an H200), and stages of 16 were a little faster than those of 8.
  const std::uint64_t wanted = whole ? std::max<std::uint64_t>(1024 / pass.length, 1) : 16;
  const std::uint64_t room =
      std::max<std::uint64_t>(caps.workgroup_bytes / bytes_of(pass.length), 1);
  const std::uint64_t invocations =
      std::max<std::uint64_t>(16ULL * caps.workgroup_invocations / pass.length, 1);
  const std::uint64_t most = std::min({wanted, room, invocations, std::bit_ceil(total)});
  return static_cast<std::uint32_t>(std::bit_floor(most));
}

std::uint32_t size_of_group(const Pass& pass, std::uint32_t together, const Caps& caps) {
  const auto all = static_cast<std::uint32_t>(pass.length) * together;
  const std::uint32_t least = std::max(round_up(ceil_div(all, 16U), 32U), 32U);
  // Half as many more, where fewer invocations wait for others in stages that do not divide evenly.
  // Elements that all invocations have room for in all stages:
  const auto room = [&](std::uint32_t size) {
    std::uint32_t sum = 0;
    for (const std::uint32_t radix : pass.radices) sum += round_up(all / radix, size) * radix;
    return sum;
  };
  const std::uint32_t more = round_up(least + least / 2, 32U);
  return more <= caps.workgroup_invocations && room(more) < room(least) ? more : least;
}

}  // namespace weft::ops::fft
