#include "ops/recurrent_steps/checks.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "ops/iterate.hpp"

namespace weft::ops::recurrent_steps {
namespace {

/// Outputs lie in order, so that a step of both directions is a view; words of 16-bit ones belong
/// to one invocation.
bool in_order(const View& view) {
  const std::uint64_t even = size_of(view.dtype) == 2 ? 2 : 1;
  bool fine = view.stride[view.rank - 1] == 1 && view.shape[view.rank - 1] % even == 0 &&
              view.offset / size_of(view.dtype) % even == 0;
  for (std::uint32_t i = 0; i + 1 < view.rank; ++i) {
    fine =
        fine && (view.shape[i] <= 1 || (view.stride[i] % even == 0 &&
                                        view.stride[i] >= view.shape[i + 1] * view.stride[i + 1]));
  }
  return fine;
}

}  // namespace

Status check_all(std::string_view what, std::span<const Wanted> all) {
  for (const Wanted& each : all) {
    const View& view = each.view;
    if (!view.given() && each.need != Need::always && each.need != Need::output) continue;
    if (view.given()) {
      if (const Status ok = validate(view, each.name); !ok) return ok;
    }
    if (!view.given() || each.need == Need::none || view.dtype != each.dtype ||
        !std::ranges::equal(view.extents(), each.shape) ||
        (each.shape.size() > 1 && each.dtype != DType::i32 && !is_float(view.dtype))) {
      return fail(ErrorCode::invalid_argument, "{} cannot use {} as `{}`; {}.", what,
                  view.given() ? describe(view) : "nothing", each.name,
                  each.need == Need::none
                      ? std::string("there is none")
                      : formatted("it must be {}{}", name(each.dtype), describe(each.shape)));
    }
    if (each.need == Need::output && !view.empty() && !in_order(view)) {
      return fail(ErrorCode::unsupported,
                  "{} need an output `{}` whose elements lie in order, and an even number of units "
                  "in 16 bits; it is {}.",
                  what, each.name, describe(view));
    }
  }
  return {};
}

Layer layer_of(const View& states, bool reverse) {
  if (states.rank != 4) return {.directions = 0, .reverse = reverse};
  return {states.shape[0], states.shape[1], states.shape[2], states.shape[3], reverse};
}

bool one_by_one(const Layer& layer, std::span<const View* const> tensors, const Caps& caps) {
  const auto fits = [&](const View* view) {
    return !view->given() || view->bytes().size() <= binding_budget(caps);
  };
  return layer.directions > 1 && !std::ranges::all_of(tensors, fits);
}

void cut(View& view, std::uint32_t dim, std::uint64_t first, std::uint64_t count) {
  if (view.given()) view = view.slice(dim, first, count);
}

}  // namespace weft::ops::recurrent_steps
