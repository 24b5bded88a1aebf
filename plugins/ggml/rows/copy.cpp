#include <algorithm>
#include <array>
#include <vector>

#include "ops/border/border.hpp"
#include "ops/quant/quant.hpp"
#include "ops/shape/shape.hpp"
#include "ops/stages.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;

/// Copies between tensors of one shape, in or out of blocks where types ask for it.
Result<Plan> copy_same_shape(const View& src, const View& dst, const Caps& caps) {
  if (is_quantized(src.dtype) && is_quantized(dst.dtype)) {
    return fail(ErrorCode::unsupported, "Copies from {} to {} are not supported.", describe(src),
                describe(dst));
  }
  if (is_quantized(src.dtype))
    return ops::quant::plan(ops::quant::DecodeArgs{.table = src, .y = dst}, caps);
  if (is_quantized(dst.dtype))
    return ops::quant::plan(ops::quant::EncodeArgs{.x = src, .table = dst}, caps);
  return map_to("copy", {src}, dst, caps);
}

/// Copies in the order of the elements; shapes may differ as long as the counts are the same.
Result<Plan> copy_elements(const View& src, const View& dst, const Caps& caps) {
  if (std::ranges::equal(src.extents(), dst.extents())) return copy_same_shape(src, dst, caps);
  if (src.is_dense()) {
    return copy_same_shape(reshape_dense(src, dst.extents()), dst, caps);
  }
  if (dst.is_dense()) {
    return copy_same_shape(src, reshape_dense(dst, src.extents()), caps);
  }
  ops::Stages stages{src, dst};
  const DType type = is_quantized(dst.dtype) ? src.dtype : dst.dtype;
  const View packed = stages.scratch(type, src.extents());
  stages.add(copy_same_shape(src, packed, caps));
  stages.add(copy_same_shape(reshape_dense(packed, dst.extents()), dst, caps));
  return std::move(stages).finish();
}

Result<Plan> copy(const Node& node, const Caps& caps) {
  if (node.source(0).dtype == node.dst.dtype) {
    return copy_elements(as_stored(node.source(0)), as_stored(node.dst), caps);
  }
  return copy_elements(node.source(0), node.dst, caps);
}

Result<Plan> concat(const Node& node, const Caps& caps) {
  const auto dim = static_cast<std::uint32_t>(3 - node.param(0));
  return ops::shape::plan(
      ops::shape::Concat{.inputs = {as_stored(node.source(0)), as_stored(node.source(1))},
                         .dim = dim,
                         .y = as_stored(node.dst)},
      caps);
}

Result<Plan> repeat(const Node& node, const Caps& caps) {
  return ops::shape::plan(
      ops::shape::Repeat{.x = as_stored(node.source(0)), .y = as_stored(node.dst)}, caps);
}

/// A run of elements along one dimension that are copied together.
struct Run {
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::uint64_t count = 0;
};

/// Element i of `extent` comes from (i - low) modulo `source`: the runs in which that does not
/// wrap.
std::vector<Run> wrapped_runs(std::uint64_t extent, std::uint64_t low, std::uint64_t source) {
  std::vector<Run> runs;
  std::uint64_t from = (source - low % source) % source;
  for (std::uint64_t to = 0; to < extent;) {
    const std::uint64_t count = std::min(source - from, extent - to);
    runs.push_back({to, from, count});
    to += count;
    from = 0;
  }
  return runs;
}

/// Copies `src`, repeated without end, into `dst` so that its first element lies at `low`.
Result<Plan> copy_wrapped(const View& src, const View& dst, const std::array<std::uint64_t, 4>& low,
                          const Caps& caps) {
  Plan plan;
  if (src.empty() || dst.empty()) return plan;
  std::array<std::vector<Run>, 4> runs;
  for (std::uint32_t i = 0; i < 4; ++i) {
    runs[i] = wrapped_runs(dst.shape[i], low[i], src.shape[i]);
  }
  for (const Run& a : runs[0]) {
    for (const Run& b : runs[1]) {
      for (const Run& c : runs[2]) {
        for (const Run& d : runs[3]) {
          View from = src;
          View to = dst;
          const std::array picked{a, b, c, d};
          for (std::uint32_t i = 0; i < 4; ++i) {
            from = from.slice(i, picked[i].from, picked[i].count);
            to = to.slice(i, picked[i].to, picked[i].count);
          }
          auto part = map_to("copy", {from}, to, caps);
          if (!part) return part;
          plan.append(std::move(*part));
        }
      }
    }
  }
  return plan;
}

Result<Plan> pad(const Node& node, const Caps& caps) {
  std::array<std::uint64_t, 4> low{};
  std::array<std::uint64_t, 4> high{};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int32_t before = node.param(2 * (3 - i));
    const std::int32_t after = node.param((2 * (3 - i)) + 1);
    if (before < 0 || after < 0) {
      return fail(ErrorCode::unsupported, "Padding by {} and {} elements is not defined.", before,
                  after);
    }
    low[i] = static_cast<std::uint64_t>(before);
    high[i] = static_cast<std::uint64_t>(after);
  }
  if (node.param(8) != 0) return copy_wrapped(node.source(0), node.dst, low, caps);
  if (caps.traits.items > 1 &&
      node.dst.shape[3] % 4 == 0) {  // one launch instead of one for each side
    return plan(
        ops::border::Args{.x = node.source(0), .y = node.dst, .low = {low.begin(), low.end()}},
        caps);
  }
  return ops::shape::plan(ops::shape::Pad{.x = node.source(0),
                                          .low = {low.begin(), low.end()},
                                          .high = {high.begin(), high.end()},
                                          .y = node.dst},
                          caps);
}

/// dst is src0 with a part of it (strides and offset in bytes, from the parameters) combined with
/// src1.
Result<Plan> combine_part(std::string_view function, const Node& node, const Caps& caps) {
  const View base = node.source(0);
  const View update = node.source(1);
  View part = update;
  part.dtype = node.dst.dtype;
  part.slot = node.dst.slot;
  const std::uint64_t element = size_of(part.dtype);
  part.offset = node.dst.offset + static_cast<std::uint32_t>(node.param(3));
  part.stride[3] = 1;
  for (std::uint32_t i = 0; i < 3; ++i) {
    part.stride[2 - i] = static_cast<std::uint32_t>(node.param(i)) / element;
  }
  const ops::ByteRange touched = part.bytes();
  const ops::ByteRange whole = node.dst.bytes();
  if (touched.end > whole.end) {
    return fail(ErrorCode::invalid_argument,
                "The part that is set ends at byte {}, but the tensor ends at byte {}.",
                touched.end, whole.end);
  }
  Plan plan;
  const bool in_place = base.slot == node.dst.slot && base.offset == node.dst.offset;
  if (!in_place) {
    auto copied = copy_elements(base, node.dst, caps);
    if (!copied) return copied;
    plan.append(std::move(*copied));
  }
  auto combined = function == "copy" ? map_to("copy", {update}, part, caps)
                                     : map_to(function, {part, update}, part, caps);
  if (!combined) return combined;
  plan.append(std::move(*combined));
  return plan;
}

Result<Plan> set(const Node& node, const Caps& caps) { return combine_part("copy", node, caps); }
Result<Plan> accumulate(const Node& node, const Caps& caps) {
  return combine_part("add", node, caps);
}

constexpr std::array rows{
    Row{GGML_OP_CPY, copy},      Row{GGML_OP_DUP, copy},       Row{GGML_OP_CONT, copy},
    Row{GGML_OP_CONCAT, concat}, Row{GGML_OP_REPEAT, repeat},  Row{GGML_OP_PAD, pad},
    Row{GGML_OP_SET, set},       Row{GGML_OP_ACC, accumulate},
};

}  // namespace

std::span<const Row> copy_rows() { return rows; }

}  // namespace weft::plugin
