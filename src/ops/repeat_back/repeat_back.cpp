#include "ops/repeat_back/repeat_back.hpp"

#include <string_view>

#include "ops/map/map.hpp"
#include "ops/reduce/reduce.hpp"

namespace weft::ops::repeat_back {

Result<Plan> plan(const Args& args, const Caps& caps) {
  constexpr std::string_view doing = "planning the backward of repeat";
  if (const Status ok = validate(args.dy, "dy"); !ok) return wrap(ok.error(), doing);
  if (const Status ok = validate(args.dx, "dx"); !ok) return wrap(ok.error(), doing);
  bool fits = args.dy.rank == args.dx.rank;
  for (std::uint32_t i = 0; fits && i < args.dx.rank; ++i) {
    const std::uint64_t extent = args.dx.shape[i];
    fits = extent == 0 ? args.dy.shape[i] == 0 : args.dy.shape[i] % extent == 0;
  }
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "The extents of dy ({}) must be multiples of those of dx ({}).", describe(args.dy),
                describe(args.dx));
  }
  if (args.dx.empty()) return Plan{};
  // Each repeated dimension becomes (repetitions, extent), of which the first is summed.
  View dy = args.dy;
  std::uint32_t axes = 0;
  for (std::uint32_t i = 0, at = 0; i < args.dx.rank; ++i, ++at) {
    const std::uint64_t extent = args.dx.shape[i];
    if (extent == args.dy.shape[i]) continue;
    if (extent == 1) {
      axes |= 1U << at;
      continue;
    }
    if (dy.rank == max_rank) {
      return fail(ErrorCode::unsupported,
                  "Summing {} to {} needs more dimensions than the {} that tensors can have.",
                  describe(args.dy), describe(args.dx), max_rank);
    }
    dy = dy.split(at, extent);
    axes |= 1U << at;
    ++at;
  }
  if (axes == 0) return map::plan({.function = "copy", .inputs = {args.dy}, .y = args.dx}, caps);
  // The result without the summed dimensions.
  View dx = args.dx;
  dx.rank = 0;
  for (std::uint32_t i = 0; i < args.dx.rank; ++i) {
    if (args.dx.shape[i] == 1 && args.dy.shape[i] != 1) continue;
    dx.shape[dx.rank] = args.dx.shape[i];
    dx.stride[dx.rank++] = args.dx.stride[i];
  }
  auto planned = reduce::plan({.x = dy, .axes = axes, .y = dx}, caps);
  if (!planned) return wrap(planned.error(), doing);
  return planned;
}

}  // namespace weft::ops::repeat_back
