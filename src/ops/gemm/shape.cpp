#include "ops/gemm/shape.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "ops/iterate.hpp"

namespace weft::ops::gemm {
namespace {

/// Most rows or columns that the smallest tiles can cover with one grid dimension.
constexpr std::uint64_t max_extent = 65535ULL * 32;

Status check_views(const Args& args) {
  const std::pair<const View*, std::string_view> all[] = {{&args.a, "a"},
                                                          {&args.b, "b"},
                                                          {&args.c, "c"},
                                                          {&args.bias, "bias"},
                                                          {&args.a_scale, "a_scale"},
                                                          {&args.b_scale, "b_scale"}};
  for (const auto& [view, label] : all) {
    const bool optional = view != &args.a && view != &args.b && view != &args.c;
    if (optional && !view->given()) continue;
    if (const Status ok = validate(*view, label); !ok) return ok;
    if (!is_float(view->dtype)) {
      return fail(ErrorCode::unsupported,
                  "Matrix products take f32, f16 and bf16; tensor `{}` is {}.", label,
                  describe(*view));
    }
    if (!optional && view->rank < 2) {
      return fail(ErrorCode::invalid_argument,
                  "Tensor `{}` of a matrix product needs at least 2 dimensions; it is {}.", label,
                  describe(*view));
    }
  }
  return check_distinct(args.c, "c");
}

/// The bytes that one step of the outermost dimension covers, and that step; views of equal steps
/// can interleave.
struct Rows {
  std::uint64_t step = 0;
  std::uint64_t extent = 0;
};

Rows rows_of(const View& view) {
  std::uint32_t outer = 0;
  std::uint64_t widest = 0;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    if (view.shape[i] > 1 && view.stride[i] >= widest) {
      widest = view.stride[i];
      outer = i;
    }
  }
  View inner = view;
  if (view.rank > 0) inner.shape[outer] = 1;
  return {widest * size_of(view.dtype), inner.bytes().size()};
}

/// Whether two views surely share no byte: apart, or side by side in rows of the same step.
bool disjoint(const View& a, const View& b) {
  if (a.slot != b.slot || a.empty() || b.empty()) return true;
  const ByteRange x = a.bytes();
  const ByteRange y = b.bytes();
  if (x.end <= y.begin || y.end <= x.begin) return true;
  const Rows p = rows_of(a);
  const Rows q = rows_of(b);
  if (p.step != q.step || p.step == 0) return false;
  const std::uint64_t base = std::min(x.begin, y.begin);
  const std::uint64_t p_at = (x.begin - base) % p.step;
  const std::uint64_t q_at = (y.begin - base) % p.step;
  if (p_at + p.extent > p.step || q_at + q.extent > p.step) return false;
  return p_at + p.extent <= q_at || q_at + q.extent <= p_at;
}

Status check_overlap(const View& input, const View& c, std::string_view label) {
  if (!input.given() || disjoint(input, c)) return {};
  return fail(ErrorCode::invalid_argument,
              "Tensor `{}` ({}) of a matrix product overlaps the output ({}) in the same buffer.",
              label, describe(input), describe(c));
}

void remove_dim(View& view, std::uint32_t dim) {
  for (std::uint32_t i = dim; i + 1 < view.rank; ++i) {
    view.shape[i] = view.shape[i + 1];
    view.stride[i] = view.stride[i + 1];
  }
  --view.rank;
}

/// The views of a problem while their batch dimensions are being merged; what is not given is left
/// alone.
std::vector<View*> views_of(Problem& problem) {
  std::vector<View*> views{&problem.a, &problem.b, &problem.c};
  for (const auto& [name, view] : spread_operands) {
    if ((problem.*view).given()) views.push_back(&(problem.*view));
  }
  return views;
}

void merge_batches(Problem& problem) {
  const std::vector<View*> views = views_of(problem);
  for (std::uint32_t i = problem.c.rank - 2; i-- > 0;) {
    if (problem.c.shape[i] != 1) continue;
    for (View* view : views) remove_dim(*view, i);
  }
  for (std::uint32_t i = problem.c.rank - 2; i-- > 1;) {
    const bool even = std::ranges::all_of(views, [&](const View* view) {
      return view->stride[i - 1] == view->stride[i] * view->shape[i];
    });
    if (!even) continue;
    for (View* view : views) {
      view->shape[i - 1] *= view->shape[i];
      view->stride[i - 1] = view->stride[i];
      remove_dim(*view, i);
    }
  }
}

/// Batches that share b and whose rows follow each other are rows of one product.
void fold_batches_into_rows(Problem& problem) {
  while (problem.c.rank > 2) {
    const std::uint32_t batch = problem.c.rank - 3;
    const std::uint32_t rows = batch + 1;
    const auto follows = [&](const View& view) {
      return view.shape[rows] == 1 || view.stride[batch] == view.stride[rows] * view.shape[rows];
    };
    if (problem.b.stride[batch] != 0 || !follows(problem.a) || !follows(problem.c)) return;
    for (const auto& [name, view] : spread_operands) {
      if ((problem.*view).given() && !follows(problem.*view)) return;
    }
    for (View* view : views_of(problem)) {
      if (view != &problem.b) {
        if (view->shape[rows] == 1) view->stride[rows] = view->stride[batch];
        view->shape[rows] *= view->shape[batch];
      }
      remove_dim(*view, batch);
    }
  }
}

/// Puts extent-1 dimensions in front until the rank is 5.
View padded(View view) {
  while (view.rank < batch_rank + 2) view = view.unsqueeze(0);
  return view;
}

void add_problems(std::vector<Problem>& out, const Problem& problem) {
  if (problem.c.rank > batch_rank + 2) {
    for (std::uint64_t i = 0; i < problem.c.shape[0]; ++i) {
      Problem one = problem;
      for (View* view : views_of(one)) {
        *view = view->slice(0, i, 1);
        remove_dim(*view, 0);
      }
      add_problems(out, one);
    }
    return;
  }
  Problem mine = problem;
  for (View* view : views_of(mine)) *view = padded(*view);
  out.push_back(mine);
}

/// The dimension over which a view spreads most, and how far in elements.
std::pair<std::uint32_t, std::uint64_t> widest_dim(const View& view) {
  std::pair<std::uint32_t, std::uint64_t> best{0, 0};
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    const std::uint64_t spread = (view.shape[i] - 1) * view.stride[i];
    if (spread > best.second) best = {i, spread};
  }
  return best;
}

}  // namespace

Result<std::vector<Problem>> normalize(const Args& args) {
  if (const Status ok = check_views(args); !ok) return std::unexpected(ok.error());
  Problem problem{.a = args.a,
                  .b = args.b,
                  .c = args.c,
                  .bias = args.bias,
                  .a_scale = args.a_scale,
                  .b_scale = args.b_scale,
                  .alpha = args.alpha,
                  .beta = args.beta,
                  .scalars = args.scalars};
  if (args.activation != "none") {
    const map::Function* function = map::find_function(args.activation);
    if (function == nullptr || function->family != map::Family::unary) {
      return fail(ErrorCode::not_found,
                  "There is no activation named `{}`; it must be `none` or a unary elementwise "
                  "function.",
                  args.activation);
    }
    problem.activation = function->name;
  }
  const std::uint32_t rank = args.c.rank;
  const std::uint64_t m = args.c.shape[rank - 2];
  const std::uint64_t n = args.c.shape[rank - 1];
  const std::uint64_t k = args.a.shape[args.a.rank - 1];
  if (args.a.shape[args.a.rank - 2] != m || args.b.shape[args.b.rank - 1] != n ||
      args.b.shape[args.b.rank - 2] != k) {
    return fail(ErrorCode::invalid_argument,
                "A matrix product takes a [M,K], b [K,N] and c [M,N]; given were a {}, b {} and "
                "c {}.",
                describe(args.a.extents()), describe(args.b.extents()), describe(args.c.extents()));
  }
  std::vector<std::uint64_t> target(args.c.extents().begin(), args.c.extents().end());
  target[rank - 1] = k;
  auto a = args.a.broadcast_to(target);
  if (!a) return wrap(a.error(), "matching the batches of `a` with those of the output");
  target[rank - 2] = k;
  target[rank - 1] = n;
  auto b = args.b.broadcast_to(target);
  if (!b) return wrap(b.error(), "matching the batches of `b` with those of the output");
  problem.a = *a;
  problem.b = *b;
  for (const auto& [view, label] : {std::pair{&args.a, "a"}, {&args.b, "b"}}) {
    if (const Status ok = check_overlap(*view, args.c, label); !ok) {
      return std::unexpected(ok.error());
    }
  }
  for (const auto& [label, member] : spread_operands) {
    View& view = problem.*member;
    if (!view.given()) continue;
    if (const Status ok = check_overlap(view, args.c, label); !ok) {
      return std::unexpected(ok.error());
    }
    auto whole = view.broadcast_to(args.c.extents());
    if (!whole) return wrap(whole.error(), formatted("broadcasting the {} to the output", label));
    view = *whole;
  }
  std::vector<Problem> out;
  if (args.c.empty()) return out;
  merge_batches(problem);
  fold_batches_into_rows(problem);
  add_problems(out, problem);
  return out;
}

Result<Cut> next_cut(const Problem& problem, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const auto cut_c = [&](std::uint32_t dim) { return Cut{Cut::What::dimension, dim}; };
  if (problem.batches() > caps.max_workgroups) {
    const auto widest =
        std::ranges::max_element(problem.c.shape.begin(), problem.c.shape.begin() + batch_rank);
    return cut_c(static_cast<std::uint32_t>(widest - problem.c.shape.begin()));
  }
  if (problem.m() > max_extent) return cut_c(3);
  if (problem.n() > max_extent) return cut_c(4);
  for (const View* view : {&problem.c, &problem.bias, &problem.a_scale, &problem.b_scale}) {
    if (!view->given() || view->bytes().size() <= budget) continue;
    return cut_c(widest_dim(*view).first);
  }
  const auto too_large = [&](const View& view) { return view.bytes().size() > budget; };
  for (const bool is_a : {true, false}) {
    const View& view = is_a ? problem.a : problem.b;
    if (problem.k() == 0 || !too_large(view)) continue;
    const auto [dim, spread] = widest_dim(view);
    if (spread == 0) break;
    if (dim < batch_rank) return cut_c(dim);
    if (dim != (is_a ? 4U : 3U)) return cut_c(dim);
    // Along K an f32 image of c may be needed: c has to be small enough for that first.
    if (problem.c.count() * sizeof(float) > budget) return cut_c(widest_dim(problem.c).first);
    return Cut{Cut::What::k};
  }
  return Cut{};
}

Problem sliced(const Problem& problem, std::uint32_t dim, std::uint64_t first,
               std::uint64_t count) {
  Problem out = problem;
  out.c = problem.c.slice(dim, first, count);
  for (const auto& [name, view] : spread_operands) {
    if ((problem.*view).given()) out.*view = (problem.*view).slice(dim, first, count);
  }
  if (dim != 4) out.a = problem.a.slice(dim, first, count);
  if (dim != 3) out.b = problem.b.slice(dim, first, count);
  return out;
}

Problem plain(const Problem& problem) {
  Problem out = problem;
  for (const auto& [name, view] : spread_operands) out.*view = {};
  out.alpha = 1;
  out.beta = 0;
  out.activation = "copy";
  return out;
}

}  // namespace weft::ops::gemm
