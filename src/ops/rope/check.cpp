#include "ops/rope/check.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/format.hpp"
#include "ops/overlap.hpp"
#include "ops/row_kernel.hpp"

namespace weft::ops::rope {
namespace {

Status check_tables(const Args& args) {
  const std::uint64_t tokens = args.x.shape[1];
  if (args.positions.given()) {
    const View& view = args.positions;
    if (const Status ok = validate(view, "positions"); !ok) return ok;
    const bool fits = has_sections(args.mode)
                          ? view.rank == 2 && view.shape[0] == 4 && view.shape[1] == tokens
                          : view.rank == 1 && view.shape[0] == tokens;
    if (!fits || view.dtype != DType::i32) {
      return fail(ErrorCode::invalid_argument,
                  "The positions of rope in mode {} must be i32{} for x {}; they are {}.",
                  name(args.mode),
                  has_sections(args.mode) ? formatted("[4,{}]", tokens) : formatted("[{}]", tokens),
                  describe(args.x), describe(view));
    }
  }
  if (args.factors.given()) {
    const View& view = args.factors;
    if (const Status ok = validate(view, "factors"); !ok) return ok;
    const std::uint64_t pairs = args.mode == Mode::vision ? args.x.shape[3] / 2 : args.dims / 2;
    if (view.dtype != DType::f32 || view.rank != 1 || view.shape[0] < pairs) {
      return fail(ErrorCode::invalid_argument,
                  "The frequency factors of rope must be f32[{}] or longer; they are {}.", pairs,
                  describe(view));
    }
  }
  return {};
}

bool same_view(const View& a, const View& b) {
  return a.slot == b.slot && a.offset == b.offset && a.dtype == b.dtype &&
         std::ranges::equal(a.extents(), b.extents()) && a.stride == b.stride;
}

Status check_rows(const Args& args) {
  if (const Status ok = validate(args.rows, "rows"); !ok) return ok;
  if (args.y.rank != 4 || args.x.shape[0] != 1 || args.y.shape[0] != 1 || args.rows.rank != 1 ||
      args.rows.shape[0] != args.x.shape[1] ||
      (args.rows.dtype != DType::i32 && args.rows.dtype != DType::i64)) {
    return fail(
        ErrorCode::invalid_argument,
        "rope to rows needs x and y of one batch and i32 or i64 [tokens] for the rows; x is "
        "{}, y is {}, the rows are {}.",
        describe(args.x), describe(args.y), describe(args.rows));
  }
  return {};
}

}  // namespace

bool has_sections(Mode mode) {
  return mode == Mode::sections || mode == Mode::sections_in_turn || mode == Mode::vision;
}

bool same_turns(const Args& a, const Args& b) {
  const auto numbers = [](const Args& args) {
    return std::tuple{args.mode,           args.dims,      args.offset,    args.sections,
                      args.first_position, args.base,      args.scale,     args.extrapolation,
                      args.magnitude,      args.beta_fast, args.beta_slow, args.trained_context,
                      args.backward};
  };
  return numbers(a) == numbers(b) && same_view(a.positions, b.positions) &&
         same_view(a.factors, b.factors);
}

Status check(const Args& args) {
  if (const Status ok = check_float_tensor(args.x, "x", args.x.extents(), false); !ok) return ok;
  if (args.x.rank != 4) {
    return fail(ErrorCode::invalid_argument,
                "rope needs x as [batch, tokens, heads, size]; it is {}.", describe(args.x));
  }
  Extents shape = args.x.shape;
  if (args.rows.given()) {
    if (const Status ok = check_rows(args); !ok) return ok;
    shape[1] = args.y.shape[1];
  }
  const std::span<const std::uint64_t> extents(shape.data(), 4);
  if (const Status ok = check_float_tensor(args.y, "y", extents, true); !ok) return ok;
  if (args.rows.given() && (overlap(args.x, args.y) || overlap(args.rows, args.y))) {
    return fail(ErrorCode::invalid_argument, "rope to rows of y {} cannot read x {} there.",
                describe(args.y), describe(args.x));
  }
  if (!args.rows.given()) {
    if (const Status ok = check_in_place(args.x, "x", args.y, "y"); !ok) return ok;
  }
  const std::uint64_t size = args.x.shape[3];
  const bool vision = args.mode == Mode::vision;
  if (args.dims % 2 != 0 || std::uint64_t{args.dims} + args.offset > size ||
      args.dims > most_dims ||
      (vision && (std::uint64_t{args.dims} * 2 != size || args.offset != 0))) {
    return fail(ErrorCode::invalid_argument,
                "rope in mode {} cannot turn {} elements from element {} on in heads of {}: their "
                "number must be even, at most {}, and {}.",
                name(args.mode), args.dims, args.offset, size, most_dims,
                vision ? "half the head" : "fit the head");
  }
  if (has_sections(args.mode) &&
      args.sections[0] + args.sections[1] + args.sections[2] + args.sections[3] == 0) {
    return fail(ErrorCode::invalid_argument, "rope in mode {} needs sections; all are 0.",
                name(args.mode));
  }
  if (!(args.base > 0) || !(args.scale > 0)) {
    return fail(ErrorCode::invalid_argument,
                "The base {} and the scale {} of rope must be above 0.", args.base, args.scale);
  }
  return check_tables(args);
}

}  // namespace weft::ops::rope
