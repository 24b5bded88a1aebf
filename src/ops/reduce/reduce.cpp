#include "ops/reduce/reduce.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/reduce/problem.hpp"

namespace weft::ops::reduce {
namespace {

bool is_arg(Function function) {
  return function == Function::argmax || function == Function::argmin;
}

bool is_reduced(const Args& args, std::uint32_t dim) { return ((args.axes >> dim) & 1U) != 0; }

/// The output with every dimension of the input, reduced ones with extent 1.
Result<View> keep_dims(const Args& args) {
  const bool kept = args.y.rank == args.x.rank;
  View y = args.y;
  for (std::uint32_t i = 0; i < args.x.rank; ++i) {
    if (!kept && is_reduced(args, i)) {
      if (y.rank == args.x.rank) break;  // too many dimensions: reported below
      y = y.unsqueeze(std::min(i, y.rank));
    }
  }
  bool fits = y.rank == args.x.rank;
  for (std::uint32_t i = 0; fits && i < y.rank; ++i) {
    fits = y.shape[i] == (is_reduced(args, i) ? 1 : args.x.shape[i]);
  }
  if (fits) return y;
  return fail(ErrorCode::invalid_argument,
              "The output {} of `{}` does not have the shape of {} with dimensions of mask {:#x} "
              "left out or of extent 1.",
              describe(args.y), name(args.function), describe(args.x), args.axes);
}

Status check(const Args& args) {
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  if ((args.axes >> args.x.rank) != 0) {
    return fail(ErrorCode::invalid_argument,
                "The mask {:#x} names dimensions that {} does not have.", args.axes,
                describe(args.x));
  }
  if (args.x.dtype == DType::i64) {
    return fail(ErrorCode::unsupported, "`{}` of i64 elements is not supported; x is {}.",
                name(args.function), describe(args.x));
  }
  return check_distinct(args.y, "y");
}

DType domain_of(const Args& args) {
  const Function f = args.function;
  if (is_float(args.x.dtype) || f == Function::mean || f == Function::norm ||
      f == Function::sum_squares) {
    return DType::f32;
  }
  return is_unsigned(args.x.dtype) ? DType::u32 : DType::i32;
}

/// The neutral value of a function, which is also its result when nothing is reduced.
double neutral(Function function, DType domain) {
  const bool f32 = domain == DType::f32;
  const bool i32 = domain == DType::i32;
  const double infinity = std::numeric_limits<double>::infinity();
  switch (function) {
    case Function::prod:
    case Function::all: return 1;
    case Function::max:
    case Function::argmax:
      return f32 ? -infinity : i32 ? std::numeric_limits<std::int32_t>::lowest() : 0;
    case Function::min:
    case Function::argmin:
      return f32   ? infinity
             : i32 ? std::numeric_limits<std::int32_t>::max()
                   : std::numeric_limits<std::uint32_t>::max();
    default: return 0;
  }
}

std::uint32_t bits_of(double value, DType domain) {
  if (domain == DType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (domain == DType::i32) return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  return static_cast<std::uint32_t>(value);
}

Problem describe_problem(const Args& args, const View& y, std::uint64_t reduced_count) {
  Problem problem;
  problem.domain = domain_of(args);
  problem.identity = bits_of(neutral(args.function, problem.domain), problem.domain);
  problem.arg = is_arg(args.function);
  switch (args.function) {
    case Function::sum: break;
    case Function::mean:
      problem.post = "scale";
      problem.scale = static_cast<float>(1.0 / static_cast<double>(reduced_count));
      break;
    case Function::max:
    case Function::argmax: problem.combine = "max"; break;
    case Function::min:
    case Function::argmin: problem.combine = "min"; break;
    case Function::prod: problem.combine = "prod"; break;
    case Function::norm:
      problem.pre = "square";
      problem.post = "sqrt";
      break;
    case Function::sum_squares: problem.pre = "square"; break;
    case Function::any:
      problem.pre = "nonzero";
      problem.combine = "max";
      break;
    case Function::all:
      problem.pre = "nonzero";
      problem.combine = "min";
      break;
  }
  View kept_x = args.x;
  View kept_y = y;
  View reduced_x{.dtype = args.x.dtype};
  View weights{.dtype = DType::u32};
  kept_x.rank = kept_y.rank = 0;
  for (std::uint32_t i = 0; i < args.x.rank; ++i) {
    View& in = is_reduced(args, i) ? reduced_x : kept_x;
    View& out = is_reduced(args, i) ? weights : kept_y;
    in.shape[in.rank] = out.shape[out.rank] = args.x.shape[i];
    in.stride[in.rank++] = args.x.stride[i];
    out.stride[out.rank++] = y.stride[i];
  }
  std::uint64_t weight = 1;
  for (std::uint32_t i = weights.rank; i-- > 0;) {
    weights.stride[i] = weight;
    weight *= weights.shape[i];
  }
  problem.kept = {kept_x, kept_y, kept_x, kept_y};
  problem.xi().slot = problem.yi().slot = {};
  problem.reduced = {reduced_x, weights};
  return problem;
}

}  // namespace

namespace {

/// The inputs of a chain with the dimensions of a problem.
Status add_chain(Problem& problem, const Args& args) {
  const auto inputs = fused::broadcast_inputs(args.chain, args.x.extents(), args.y);
  if (!inputs) return std::unexpected(inputs.error());
  problem.chain = &args.chain;
  for (const View& view : *inputs) {
    ChainInput input{.kept = view, .reduced = {.dtype = view.dtype}};
    input.kept.rank = 0;
    for (std::uint32_t i = 0; i < view.rank; ++i) {
      View& to = is_reduced(args, i) ? input.reduced : input.kept;
      to.shape[to.rank] = view.shape[i];
      to.stride[to.rank++] = view.stride[i];
    }
    problem.inputs.push_back(input);
  }
  return {};
}

}  // namespace

Result<Plan> plan(const Args& given, const Caps& caps) {
  Args args = given;
  if (args.chain.given()) args.x = View::dense(DType::f32, args.x.extents());
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  const auto y = keep_dims(args);
  if (!y) return std::unexpected(y.error());
  Plan plan;
  if (y->empty()) return plan;

  std::uint64_t count = 1;
  for (std::uint32_t i = 0; i < args.x.rank; ++i) {
    if (is_reduced(args, i)) count *= args.x.shape[i];
  }
  if (count == 0) {
    if (is_arg(args.function)) {
      return fail(ErrorCode::invalid_argument,
                  "`{}` over no elements has no result; the input is {} with dimensions of mask "
                  "{:#x} reduced.",
                  name(args.function), describe(args.x), args.axes);
    }
    const double value = args.function == Function::mean ? std::numeric_limits<double>::quiet_NaN()
                                                         : neutral(args.function, domain_of(args));
    return map::plan({.function = "fill", .inputs = {}, .y = args.y, .scalars = {value}}, caps);
  }
  if (is_arg(args.function) && count > (1ULL << 31)) {
    return fail(ErrorCode::unsupported, "`{}` over {} elements would pass the range of an index.",
                name(args.function), count);
  }

  // An output that may overlap the input is made elsewhere first.
  const ByteRange in = args.x.bytes();
  const ByteRange out = args.y.bytes();
  const bool overlaps = args.x.slot == args.y.slot && in.begin < out.end && out.begin < in.end;
  View target = *y;
  if (overlaps) {
    target = View::dense(y->dtype, y->extents());
    target.slot = plan.add_scratch(round_up<std::uint64_t>(target.bytes().size(), 16));
  }
  const auto doing = [&] { return formatted("planning `{}`", name(args.function)); };
  Problem problem = describe_problem(args, target, count);
  if (args.chain.given()) {
    if (const Status ok = add_chain(problem, args); !ok) return wrap(ok.error(), doing());
  }
  if (const Status ok = emit(plan, problem, caps); !ok) return wrap(ok.error(), doing());
  if (overlaps) {
    auto copy = map::plan({.function = "copy", .inputs = {target}, .y = *y}, caps);
    if (!copy) return wrap(copy.error(), doing());
    // The copy has no scratch of its own, so its slots are already those of this plan.
    for (Dispatch& dispatch : copy->dispatches) plan.dispatches.push_back(std::move(dispatch));
  }
  return plan;
}

}  // namespace weft::ops::reduce
