#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ops/plan.hpp"

namespace weft::ops::rope {

/// Which elements turn together, and by which position.
enum class Mode : std::uint8_t {
  interleaved,  ///< Neighbours (2i, 2i+1), as in Llama's own code.
  halves,       ///< (i, i + dims/2), as in GPT-NeoX.
  sections,     ///< Halves; the pairs are divided into sections, each with a position of its own
                ///< (M-RoPE).
  sections_in_turn,  ///< Halves; pairs take the first three positions in turn.
  vision,  ///< All elements, (i, i + size/2); sections have positions and frequencies of their own.
};

/// "interleaved", "halves", …: for messages and test names.
std::string_view name(Mode mode);

/// y = x with pairs of elements turned by angles that grow with the position: position *
/// base^(-2i/dims) for pair i of a head. Elements that do not turn are copied.
struct Args {
  View x;  ///< [batch, tokens, heads, size], f32, f16 or bf16, any strides.
  View y;  ///< The shape of x, a float type; may be the same view as x. With rows: [1, N, heads,
           ///< size], not on x.
  View rows{};  ///< Optional i32 or i64 [tokens], for a batch of 1: token t becomes row rows[t] of
                ///< y, or goes nowhere where y has no such row.
  View positions{};  ///< i32 [tokens], or [4, tokens] in modes with sections; not given:
                     ///< first_position + token.
  View factors{};  ///< Optional f32 [dims/2] (vision: [size/2]): frequencies are divided by these.
  Mode mode = Mode::interleaved;
  std::uint32_t dims =
      0;  ///< Elements of a head that turn; an even number, 0 copies. Vision: size/2.
  std::uint32_t offset = 0;                 ///< The first element that turns.
  std::array<std::uint32_t, 4> sections{};  ///< Pairs of each section; the modes with sections.
  std::int32_t first_position = 0;          ///< Where tokens start if no positions are given.
  float base = 10000;
  float scale = 1;  ///< Of all frequencies (position interpolation).
  // YaRN: slow pairs are interpolated, fast ones are not, and magnitudes are corrected.
  float extrapolation = 0;  ///< How much of it; 0: none.
  float magnitude = 1;      ///< Multiplies the result.
  float beta_fast = 32;
  float beta_slow = 1;
  std::uint32_t trained_context = 0;  ///< Positions that the model was trained for.
  bool backward = false;              ///< The gradient: turns the other way.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

/// The most tensors of one launch.
inline constexpr std::size_t max_streams = 3;

/// One launch for tensors of the same tokens, which turn by the same angles or (dims of 0) not at
/// all; it fails where they do not fit one launch. No y may overlap an x of another one.
Result<Plan> plan_together(std::span<const Args> streams, const Caps& caps);

}  // namespace weft::ops::rope
