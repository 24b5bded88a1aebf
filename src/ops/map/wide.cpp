#include "ops/map/wide.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::map {
namespace {

constexpr std::array<std::string_view, 3> input_names{"a", "b", "c"};
constexpr std::array<std::string_view, 36> names{
    "copy",       "abs",         "neg",         "sign",        "step",        "square",
    "relu",       "clamp",       "scale",       "add",         "sub",         "mul",
    "maximum",    "minimum",     "div",         "fmod",        "remainder",   "floor_divide",
    "equal",      "not_equal",   "less",        "less_equal",  "greater",     "greater_equal",
    "where",      "logical_and", "logical_or",  "logical_xor", "logical_not", "bitwise_and",
    "bitwise_or", "bitwise_xor", "bitwise_not", "fill",        "arange",      "pow"};
constexpr std::array<std::string_view, 2> shifts{"left_shift", "right_shift"};

struct Variant {
  std::string_view function;
  std::uint32_t inputs = 0;
  DType a_dtype = DType::i64;
  DType b_dtype = DType::i64;
  DType c_dtype = DType::i64;
  DType y_dtype = DType::i64;
  std::uint32_t rank = 1;
};

struct Params {
  std::array<std::uint32_t, 4> s{};  // scalars of the function: two numbers, low words first
  std::uint32_t count = 0;
  std::array<std::uint32_t, max_rank> shape{};
  std::array<std::uint32_t, max_rank> stride0{};
  std::array<std::uint32_t, max_rank> stride1{};
  std::array<std::uint32_t, max_rank> stride2{};
  std::array<std::uint32_t, max_rank> stride_y{};
};

/// The nearest 64-bit integer of a scalar.
std::int64_t whole(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

void set_scalars(Params& params, const Args& args, const View& y) {
  std::array<std::int64_t, 2> numbers{whole(args.scalars[0]), whole(args.scalars[1])};
  if (args.function == "arange") {
    const std::uint64_t first = (y.offset - args.y.offset) / size_of(y.dtype) /
                                std::max<std::uint64_t>(args.y.stride[0], 1);
    numbers[0] += static_cast<std::int64_t>(first) * numbers[1];
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const auto bits = static_cast<std::uint64_t>(numbers[i]);
    params.s[2 * i] = static_cast<std::uint32_t>(bits);
    params.s[2 * i + 1] = static_cast<std::uint32_t>(bits >> 32U);
  }
}

Status launch_piece(Plan& plan, const Args& args, std::span<const View> piece, const Caps& caps) {
  const View& y = piece.front();
  Variant variant{.function = args.function,
                  .inputs = static_cast<std::uint32_t>(piece.size() - 1),
                  .y_dtype = y.dtype,
                  .rank = y.rank};
  Params params;
  params.count = narrow(y.count());
  set_scalars(params, args, y);
  std::array<DType*, 3> types{&variant.a_dtype, &variant.b_dtype, &variant.c_dtype};
  std::array<std::array<std::uint32_t, max_rank>*, 3> strides{&params.stride0, &params.stride1,
                                                              &params.stride2};
  Launch launch;
  for (std::size_t k = 1; k < piece.size(); ++k) {
    *types[k - 1] = piece[k].dtype;
    for (std::uint32_t i = 0; i < y.rank; ++i) (*strides[k - 1])[i] = narrow(piece[k].stride[i]);
    launch.operands.push_back({input_names[k - 1], piece[k]});
  }
  for (std::uint32_t i = 0; i < y.rank; ++i) {
    params.shape[i] = narrow(y.shape[i]);
    params.stride_y[i] = narrow(y.stride[i]);
  }
  launch.operands.push_back({"y", y, size_of(y.dtype) < 4 ? Access::atomic : Access::write});
  launch.source = "map/wide.wgsl";
  launch.label = formatted("{} wide {}", args.function, name(y.dtype));
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.count, workgroup_width(caps)), caps);
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  return plan.add(make_dispatch(std::move(launch), caps));
}

bool same_place(const View& a, const View& b) {
  bool same = a.offset == b.offset && size_of(a.dtype) == size_of(b.dtype);
  for (std::uint32_t i = 0; i < b.rank; ++i)
    same = same && (b.shape[i] == 1 || a.stride[i] == b.stride[i]);
  return same;
}

}  // namespace

bool has_wide(std::string_view function) {
  return std::ranges::contains(names, function) || std::ranges::contains(shifts, function);
}

Result<Plan> plan_wide(const Args& args, const Caps& caps) {
  if (!has_wide(args.function)) {
    return fail(ErrorCode::unsupported, "There is no `{}` of i64.", args.function);
  }
  if (const Status ok = validate(args.y, "y"); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_distinct(args.y, "y"); !ok) return std::unexpected(ok.error());
  std::vector<View> views{args.y};
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (const Status ok = validate(args.inputs[i], input_names[i]); !ok)
      return std::unexpected(ok.error());
    const auto input = args.inputs[i].broadcast_to(args.y.extents());
    if (!input) return wrap(input.error(), formatted("planning `{}`", args.function));
    if (overlap(*input, args.y) && !same_place(*input, args.y)) {
      return fail(ErrorCode::invalid_argument,
                  "Input `{}` ({}) of `{}` overlaps the output ({}) without being the same view.",
                  input_names[i], describe(*input), args.function, describe(args.y));
    }
    views.push_back(*input);
  }
  Plan plan;
  if (args.y.empty()) return plan;
  const Status done = for_each_piece(views, caps, [&](std::span<const View> given) -> Status {
    std::vector<View> piece(given.begin(), given.end());
    collapse(piece);
    return launch_piece(plan, args, piece, caps);
  });
  if (!done) return wrap(done.error(), formatted("planning `{}`", args.function));
  return plan;
}

}  // namespace weft::ops::map
