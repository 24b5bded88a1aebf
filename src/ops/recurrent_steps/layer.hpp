#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/plan.hpp"
#include "ops/recurrent_steps/recurrent_steps.hpp"
#include "ops/stages.hpp"

namespace weft::ops::recurrent_steps {

/// The extents of a layer, and in which order its steps come.
struct Layer {
  std::uint64_t directions = 1;
  std::uint64_t tokens = 0;
  std::uint64_t batch = 0;
  std::uint64_t hidden = 0;
  bool reverse = false;

  /// The token that a direction reads in a step.
  [[nodiscard]] std::uint64_t token(std::uint64_t direction, std::uint64_t step) const {
    return (direction == 1 || reverse) ? tokens - 1 - step : step;
  }
  /// What a step has of [directions, tokens, batch, n]: [directions, batch, n].
  [[nodiscard]] View at(const View& view, std::uint64_t step) const;
};

/// How matrix units share the product of a step: see matrices.wgsl.
struct StepTile {
  bool matrices = false;
  std::uint32_t tile_rows = 0;
  std::uint32_t tile_units = 0;
  std::uint32_t bk = 0;
  std::uint32_t subgroup_count = 0;
  std::uint32_t subgroup = 0;
  std::uint32_t mm = 0;
  std::uint32_t mn = 0;
  std::uint32_t mk = 0;
};

/// What decides the text of a kernel.
struct Variant {
  std::string_view cell;
  std::uint32_t gates = 1;    // rows of weights for a unit
  std::uint32_t outputs = 1;  // back: derivatives of a unit
  std::uint32_t units = 1;
  std::uint32_t rows = 1;
  std::uint32_t lanes = 1;
  std::uint32_t vec = 1;
  bool own = false;
  bool given = false;
  bool pairs = false;
  bool last = false;
  bool has_state = false;
  bool has_memory = false;
  bool has_bias = false;
  bool has_lengths = false;
  bool has_before = false;
  bool has_carry = false;
  bool carries_state = false;
  bool has_dstates = false;
  bool has_dsaved = false;
  bool peaks = false;
};

/// A launch of a step while it is put together.
class Builder {
 public:
  Builder(const Layer& layer, Variant variant, const Caps& caps)
      : layer_(layer), variant_(variant), caps_(caps) {}

  Variant& variant() { return variant_; }
  void add(std::string name, std::uint64_t value);
  /// A tensor [directions, batch, n]: its strides are NAME_direction and NAME_row.
  void tensor(std::string_view name, const View& view, Access access = Access::read);
  void operand(Operand operand) { launch_.operands.push_back(operand); }
  /// The lengths, and which tokens a step reads.
  void lengths(const View& view, std::uint64_t step);
  /// The product of rows `a` [directions, batch, depth] with `w` [directions, rows, depth]; nothing
  /// of them is bound yet.
  void product(const View& a, const View& w);
  /// The same on matrix units, if the device has some that pay for it. Rows of f32 need `peaks`.
  bool matrix_product(const View& a, const View& w);
  /// Where steps leave the largest number of each sequence, [tokens, directions, batch] of u32, and
  /// the step whose numbers the product takes.
  void peaks(const View& all, std::uint64_t next);
  /// Divides the work and ends the launch.
  Result<Dispatch> finish(std::string_view source);

 private:
  const Layer& layer_;
  Variant variant_;
  StepTile tile_{};
  const Caps& caps_;
  Launch launch_;
  std::uint64_t depth_ = 0;
};

/// How matrix units make the products of steps with rows of so many elements, where that pays.
std::optional<StepTile> step_tile(const Layer& layer, std::uint32_t gates, std::uint64_t depth,
                                  const Caps& caps);

/// Whether launches of steps compute products themselves.
bool computes_products(Product wanted, const Layer& layer, const View& recurrent, const Caps& caps);

/// The same elements where those of a row lie side by side and the steps of a direction follow each
/// other: a copy if need be.
View settled(Stages& stages, const View& view, const Caps& caps);

}  // namespace weft::ops::recurrent_steps
