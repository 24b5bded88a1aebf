#include "ops/stages.hpp"

#include <algorithm>
#include <utility>

#include "base/math.hpp"

namespace weft::ops {

Stages::Stages(std::initializer_list<View> given) {
  // Inside of another op's stages, a given view may itself be in such a slot.
  for (const View& view : given) {
    if (view.slot.kind() == Slot::Kind::stage) first_ = std::max(first_, view.slot.number() + 1);
  }
}

View Stages::scratch(DType dtype, std::span<const std::uint64_t> shape) {
  const View view = View::dense(dtype, shape, Slot::stage(first_ + scratch_.size()));
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
  const std::size_t before = plan_.scratch.size();
  for (const std::uint64_t bytes : scratch_) plan_.add_scratch(bytes);
  for (Dispatch& dispatch : plan_.dispatches) {
    for (BoundRange& range : dispatch.ranges) {
      // Those below the first belong to the stages of a caller.
      if (range.slot.kind() == Slot::Kind::stage && range.slot.number() >= first_)
        range.slot = Slot::scratch(before + range.slot.number() - first_);
    }
  }
  return std::move(plan_);
}

}  // namespace weft::ops
