#pragma once

#include <cstdint>
#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::random {

/// What random bits become.
enum class Function : std::uint8_t {
  bits,              ///< u32 as they come.
  uniform,           ///< From `low` up to `high`, which is left out.
  normal,            ///< With `mean` and standard deviation `std`.
  truncated_normal,  ///< mean + std · z, with z between `low` and `high`.
  gumbel,            ///< -log(-log(u)), plus log(weights) where there are weights.
  randint,           ///< Whole numbers from `low` up to `high`, which is left out.
};

constexpr std::string_view name(Function function) {
  switch (function) {
    case Function::bits: return "bits";
    case Function::uniform: return "uniform";
    case Function::normal: return "normal";
    case Function::truncated_normal: return "truncated_normal";
    case Function::gumbel: return "gumbel";
    case Function::randint: return "randint";
  }
  return "unknown";
}

struct Distribution {
  Function function = Function::bits;
  double low = 0;
  double high = 1;
  double mean = 0;
  double std = 1;
  bool operator==(const Distribution&) const = default;
};

/// Random numbers. Element i of the result, counted row by row, follows from the key, `first + i`
/// and the distribution alone: the same bits on every device, wherever the tensor lies and however
/// the work is split.
struct Args {
  View key;  ///< Two neighbouring u32 in device memory, so that a recorded step can be replayed
             ///< with others.
  View y;    ///< uniform, normal, truncated_normal: f32, f16 or bf16; gumbel: f32; bits: u32;
             ///< randint: i32 or u32.
  Distribution distribution;
  std::uint64_t first = 0;  ///< The number of the first element; even.
  std::uint32_t domain =
      0;           ///< Tells numbers apart that are drawn from one key for other purposes.
  View weights{};  ///< gumbel: f32 of the shape of y; what is not above 0 counts as 0.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

/// Why a distribution cannot be drawn from in this type, in the words of its function.
Status check(const Distribution& distribution, DType dtype);

}  // namespace weft::ops::random
