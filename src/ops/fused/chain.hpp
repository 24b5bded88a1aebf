#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/map/functions.hpp"
#include "ops/plan.hpp"

namespace weft::ops::fused {

/// One elementwise function of ops/map in a chain. Values are numbered: first the inputs of the
/// chain, then the results of its steps.
struct Step {
  std::string function;
  std::vector<std::uint32_t> inputs;  ///< Numbers of values that exist before this step.
  map::Scalars scalars{};
  bool operator==(const Step&) const = default;
};

/// A chain has at most this many inputs, which is what every device can bind beside an output, and
/// steps.
inline constexpr std::uint32_t max_inputs = 6;
inline constexpr std::uint32_t max_steps = 24;

/// What shaders call the inputs of a chain.
inline constexpr std::array<std::string_view, max_inputs> input_names{"x0", "x1", "x2",
                                                                      "x3", "x4", "x5"};

/// A chain whose result is nowhere in memory: kernels that take one (reduce, softmax, norm) compute
/// it where they would read their input. Everything is computed in f32, without rounding in
/// between.
struct Chain {
  std::vector<View>
      inputs;  ///< f32, f16, bf16 or booleans (1 and 0); broadcast to the shape of the result.
  std::vector<Step> steps;  ///< At least one where there is a chain.
  [[nodiscard]] bool given() const { return !steps.empty(); }
};

/// An error where the steps are no chain over as many inputs, or an input is not of floats.
Status check(const Chain& chain);

/// An error as from check(), or where an input overlaps `y` without being the same view; otherwise
/// the inputs as views of a shape.
Result<std::vector<View>> broadcast_inputs(const Chain& chain, std::span<const std::uint64_t> shape,
                                           const View& y);

/// Template lines that define chain(x0: V, …) -> V for vectors V of four f32. Their parameters are
/// those of add_scalars.
std::string text_of(const Chain& chain);

/// Adds the scalars of all steps to the parameters of a kernel.
void add_scalars(ParamBlock& params, const Chain& chain);

/// "mul+tanh+…", for labels.
std::string label_of(const Chain& chain);

}  // namespace weft::ops::fused
