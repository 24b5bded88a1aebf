#include "ops/attention/problem.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "ops/aligned.hpp"
#include "ops/iterate.hpp"

namespace weft::ops::attention {
namespace {

/// Slices a tensor that queries share in groups: whole groups, or the one that the queries lie in.
View slice_shared(const View& view, std::uint32_t dim, std::uint64_t first, std::uint64_t count,
                  std::uint64_t group) {
  return view.slice(dim, first / group, ceil_div<std::uint64_t>(count, group));
}

/// Slices a mask along a dimension over which it may repeat; a mask that repeats stays whole.
View slice_mask(const View& mask, std::uint32_t dim, std::uint64_t first, std::uint64_t count,
                std::uint64_t whole) {
  return mask.given() && mask.shape[dim] == whole ? mask.slice(dim, first, count) : mask;
}

}  // namespace

Problem Problem::slice_batches(std::uint64_t first, std::uint64_t count) const {
  Problem out = *this;
  out.q = q.slice(0, first, count);
  out.y = y.slice(0, first, count);
  out.k = slice_shared(k, 0, first, count, batch_group);
  out.v = slice_shared(v, 0, first, count, batch_group);
  if (factors.given()) out.factors = slice_shared(factors, 0, first, count, batch_group);
  if (lse.given()) out.lse = lse.slice(0, first, count);
  out.mask = slice_mask(mask, 0, first, count, batches());
  // A mask that was cut counts from its own start.
  const bool cut = mask.given() && mask.shape[0] == batches();
  out.batch_first = cut ? 0 : batch_first + first;
  return out;
}

Problem Problem::slice_heads(std::uint64_t first, std::uint64_t count) const {
  Problem out = *this;
  out.q = q.slice(1, first, count);
  out.y = y.slice(1, first, count);
  out.k = slice_shared(k, 1, first, count, head_group);
  out.v = slice_shared(v, 1, first, count, head_group);
  if (factors.given()) out.factors = slice_shared(factors, 1, first, count, head_group);
  if (lse.given()) out.lse = lse.slice(1, first, count);
  if (sinks.given()) out.sinks = sinks.slice(0, first, count);
  out.head_first = head_first + first;
  return out;
}

Problem Problem::slice_queries(std::uint64_t first, std::uint64_t count) const {
  Problem out = *this;
  out.q = q.slice(2, first, count);
  out.y = y.slice(2, first, count);
  if (lse.given()) out.lse = lse.slice(2, first, count);
  if (mask.given()) out.mask = mask.slice(2, first, count);
  out.causal_end += static_cast<std::int64_t>(first);
  out.window_start += static_cast<std::int64_t>(first);
  return out;
}

Problem Problem::slice_keys(std::uint64_t first, std::uint64_t count) const {
  Problem out = *this;
  out.k = k.slice(2, first, count);
  out.v = v.slice(2, first, count);
  if (mask.given()) out.mask = mask.slice(3, first, count);
  out.causal_end -= static_cast<std::int64_t>(first);
  out.window_start -= static_cast<std::int64_t>(first);
  return out;
}

Params params_of(const Problem& problem, const Splits& splits) {
  // Far enough from any position to mean "no limit", and sums with positions stay inside i32.
  constexpr std::int64_t far = 1LL << 30;
  Params params;
  params.splits = narrow(splits.count);
  params.splits_first = narrow(splits.first);
  params.splits_total = narrow(splits.total);
  params.split_keys = narrow(splits.keys);
  params.part_row = narrow(part_row(problem.value_size()));
  params.part_stats = narrow(part_stats(problem.value_size()));
  params.batches = narrow(problem.batches());
  params.heads = narrow(problem.heads());
  params.queries = narrow(problem.queries());
  params.keys = narrow(problem.keys());
  params.size = narrow(problem.size());
  params.value_size = narrow(problem.value_size());
  params.head_group = narrow(problem.head_group);
  params.batch_group = narrow(problem.batch_group);
  params.head_first = narrow(problem.head_first);
  params.batch_first = narrow(problem.batch_first);
  if (problem.mask.given()) {
    params.mask_batches = narrow(problem.mask.shape[0]);
    params.mask_heads = narrow(problem.mask.shape[1]);
  }
  if (problem.sinks.given()) params.sinks_h = narrow(problem.sinks.stride[0]);
  params.scale = problem.rules.scale;
  params.cap = problem.rules.soft_cap;
  if (problem.rules.max_bias > 0) {
    params.slopes = narrow(std::bit_floor(problem.heads_total));
    params.bias = -problem.rules.max_bias / static_cast<float>(params.slopes);
  }
  params.causal_end = static_cast<std::int32_t>(std::clamp(problem.causal_end, -far, far));
  params.window_start = static_cast<std::int32_t>(std::clamp(problem.window_start, -far, far));
  return params;
}

void add_strides(ParamBlock& block, std::string_view name, const View& view) {
  const std::string base(name);
  const bool mask = name == "mask";
  block.add(base + "_b", narrow(view.stride[0]));
  block.add(base + "_h", narrow(view.stride[1]));
  block.add(base + (mask ? "_i" : "_t"), narrow(view.stride[2]));
  if (view.rank > 3) block.add(base + (mask ? "_j" : "_d"), narrow(view.stride[3]));
}

void add_operands(Launch& launch, const Problem& problem, const Splits& splits, Widths widths) {
  const auto add = [&](std::string_view name, const View& view, Access access,
                       std::uint32_t width) {
    add_strides(launch.params, name, view);
    launch.operands.push_back(operand_of(name, view, access, width));
  };
  add("q", problem.q, Access::read, widths.query);
  add("k", problem.k, Access::read, widths.key);
  add("v", problem.v, Access::read, widths.key);
  if (problem.mask.given()) add("mask", problem.mask, Access::read, widths.mask);
  if (splits.part.given()) {
    launch.operands.push_back(
        {.name = "part", .view = splits.part, .access = Access::write, .unit = 4});
    return;
  }
  if (problem.sinks.given()) launch.operands.push_back({.name = "sinks", .view = problem.sinks});
  if (problem.lse.given()) add("lse", problem.lse, Access::write, 1);
  const bool atomic = !rows_aligned(problem.y, 4) && problem.y.dtype != DType::f32;
  add("y", problem.y, atomic ? Access::atomic : Access::write, 4);
}

void add_factors(Launch& launch, const View& factors) {
  if (!factors.given()) return;
  add_strides(launch.params, "factors", factors);
  launch.operands.push_back({.name = "factors", .view = factors});
}

bool fit_bindings(std::span<const View> views, const Caps& caps) {
  struct Range {
    Slot slot;
    ByteRange bytes;
  };
  std::vector<Range> ranges;
  for (const View& view : views) {
    if (view.given()) ranges.push_back({view.slot, view.bytes()});
  }
  std::ranges::sort(ranges, [](const Range& a, const Range& b) {
    return std::tie(a.slot, a.bytes.begin) < std::tie(b.slot, b.bytes.begin);
  });
  const std::uint64_t budget = binding_budget(caps);
  Range open{.slot = {}, .bytes = {}};
  for (const Range& range : ranges) {
    const bool joins = range.slot == open.slot && range.bytes.begin < open.bytes.end;
    open = joins ? Range{range.slot, {open.bytes.begin, std::max(open.bytes.end, range.bytes.end)}}
                 : range;
    if (open.bytes.size() > budget) return false;
  }
  return true;
}

}  // namespace weft::ops::attention
