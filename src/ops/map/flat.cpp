#include "ops/map/flat.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/format.hpp"

namespace weft::ops::map {
namespace {

/// Below this the general kernel costs nothing that could be measured.
constexpr std::uint64_t least_elements = 1ULL << 20;

struct Variant {
  std::string_view function;
  DType domain = DType::f32;
  std::uint32_t inputs = 0;
  DType y_dtype = DType::f32;
  std::uint32_t chunk = 4;
  std::uint32_t group = 256;
};

struct Params {
  std::array<std::uint32_t, 4> s{};  // scalars of the function
};

std::uint32_t widest_of(std::span<const View> views) {
  std::uint32_t widest = 0;
  for (const View& view : views) widest = std::max(widest, size_of(view.dtype));
  return widest;
}

Variant variant_of(const Piece& piece, const Caps& caps) {
  const View& y = piece.y();
  Variant variant{.function = piece.function,
                  .domain = piece.domain,
                  .inputs = static_cast<std::uint32_t>(piece.inputs().size()),
                  .y_dtype = y.dtype,
                  .chunk = widest_of(piece.views) == 2 ? 8U : 4U};
  // Measured on an H200: larger groups gain about 1% over 256, except where the widths differ.
  const bool casts = std::ranges::any_of(
      piece.views, [&](const View& view) { return size_of(view.dtype) != size_of(y.dtype); });
  const std::uint32_t group = casts ? 256 : variant.inputs > 1 ? 1024 : 512;
  variant.group = std::min(group, caps.workgroup_invocations);
  return variant;
}

std::uint64_t share_of(const Variant& variant) {
  return std::uint64_t{variant.chunk} * variant.group;
}

}  // namespace

Status can_flat(const Piece& piece, const Caps& caps) {
  const std::span views = piece.views;
  bool flat = piece.function != "arange";
  for (std::size_t i = 0; i < views.size() && flat; ++i) {
    const View& view = views[i];
    // Tensors of one buffer may share a binding and then do not start with it.
    const bool alone = std::ranges::none_of(
        views.first(i), [&](const View& other) { return other.slot == view.slot; });
    flat = alone && view.rank == 1 && view.stride[0] == 1 && size_of(view.dtype) <= 4 &&
           view.offset % caps.binding_alignment == 0;
  }
  const std::uint64_t share = share_of(variant_of(piece, caps));
  if (flat && piece.y().count() % share == 0 && piece.y().count() / share <= caps.max_workgroups) {
    return {};
  }
  return fail(ErrorCode::unsupported,
              "`{}` of whole workgroups of flat tensors in buffers of their own does not fit {}.",
              piece.function, describe(piece.y()));
}

bool worth_flat(const Piece& piece, const Caps&) { return piece.y().count() >= least_elements; }

Result<Dispatch> launch_flat(const Piece& piece, const Caps& caps) {
  const View& y = piece.y();
  const Variant variant = variant_of(piece, caps);
  constexpr std::array<std::string_view, 3> names{"a", "b", "c"};
  Launch launch;
  const auto unit = [&](const View& view) {
    return std::max<std::uint32_t>(1, variant.chunk * size_of(view.dtype) / 4);
  };
  for (std::size_t k = 0; k < piece.inputs().size(); ++k) {
    const View& view = piece.inputs()[k];
    launch.operands.push_back({names[k], view, Access::read, unit(view)});
  }
  launch.operands.push_back({"y", y, Access::write, unit(y)});
  launch.source = "map/flat.wgsl";
  launch.constants = constants_of(variant);
  launch.params = block_of(Params{.s = piece.scalars});
  launch.grid = {.x = static_cast<std::uint32_t>(y.count() / share_of(variant))};
  launch.label = formatted("{} {} flat", piece.function, name(y.dtype));
  return make_dispatch(std::move(launch), caps);
}

}  // namespace weft::ops::map
