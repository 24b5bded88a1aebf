#include "ops/stages.hpp"

#include <algorithm>
#include <utility>

#include "base/math.hpp"

namespace weft::ops {
namespace {

/// Callers number their buffers below this; slots from here to first_scratch_slot stand for scratch of stages.
constexpr int first_stage_slot = 1 << 15;

}  // namespace

Stages::Stages(std::initializer_list<View> given) : lowest_(first_scratch_slot) {
  // Inside of another op's stages, a given view may itself be in such a slot.
  for (const View& view : given) {
    if (view.slot >= first_stage_slot) lowest_ = std::min(lowest_, view.slot);
  }
}

View Stages::scratch(DType dtype, std::span<const std::uint64_t> shape) {
  const int slot = lowest_ - 1 - static_cast<int>(scratch_.size());
  View view = View::dense(dtype, shape, slot);
  scratch_.push_back(round_up<std::uint64_t>(std::max<std::uint64_t>(view.bytes().end, 16), 16));
  return view;
}

void Stages::add(Result<Plan> plan) {
  if (error_) return;
  if (plan) {
    plan_.append(std::move(*plan));
  } else {
    error_ = plan.error();
  }
}

void Stages::add(Result<Dispatch> dispatch) {
  if (error_) return;
  if (dispatch) {
    plan_.dispatches.push_back(std::move(*dispatch));
  } else {
    error_ = dispatch.error();
  }
}

Result<Plan> Stages::finish() && {
  if (error_) return std::unexpected(*error_);
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    const int mine = lowest_ - 1 - static_cast<int>(i);
    const int slot = plan_.add_scratch(scratch_[i]);
    for (Dispatch& dispatch : plan_.dispatches) {
      for (BoundRange& range : dispatch.ranges) {
        if (range.slot == mine) range.slot = slot;
      }
    }
  }
  return std::move(plan_);
}

}  // namespace weft::ops
