#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/choose.hpp"
#include "ops/map/map.hpp"
#include "ops/quant/job.hpp"
#include "ops/quant/quant.hpp"
#include "ops/subgroup.hpp"
#include "ops/tables.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::quant {
namespace {

constexpr std::uint32_t piece_elements = 16;
constexpr std::uint32_t most_steps =
    16;  // of decode_rows.wgsl: enough to forget what a workgroup costs

struct Variant {
  DType qtype = DType::q4_0;
  bool indexed = false;
  bool aligned = false;  // blocks
  bool vector = false;   // rows of y
  bool wide = false;     // elements of y
  std::uint32_t rank = job_rank;
  std::uint32_t items = 1;  // pieces per invocation
};

/// Rows of f32 where scattered stores are slow (decode_rows.wgsl).
struct RowsVariant {
  DType qtype = DType::q4_0;
  bool indexed = false;
  bool aligned = false;  // blocks
  std::uint32_t rank = job_rank;
  std::uint32_t lanes = 8;  // invocations, one subgroup
  std::uint32_t tiles = 1;  // pieces per invocation that are on their way at once
  std::uint32_t steps = 1;  // pieces per invocation
};

/// Elements that all invocations of a workgroup decode at once.
std::uint64_t tile_elements(const Caps& caps) {
  return std::uint64_t{piece_elements} * sure_subgroup(caps);
}

Status can_rows(const Job& job, const Caps& caps) {
  const std::uint64_t columns = job.flat.shape[job.flat.rank - 1];
  if (sure_subgroup(caps) > 0 && job.flat.dtype == DType::f32 && rows_in_chunks(job.flat, 8) &&
      columns > 0 && columns % tile_elements(caps) == 0)
    return {};
  return fail(ErrorCode::unsupported,
              "Values are decoded by rows where subgroups have one size, into f32 rows that are a "
              "multiple of {} elements; given were {} of {}.",
              tile_elements(caps), columns, name(job.flat.dtype));
}

bool worth_rows(const Job&, const Caps& caps) { return caps.traits.slow_scatter; }

Result<Dispatch> launch_rows(const Job& job, const Caps& caps) {
  const std::uint32_t lanes = sure_subgroup(caps);
  const std::uint64_t tiles = job.flat.shape[job.flat.rank - 1] / tile_elements(caps);
  auto steps = static_cast<std::uint32_t>(std::min<std::uint64_t>(tiles, most_steps));
  while (tiles % steps != 0) --steps;
  const JobParams params = params_of(job, piece_elements * lanes * steps);
  const RowsVariant variant{.qtype = job.table.dtype,
                            .indexed = job.indexed(),
                            .aligned = blocks_aligned(job.table),
                            .rank = params.rank(),
                            .lanes = lanes,
                            .tiles = steps % 2 == 0 ? 2U : 1U,
                            .steps = steps};
  Launch out;
  out.source = "quant/decode_rows.wgsl";
  out.label = formatted("decode {}", name(job.table.dtype));
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.features.subgroups = true;
  out.features.subgroup_size = asked_subgroup(caps, lanes);
  out.operands = {{.name = "table", .view = job.table},
                  {.name = "flat", .view = job.flat, .access = Access::write, .unit = 4}};
  if (job.indexed()) out.operands.push_back({.name = "index", .view = job.index});
  add_codebook(out, job.table.dtype);
  out.grid = grid_1d(params.count, caps);
  return make_dispatch(std::move(out), caps);
}

Status can_pieces(const Job&, const Caps&) { return {}; }
bool worth_pieces(const Job&, const Caps&) { return true; }

Result<Dispatch> launch_pieces(const Job& job, const Caps& caps) {
  // Finding a row takes divisions, which some devices do one lane at a time: it should pay.
  constexpr std::uint64_t four_pieces = 4ULL * piece_elements;
  const std::uint32_t items =
      caps.traits.items > 1 && job.flat.shape[job.flat.rank - 1] % four_pieces == 0 ? 4 : 1;
  const JobParams params = params_of(job, piece_elements * items);
  const Variant variant{.qtype = job.table.dtype,
                        .indexed = job.indexed(),
                        .aligned = blocks_aligned(job.table),
                        .vector = rows_in_chunks(job.flat, 8),
                        .wide = size_of(job.flat.dtype) == 4,
                        .rank = params.rank(),
                        .items = items};
  const bool shares_words = size_of(job.flat.dtype) < 4 && !variant.vector;
  Launch out;
  out.source = "quant/decode.wgsl";
  out.label = formatted("decode {}", name(job.table.dtype));
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.operands = {{.name = "table", .view = job.table},
                  {.name = "flat",
                   .view = job.flat,
                   .access = shares_words ? Access::atomic : Access::write,
                   .unit = variant.vector ? 4U : 1U}};
  if (job.indexed()) out.operands.push_back({.name = "index", .view = job.index});
  add_codebook(out, job.table.dtype);
  out.grid = grid_1d(ceil_div<std::uint64_t>(params.count, workgroup_width(caps)), caps);
  return make_dispatch(std::move(out), caps);
}

/// One kernel of the op's list.
struct Kernel {
  std::string_view name;
  Status (*can)(const Job&, const Caps&);
  bool (*worth)(const Job&, const Caps&);
  Result<Dispatch> (*launch)(const Job&, const Caps&);
};

constexpr Kernel rows_kernel{"rows", can_rows, worth_rows, launch_rows};
constexpr Kernel pieces_kernel{"pieces", can_pieces, worth_pieces, launch_pieces};

// In order of preference.
constexpr std::array kernels{&rows_kernel, &pieces_kernel};

Result<Dispatch> launch(const Job& job, const Caps& caps) {
  const auto kernel = choose_kernel(kernels, "Decoding", {}, job, caps);
  if (!kernel) return std::unexpected(kernel.error());
  return (*kernel)->launch(job, caps);
}

/// A quantized view as rows of plain integers of the same bytes.
View as_integers(const View& view) {
  const bool odd = block_bytes(view.dtype) % 2 != 0;
  View out = view;
  out.dtype = odd ? DType::u8 : DType::i16;
  const std::uint64_t per_block = block_bytes(view.dtype) / size_of(out.dtype);
  const std::uint64_t block = block_elements(view.dtype);
  const std::uint32_t inner = view.rank - 1;
  out.shape[inner] = view.shape[inner] / block * per_block;
  for (std::uint32_t i = 0; i < inner; ++i) out.stride[i] = view.stride[i] / block * per_block;
  return out;
}

}  // namespace

Result<Plan> plan(const DecodeArgs& args, const Caps& caps) {
  const auto job = make_job(args.y, args.table, args.indices, "y");
  if (!job) return std::unexpected(job.error());
  Plan plan;
  const Status ok = for_each_job(
      *job, caps, [&](const Job& part) -> Status { return plan.add(launch(part, caps)); });
  if (!ok) return std::unexpected(ok.error());
  return plan;
}

Result<Plan> plan(const CopyArgs& args, const Caps& caps) {
  for (const auto& [view, what] : {std::pair{&args.x, "x"}, std::pair{&args.y, "y"}}) {
    if (const Status ok = validate(*view, what, Types::quantized_too); !ok)
      return std::unexpected(ok.error());
  }
  if (!is_quantized(args.x.dtype) || args.x.dtype != args.y.dtype) {
    return fail(ErrorCode::invalid_argument,
                "Blocks are copied between tensors of one quantized type; x is {} and y is {}.",
                describe(args.x), describe(args.y));
  }
  return map::plan({.function = "copy", .inputs = {as_integers(args.x)}, .y = as_integers(args.y)},
                   caps);
}

}  // namespace weft::ops::quant
