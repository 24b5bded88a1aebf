#include "ops/norm/groups.hpp"

namespace weft::ops::norm {

std::optional<View> as_groups(const View& view, std::uint64_t groups) {
  View out{.dtype = view.dtype, .slot = view.slot, .rank = 3, .offset = view.offset};
  const std::uint64_t channels = view.shape[1] / groups;
  out.shape = {view.shape[0], groups, 1};
  out.stride = {view.stride[0], view.stride[1] * channels, 1};
  for (std::uint32_t i = view.rank; i-- > 1;) {
    const std::uint64_t extent = i == 1 ? channels : view.shape[i];
    if (extent == 1) continue;
    if (out.shape[2] == 1) out.stride[2] = view.stride[i];
    if (view.stride[i] != out.stride[2] * out.shape[2]) return std::nullopt;
    out.shape[2] *= extent;
  }
  return out;
}

Result<RowOperand> affine_operand(std::string_view operand_name, const View& view, const Args& args,
                                  const View& rows) {
  RowOperand operand{.name = operand_name, .role = RowRole::late};
  if (args.kind != Kind::group) {
    const auto whole = view.broadcast_to(args.x.extents());
    if (!whole) return std::unexpected(whole.error());
    operand.view = *whole;
    return operand;
  }
  const std::uint64_t channels = args.x.shape[1] / args.groups;
  operand.view = rows;
  operand.view.dtype = view.dtype;
  operand.view.slot = view.slot;
  operand.view.offset = view.offset;
  operand.view.stride = {0, channels * view.stride[0], 0};
  operand.span = rows.shape[2] / channels;
  operand.parts = channels;
  operand.part_stride = view.stride[0];
  return operand;
}

}  // namespace weft::ops::norm
