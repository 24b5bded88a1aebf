#include "ops/fused/fused.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/iterate.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::fused {
namespace {

struct Variant {
  std::uint32_t inputs = 0;
  std::uint32_t rank = 1;
  std::uint32_t chunk = 1;
  bool ragged = false;
};

Status check_output(const View& y) {
  if (const Status ok = validate(y, "y"); !ok) return ok;
  if (is_float(y.dtype) && y.is_dense()) return {};
  return fail(ErrorCode::unsupported, "The output of a chain is dense and float; it is {}.",
              describe(y));
}

struct Chunking {
  std::uint32_t chunk = 1;
  bool ragged = true;
  bool atomic = false;  // 16-bit elements that share words with those of other invocations
};

/// The widest chunks in which the dense output can be stored.
Chunking chunking_of(std::span<const View> views) {
  const View& y = views.front();
  const std::uint64_t inner = y.shape[y.rank - 1];
  const bool narrow = std::ranges::all_of(views, [](const View& view) {
    return size_of(view.dtype) == 2 || view.stride[view.rank - 1] == 0;
  });
  for (const std::uint32_t chunk : {8U, 4U}) {
    const bool fits = y.rank == 1 || inner % chunk == 0;
    if (fits && (chunk == 4 || narrow) &&
        y.offset % (std::uint64_t{chunk} * size_of(y.dtype)) == 0) {
      return {.chunk = chunk, .ragged = false};
    }
  }
  if (y.offset % 4 != 0) return {.atomic = true};
  return {.chunk = size_of(y.dtype) == 4 ? 1U : 2U};
}

/// The functions of the chain as template text, with the loads of its inputs.
std::string kernel_text(const Chain& chain, std::span<const std::string_view> kinds) {
  std::string text = text_of(chain);
  std::string wholes;
  std::string singles;
  for (std::size_t i = 0; i < chain.inputs.size(); ++i) {
    text += formatted("#include \"fused/input.wgsl\" with NAME=\"x{}\" K={} KIND=\"{}\"\n", i, i,
                      kinds[i]);
    const std::string_view comma = i == 0 ? "" : ", ";
    wholes += formatted("{0}load_x{1}(at.i{1}, h)", comma, i);
    singles += formatted("{0}V(T(x{1}_at(at.i{1})))", comma, i);
  }
  text += formatted("fn whole(at: Place, h: u32) -> V {{ return chain({}); }}\n", wholes);
  return text + formatted("fn single(at: Place) -> V {{ return chain({}); }}\n", singles);
}

Result<Dispatch> launch_piece(const Chain& chain, std::span<const View> views, const Caps& caps) {
  const View& y = views.front();
  const Chunking chunking = chunking_of(views);
  const Variant variant{.inputs = static_cast<std::uint32_t>(chain.inputs.size()),
                        .rank = y.rank,
                        .chunk = chunking.chunk,
                        .ragged = chunking.ragged};
  Launch launch;
  launch.source = "fused/fused.wgsl";
  std::vector<std::string_view> kinds;
  launch.params.add("count", static_cast<std::uint32_t>(y.count()));
  add_scalars(launch.params, chain);
  for (std::uint32_t d = 0; d < y.rank; ++d) {
    launch.params.add(formatted("shape_{}", d), static_cast<std::uint32_t>(y.shape[d]));
  }
  for (std::size_t i = 1; i < views.size(); ++i) {
    const View& view = views[i];
    // A single row may end in a part of a chunk, which is read one by one.
    const bool aligned = view.rank == 1 ? view.stride[0] == 1 && view.offset % 16 == 0
                                        : rows_aligned(view, chunking.chunk);
    const bool vec = !chunking.ragged && view.stride[view.rank - 1] == 1 && aligned;
    kinds.emplace_back(vec ? "vec" : view.stride[view.rank - 1] == 0 ? "splat" : "step");
    for (std::uint32_t d = 0; d < y.rank; ++d) {
      launch.params.add(formatted("stride{}_{}", i - 1, d),
                        static_cast<std::uint32_t>(view.stride[d]));
    }
    launch.operands.push_back({input_names[i - 1], view, Access::read,
                               vec ? std::min(4U, chunking.chunk * size_of(view.dtype) / 4) : 1});
  }
  launch.operands.push_back(
      {"y", y, chunking.atomic ? Access::atomic : Access::write,
       chunking.ragged ? 1 : std::min(4U, chunking.chunk * size_of(y.dtype) / 4)});
  launch.text = kernel_text(chain, kinds);
  launch.label = label_of(chain);
  launch.constants = constants_of(variant);
  const std::uint64_t chunks = ceil_div<std::uint64_t>(y.count(), chunking.chunk);
  launch.grid = grid_1d(ceil_div<std::uint64_t>(chunks, workgroup_width(caps)), caps);
  return make_dispatch(std::move(launch), caps);
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check_output(args.y); !ok) return std::unexpected(ok.error());
  const Chain chain{args.inputs, args.steps};
  auto inputs = broadcast_inputs(chain, args.y.extents(), args.y);
  if (!inputs) return std::unexpected(inputs.error());
  std::vector<View> views{args.y};
  views.insert(views.end(), inputs->begin(), inputs->end());
  Plan plan;
  if (args.y.empty()) return plan;
  const Status done = for_each_piece(views, caps, [&](std::span<const View> given) -> Status {
    std::vector<View> piece(given.begin(), given.end());
    collapse(piece);
    return plan.add(launch_piece(chain, piece, caps));
  });
  if (!done) return wrap(done.error(), formatted("planning `{}`", label_of(chain)));
  return plan;
}

}  // namespace weft::ops::fused
