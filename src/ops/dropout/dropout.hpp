#pragma once

#include <cstdint>

#include "ops/plan.hpp"

namespace weft::ops::dropout {

/// y = x / (1 - rate) where an element is kept, 0 where it is dropped. Which ones are kept follows
/// from the seed, the stream and the element's place in the shape alone, so the backward pass is
/// the same op on the gradient.
struct Args {
  View x;             ///< f32, f16 or bf16, any strides.
  View y;             ///< The shape of x, any float type; may be the same view as x.
  float rate = 0.5F;  ///< The probability to be dropped, at least 0 and below 1.
  View seed;  ///< Two u32 in device memory, so that a recorded step can be replayed with others.
  std::uint32_t stream = 0;  ///< Tells layers with the same seed apart.
};

/// The bits that decide about element `index`: it is dropped when they are below rate * 2^32.
constexpr std::uint32_t bits(std::uint32_t index, std::uint32_t seed_low, std::uint32_t seed_high,
                             std::uint32_t stream) {
  // Each round is a bijection that spreads every input bit over the word; the key enters between
  // rounds.
  const auto mix = [](std::uint32_t v) {
    v ^= v >> 16;
    v *= 0x7feb352dU;
    v ^= v >> 15;
    v *= 0x846ca68bU;
    v ^= v >> 16;
    return v;
  };
  return mix(mix(mix(index + seed_low) ^ seed_high) + stream * 0x9e3779b9U);
}

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::dropout
