#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/math.hpp"
#include "ops/fields.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/plan.hpp"

namespace weft::ops::gemm {

/// Batch dimensions that a kernel walks by itself; further ones become further launches.
inline constexpr std::uint32_t batch_rank = 3;

/// A product in the form that kernels take: every view has rank 5, three batch dimensions in front
/// of a [M,K], b [K,N], c [M,N], and what spreads over c (not given, or with its shape).
struct Problem {
  View a;
  View b;
  View c;
  View bias;
  View a_scale;
  View b_scale;
  float alpha = 1;
  float beta = 0;
  std::string_view activation = "copy";
  map::Scalars scalars{};
  std::uint32_t splits = 1;   ///< Parts of K that are summed into slices of c of their own.
  std::uint64_t k_split = 0;  ///< Length of such a part.

  [[nodiscard]] std::uint64_t m() const { return c.shape[3]; }
  [[nodiscard]] std::uint64_t n() const { return c.shape[4]; }
  [[nodiscard]] std::uint64_t k() const { return a.shape[4]; }
  [[nodiscard]] std::uint64_t batches() const { return c.shape[0] * c.shape[1] * c.shape[2]; }
  /// The same product as cᵀ = bᵀ·aᵀ.
  [[nodiscard]] Problem transposed() const;
};

/// The operands that broadcast to c, each of which may be missing.
inline constexpr std::array<std::pair<std::string_view, View Problem::*>, 3> spread_operands{
    {{"bias", &Problem::bias}, {"a_scale", &Problem::a_scale}, {"b_scale", &Problem::b_scale}}};

/// How a kernel reads an operand: `along_k` says which dimension neighbouring elements of a load
/// follow, `vec` whether loads of `elements` of them are contiguous and aligned.
struct Layout {
  bool along_k = true;
  bool vec = false;
};
Layout layout_of(const View& view, std::uint32_t k_dim, std::uint32_t elements);

/// The launch choices that all kernels share. Everything here changes the shader text.
struct Traits {
  std::string_view function = "copy";  // the activation
  bool beta = false;
  std::string_view bias = "none";     // none, row (one value per row), any
  std::string_view a_scale = "none";  // the same
  std::string_view b_scale = "none";
  bool batched = false;
  bool split = false;
  bool k_edge = false;
  std::string_view a_dir = "k";
  std::string_view b_dir = "k";
  bool a_vec = false;
  bool b_vec = false;
  bool c_vec = false;
  bool n_tail = false;  // N is not a multiple of 4
};

/// Traits of a problem for a kernel that loads `elements` of a and b at once and steps through K by
/// `step`.
Traits traits_of(const Problem& problem, std::uint32_t elements, std::uint64_t step);

/// Everything but constants, source and grid of a launch; `elements` as in traits_of.
Launch launch_of(const Problem& problem, const Traits& traits, std::uint32_t elements);

/// Constants of the traits and of a kernel's own Variant together.
template <class Variant>
wgsl::Constants merged(const Traits& traits, const Variant& variant) {
  wgsl::Constants out = constants_of(traits);
  out.merge(constants_of(variant));
  return out;
}

/// What a caller may force, and the device.
struct Context {
  const Caps& caps;
  const Args& args;
};

/// How a kernel will make a product.
struct Choice {
  bool turned = false;  ///< It makes Problem::transposed().
  std::variant<std::monostate, RegisterTile, MatrixTile, VectorTile> tile{};
  std::uint32_t parts = 1;  ///< Parts of K that it would like to sum on their own.
  std::uint64_t step = 1;   ///< These are multiples of this.
};

/// Whether c is laid out by columns: kernels make it turned then, so that neighbours are stored
/// together.
[[nodiscard]] inline bool in_columns(const View& c) { return c.stride[4] != 1 && c.stride[3] == 1; }

/// One kernel of the op's list. `worth` says whether it is a good choice for a problem, `choose`
/// how it makes it, or why it cannot, and `launch` makes the dispatch of what was chosen, for the
/// problem as it was turned.
struct Kernel {
  std::string_view name;
  bool (*worth)(const Problem&, const Context&);
  Result<Choice> (*choose)(const Problem&, const Context&);
  Result<Dispatch> (*launch)(const Problem&, const Choice&, const Context&);
};

extern const Kernel matrix_kernel;
extern const Kernel lone_kernel;
extern const Kernel tile_kernel;
extern const Kernel matvec_kernel;
extern const Kernel thin_kernel;
extern const Kernel naive_kernel;

/// How a problem is multiplied in f16, scaled row by row.
struct Halves {
  bool bounded = false;       ///< Short sums are made in f16.
  bool matrix_units = false;  ///< By these, even where they are not worth it.
};
/// That, where it can be done and is worth it, as for bf16 operands; and the launches.
std::optional<Halves> choose_halves(const Problem& problem, const Context& context);
Result<Plan> halved(const Problem& problem, const Halves& halves, const Context& context);

/// c = act(alpha·a_scale·b_scale·Σ parts + beta·c + bias) over the f32 slices `partial` [parts,
/// batch…, M, N].
Result<Dispatch> launch_reduce(const Problem& problem, const View& partial, const Caps& caps);

}  // namespace weft::ops::gemm
