#include "ops/cross_entropy/cross_entropy.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ops/cross_entropy/launches.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/row_kernel.hpp"
#include "ops/stages.hpp"

namespace weft::ops::cross_entropy {
namespace {

/// A dense f32 tensor with one element per row, or with one element where rows are reduced.
Status check_rows(const View& view, std::string_view name, const Problem& problem, bool reduced) {
  if (const Status ok = check_float_tensor(view, name, view.extents(), false); !ok) return ok;
  const bool fits =
      reduced ? view.count() == 1 : std::ranges::equal(view.extents(), row_shape(problem));
  if (fits && view.dtype == DType::f32 && view.is_dense()) return {};
  return fail(
      ErrorCode::invalid_argument,
      "Tensor `{}` of cross entropy is {}; with the logits {} it should be dense f32 with {}.",
      name, describe(view), describe(problem.logits),
      reduced ? "one element" : "one element per row");
}

Status check(const Problem& problem, const Caps& caps) {
  const View& x = problem.logits;
  if (const Status ok = check_float_tensor(x, "logits", x.extents(), false); !ok) return ok;
  if (x.rank == 0 || x.shape[x.rank - 1] == 0 || x.shape[x.rank - 1] >= (1ULL << 30)) {
    return fail(ErrorCode::invalid_argument,
                "Cross entropy needs between 1 and 2^30 classes along the last dimension; the "
                "logits are {}.",
                describe(x));
  }
  if (problem.classes.given() == problem.probabilities.given()) {
    return fail(ErrorCode::invalid_argument,
                "Cross entropy needs either class numbers or probabilities; {} given.",
                problem.classes.given() ? "both were" : "neither was");
  }
  if (problem.probabilities.given()) {
    if (const Status ok =
            check_float_tensor(problem.probabilities, "probabilities", x.extents(), false);
        !ok)
      return ok;
  } else {
    const View& classes = problem.classes;
    if (const Status ok = validate(classes, "classes"); !ok) return ok;
    if ((classes.dtype != DType::i32 && classes.dtype != DType::i64) ||
        !std::ranges::equal(classes.extents(), row_shape(problem))) {
      return fail(ErrorCode::invalid_argument,
                  "The class numbers are {}; they should be i32 or i64 of the shape {}.",
                  describe(classes), describe(row_shape(problem)));
    }
  }
  if (rows_of(problem) * state_words * 4 > binding_budget(caps)) {
    return fail(ErrorCode::unsupported,
                "The states of {} rows pass the {} bytes that this device binds.", rows_of(problem),
                caps.max_binding);
  }
  return {};
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  constexpr std::string_view doing = "planning cross entropy";
  const Problem& problem = args.problem;
  if (const Status ok = check(problem, caps); !ok) return wrap(ok.error(), doing);
  if (const Status ok =
          check_rows(args.loss, "loss", problem, problem.reduction != Reduction::none);
      !ok)
    return wrap(ok.error(), doing);
  if (args.log_sum_exp.given()) {
    if (const Status ok = check_rows(args.log_sum_exp, "log_sum_exp", problem, false); !ok)
      return wrap(ok.error(), doing);
  }
  if (rows_of(problem) == 0) {
    if (args.loss.empty()) return Plan{};
    return map::plan({.function = "fill", .y = args.loss}, caps);
  }
  Stages stages(
      {problem.logits, problem.classes, problem.probabilities, args.loss, args.log_sum_exp});
  Launches launches(problem, caps, stages);
  const View state = stages.scratch(DType::f32, {rows_of(problem), state_words});
  launches.states(state);
  launches.finish(state, args.loss, args.log_sum_exp, {});
  auto planned = std::move(stages).finish();
  if (!planned) return wrap(planned.error(), doing);
  return planned;
}

Result<Plan> plan(const BackArgs& args, const Caps& caps) {
  constexpr std::string_view doing = "planning the backward of cross entropy";
  const Problem& problem = args.problem;
  if (const Status ok = check(problem, caps); !ok) return wrap(ok.error(), doing);
  if (const Status ok =
          check_rows(args.dloss, "dloss", problem, problem.reduction != Reduction::none);
      !ok)
    return wrap(ok.error(), doing);
  if (const Status ok = check_float_tensor(args.dlogits, "dlogits", problem.logits.extents(), true);
      !ok)
    return wrap(ok.error(), doing);
  if (const Status ok = check_in_place(problem.logits, "logits", args.dlogits, "dlogits"); !ok)
    return wrap(ok.error(), doing);
  if (args.log_sum_exp.given()) {
    if (const Status ok = check_rows(args.log_sum_exp, "log_sum_exp", problem, false); !ok)
      return wrap(ok.error(), doing);
  }
  if (rows_of(problem) == 0) return Plan{};
  Stages stages({problem.logits, problem.classes, problem.probabilities, args.dloss,
                 args.log_sum_exp, args.dlogits});
  Launches launches(problem, caps, stages);
  const auto dense = [&](const View& view) {
    return !view.given() || view.is_dense() ? view : launches.copied(view, view.dtype);
  };
  View lse = args.log_sum_exp;
  View share;
  if (problem.reduction == Reduction::mean && problem.classes.given())
    share = stages.scratch(DType::f32, {1});
  if (!lse.given()) {
    const View state = stages.scratch(DType::f32, {rows_of(problem), state_words});
    lse = stages.scratch(DType::f32, row_shape(problem));
    launches.states(state);
    launches.finish(state, {}, lse, share);
  } else if (share.given()) {
    launches.count_rows(share);
  }
  const View dx = args.dlogits.is_dense()
                      ? args.dlogits
                      : stages.scratch(args.dlogits.dtype, args.dlogits.extents());
  launches.back(dense(problem.logits), dense(problem.probabilities), lse, args.dloss, share, dx);
  if (dx.slot != args.dlogits.slot) launches.copy(dx, args.dlogits);
  auto planned = std::move(stages).finish();
  if (!planned) return wrap(planned.error(), doing);
  return planned;
}

}  // namespace weft::ops::cross_entropy
