#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/attention/attention.hpp"

namespace weft::ops::attention {

/// Attention over a piece of the tensors that fits bindings. Views have 4 dimensions (batch, head,
/// position, element).
struct Problem {
  View q;
  View k;
  View v;
  View y;
  View mask{};
  View sinks{};
  View lse{};
  View factors{};  ///< As in Args.
  View list{};  ///< The blocks of keys that a block of queries looks at, for kernels that ask for
                ///< it (mask_list.wgsl).
  Rules rules{};
  std::uint64_t heads_total = 1;  ///< Heads of the whole tensor, which the slopes depend on.
  std::uint64_t head_first = 0;   ///< The piece's first head and batch in the whole tensor.
  std::uint64_t batch_first = 0;
  std::uint64_t head_group = 1;  ///< Heads of q that share a head of k.
  std::uint64_t batch_group = 1;
  std::int64_t causal_end =
      0;  ///< Query i sees keys [i + window_start, i + causal_end) of the piece.
  std::int64_t window_start = 0;

  [[nodiscard]] std::uint64_t batches() const { return q.shape[0]; }
  [[nodiscard]] std::uint64_t heads() const { return q.shape[1]; }
  [[nodiscard]] std::uint64_t queries() const { return q.shape[2]; }
  [[nodiscard]] std::uint64_t keys() const { return k.shape[2]; }
  [[nodiscard]] std::uint64_t size() const { return q.shape[3]; }
  [[nodiscard]] std::uint64_t value_size() const { return v.shape[3]; }
  [[nodiscard]] std::uint64_t rows() const { return batches() * heads() * queries(); }

  /// The piece with `count` heads, batches, queries or keys from `first` on.
  [[nodiscard]] Problem slice_batches(std::uint64_t first, std::uint64_t count) const;
  [[nodiscard]] Problem slice_heads(std::uint64_t first, std::uint64_t count) const;
  [[nodiscard]] Problem slice_queries(std::uint64_t first, std::uint64_t count) const;
  [[nodiscard]] Problem slice_keys(std::uint64_t first, std::uint64_t count) const;
};

/// A division of the keys: unfinished sums of each split go to `part`, f32 [rows][total][part_row].
struct Splits {
  View part{};              ///< Not given: there is one split, and the kernel finishes its rows.
  std::uint64_t count = 1;  ///< Splits of this launch,
  std::uint64_t first = 0;  ///< the number of its first one,
  std::uint64_t total = 1;  ///< and of all launches.
  std::uint64_t keys = 0;   ///< Keys of a split, a multiple of split_step.
};

/// Splits begin at multiples of this many keys.
inline constexpr std::uint64_t split_step = 64;

/// Floats of a row's unfinished sums: the values, then largest logit and sum at `part_stats`.
constexpr std::uint64_t part_stats(std::uint64_t value_size) {
  return round_up<std::uint64_t>(value_size, 4);
}
constexpr std::uint64_t part_row(std::uint64_t value_size) { return part_stats(value_size) + 4; }

/// What every kernel may need to know. `tensor` members hold strides: batch, head, position,
/// element.
struct Params {
  std::uint32_t jobs = 0;
  std::uint32_t blocks = 1;  // of queries
  std::uint32_t splits = 1;
  std::uint32_t splits_first = 0;
  std::uint32_t splits_total = 1;
  std::uint32_t split_keys = 0;
  std::uint32_t part_row = 0;
  std::uint32_t part_stats = 0;
  std::uint32_t batches = 1;
  std::uint32_t heads = 1;
  std::uint32_t queries = 0;
  std::uint32_t keys = 0;
  std::uint32_t size = 0;
  std::uint32_t value_size = 0;
  std::uint32_t head_group = 1;
  std::uint32_t batch_group = 1;
  std::uint32_t head_first = 0;
  std::uint32_t batch_first = 0;
  std::uint32_t mask_batches = 1;
  std::uint32_t mask_heads = 1;
  std::uint32_t chunks = 1;        // of 64 columns of the result,
  std::uint32_t value_chunks = 1;  // and of the gradient of v
  std::uint32_t once = 1;          // always 1: a factor that hides the bounds of loops
  std::uint32_t slopes = 1;
  std::uint32_t sinks_h = 0;
  float scale = 1;
  float cap = 0;
  float bias = 0;
  std::int32_t causal_end = 0;
  std::int32_t window_start = 0;
};

/// The parameters that follow from a problem and its splits; a kernel adds blocks and jobs.
Params params_of(const Problem& problem, const Splits& splits);

/// Adds the strides of a tensor as NAME_b, NAME_h, NAME_t and NAME_d (masks: NAME_i and NAME_j).
void add_strides(ParamBlock& block, std::string_view name, const View& view);

/// How many neighbouring elements a forward kernel reads of its inputs at a time, where their
/// places allow it.
struct Widths {
  std::uint32_t query = 4;
  std::uint32_t key = 4;  ///< Of values too.
  std::uint32_t mask = 4;
};

/// Adds the tensors of a forward launch and their strides: inputs, then `part` for unfinished sums,
/// or else the outputs.
void add_operands(Launch& launch, const Problem& problem, const Splits& splits, Widths widths);

/// Adds the factors of operands that were scaled to f16, if they were.
void add_factors(Launch& launch, const View& factors);

/// Whether all these views fit bindings, those that overlap in one buffer together.
bool fit_bindings(std::span<const View> views, const Caps& caps);

/// A block of the mask.
struct MaskBlock {
  std::uint32_t queries = 64;
  std::uint32_t keys = 64;
};

/// A kernel for the forward pass.
struct Kernel {
  std::string_view name;
  Status (*can)(const Problem& problem, const Caps& caps);
  bool (*worth)(const Problem& problem, const Caps& caps);
  /// Splits of the keys that keep the device busy.
  std::uint64_t (*splits)(const Problem& problem, const Caps& caps);
  Result<Dispatch> (*launch)(const Problem& problem, const Splits& splits, const Caps& caps);
  /// Blocks that the kernel asks a list of, queries and keys; null where it asks for none.
  MaskBlock (*mask_block)(const Problem& problem, const Caps& caps) = nullptr;
};

extern const Kernel lone_kernel;
extern const Kernel stream_kernel;
extern const Kernel decode_kernel;
extern const Kernel tile_kernel;
extern const Kernel slim_kernel;
extern const Kernel matrix_kernel;

/// What each block of a problem's mask does: the extents of these flags, the launch that makes
/// them, and the one that makes problem.list of them.
std::array<std::uint64_t, 4> flag_extents(const Problem& problem, const MaskBlock& block);
Result<Dispatch> mask_flags(const Problem& problem, const View& flags, const MaskBlock& block,
                            const Caps& caps);
Result<Dispatch> mask_list(const Problem& problem, const View& flags, const Caps& caps);

/// Adds up the splits of a problem: y and lse from `part`.
/// `packed` where it is given: y as bytes too.
Result<Dispatch> combine(const Problem& problem, const Splits& splits, const View& packed,
                         const Caps& caps);

/// Columns that tiles of the kernels without special hardware go through at a time, and the room
/// for them where loops are kept rolled: one kernel for all sizes then.
inline constexpr std::uint64_t chunk_columns = 64;
inline constexpr std::uint32_t rolled_chunks = 16;

/// Workgroups that keep a device busy.
constexpr std::uint64_t busy_workgroups(const Caps& caps) { return caps.traits.fill(4); }

}  // namespace weft::ops::attention
