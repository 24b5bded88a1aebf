#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "device/caps.hpp"
#include "ops/fused/chain.hpp"
#include "ops/plan.hpp"
#include "ops/view.hpp"

namespace weft::ops::reduce {

/// An input of the chain that a reduction reads: its kept and its reduced dimensions.
struct ChainInput {
  View kept;
  View reduced;
};

/// One reduction in normal form. Kept and reduced dimensions are separate views, each collapsed on
/// its own; an element of the input lies at kept place + reduced place.
struct Problem {
  std::string_view combine = "sum";  // sum, prod, max, min
  bool arg = false;                  // also track the index of the chosen element
  std::string_view pre = "none";     // none, square, nonzero: applied to every element
  std::string_view post = "none";    // none, scale, sqrt: applied to every result
  DType domain = DType::f32;         // the type of accumulators: f32, i32, u32
  std::uint32_t identity = 0;        // bits of the neutral value in the domain type
  float scale = 1;

  // The kept dimensions in the input, the output, the input's indices (later passes of arg) and the
  // output's indices (earlier passes of arg). The last two are copies of the first two without a
  // slot where they are not used.
  std::array<View, 4> kept;
  // The reduced dimensions in the input, and what one step in each adds to the index of an element.
  std::array<View, 2> reduced;
  std::uint64_t first_index = 0;
  // With a chain, x only has the shape (as if it were dense) and these are read.
  const fused::Chain* chain = nullptr;
  std::vector<ChainInput> inputs;

  [[nodiscard]] View& x() { return kept[0]; }
  [[nodiscard]] View& y() { return kept[1]; }
  [[nodiscard]] View& xi() { return kept[2]; }
  [[nodiscard]] View& yi() { return kept[3]; }
  [[nodiscard]] const View& x() const { return kept[0]; }
  [[nodiscard]] const View& y() const { return kept[1]; }
  [[nodiscard]] const View& xi() const { return kept[2]; }
  [[nodiscard]] const View& yi() const { return kept[3]; }

  /// All dimensions of the input (or of its indices) in one view: what a binding has to hold.
  [[nodiscard]] View whole(const View& base) const { return whole(base, reduced[0]); }
  [[nodiscard]] static View whole(const View& base, const View& reduced_dims);
  /// Bytes of the largest binding for what is read.
  [[nodiscard]] std::uint64_t input_bytes() const;
};

/// Where the results of several parts go before they are combined.
struct Partials {
  View values;   // the kept dimensions of part 0
  View indices;  // the same for the indices of arg, else not given
  std::uint64_t count = 0;
  std::uint64_t stride = 0;  // elements from one part to the next
};

/// Reserves scratch for `count` partial results per output; `parts_inner` puts the parts of one
/// output side by side.
Partials make_partials(Plan& plan, const Problem& problem, std::uint64_t count, bool parts_inner);

/// `problem` with its results going to `partials` (part 0) in accumulator form.
Problem into_partials(Problem problem, const Partials& partials);

/// The pass that reduces `partials` to the results of `problem`.
Problem from_partials(Problem problem, const Partials& partials);

/// Plans `problem`, split so that every binding fits.
Status emit(Plan& plan, Problem problem, const Caps& caps);

/// Plans a collapsed problem that fits in bindings: one launch, or parts and then their reduction.
Status emit_fitting(Plan& plan, const Problem& problem, const Caps& caps);

}  // namespace weft::ops::reduce
