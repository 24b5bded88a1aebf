#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/fields.hpp"
#include "ops/plan.hpp"
#include "ops/view.hpp"

namespace weft::ops {

/// How a row kernel (lib/row_tile.wgsl) maps rows to invocations. A workgroup holds `size / lanes`
/// rows; a row has `lanes` invocations, each of which keeps `chunks` chunks of `chunk` elements in
/// registers, `lanes` chunks apart.
struct RowTile {
  std::uint32_t chunk = 1;    ///< Elements per memory access: 8, 4, 2 or 1.
  std::uint32_t size = 256;   ///< Invocations per workgroup.
  std::uint32_t lanes = 256;  ///< Invocations per row; a power of two.
  std::uint32_t chunks = 1;   ///< Chunks per invocation.
  std::uint32_t subgroup =
      0;  ///< Aligned groups of so many invocations reduce by shuffles; 0: by memory.
  std::uint32_t pairs =
      0;  ///< Aligned groups of so many invocations share words of 16-bit outputs; 0: they do not.
  bool across = false;  ///< Neighbouring invocations take neighbouring rows, not neighbouring
                        ///< elements of a row.
  bool exact = false;   ///< Every chunk of every invocation lies inside the row.
};

/// What a row kernel does with an operand.
enum class RowRole : std::uint8_t {
  input,   ///< Read wherever the row is read.
  late,    ///< Read only where the outputs are written.
  output,  ///< Written.
  number,  ///< Not memory: the kernel gets the element number NAME_row(row) that the view's strides
           ///< give.
};

/// A tensor of a row kernel. All operands have the same shape; the last dimension is the row.
struct RowOperand {
  std::string_view name;  ///< Lower case; the kernel sees the constant NAME_KIND: vec, step, group,
                          ///< each or number.
  View view;
  RowRole role = RowRole::input;
  /// With `span` > 0 the operand holds one element per `span` elements of the row, `parts` of them
  /// with stride `part_stride` (the channels of a group); the row stride of `view` is 0 then.
  std::uint64_t span = 0;
  std::uint64_t parts = 0;
  std::uint64_t part_stride = 0;
};

/// A kernel that reduces every row to a few numbers and then writes the row.
struct RowKernel {
  std::string_view source;
  std::string label;
  wgsl::Constants
      constants;      ///< The op's own; operands that may be absent need a NAME_KIND "none" here.
  ParamBlock params;  ///< The op's own.
  std::string text;   ///< Template lines in front of the source, where rows are read or written.
  std::vector<RowOperand>
      operands;                   ///< The first output leads: rows are ordered as they lie in it.
  std::uint32_t state_words = 1;  ///< f32 words of a reduced row.
  Operand extra{};  ///< Optional: something that is no row, bound as it is where rows are written.
};

/// The launches of a row kernel. Rows that fit the registers of one workgroup take one launch
/// (PHASE "whole"). Longer rows, and rows that pass one binding, are reduced in splits to scratch
/// ("partial"; "merge" where there are many splits), and a last launch writes them ("apply").
Result<Plan> plan_rows(const RowKernel& kernel, const Caps& caps);

/// An error when `input` shares memory with `output` other than as the same view: rows would be
/// read after they were overwritten.
Status check_in_place(const View& input, std::string_view input_name, const View& output,
                      std::string_view output_name);

/// An error when an output repeats elements (stride 0), has no float type or another shape than
/// `shape`.
Status check_float_tensor(const View& view, std::string_view name,
                          std::span<const std::uint64_t> shape, bool output);

}  // namespace weft::ops
