#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/quant/codec.hpp"
#include "ops/quant/job.hpp"
#include "ops/quant/quant.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::quant {
namespace {

struct Variant {
  DType qtype = DType::q4_0;
  std::uint32_t block = 0;
  std::uint32_t bytes = 0;
  bool indexed = false;
  bool aligned = false;  // blocks
  bool refine = false;   // quotients need it
  std::uint32_t rank = job_rank;
  std::uint32_t workgroup = narrow_workgroup;
};

Result<Dispatch> launch(const Job& job, const Caps& caps) {
  const DType type = job.table.dtype;
  const JobParams params = params_of(job, block_elements(type));
  const Variant variant{.qtype = type,
                        .block = block_elements(type),
                        .bytes = block_bytes(type),
                        .indexed = job.indexed(),
                        .aligned = blocks_aligned(job.table),
                        .refine = !caps.traits.slow_compile,
                        .rank = params.rank()};
  Launch out;
  out.source = "quant/encode.wgsl";
  out.label = formatted("encode {}", name(type));
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.params.add("zero", std::uint32_t{0});
  out.operands = {{.name = "table",
                   .view = job.table,
                   .access = variant.aligned ? Access::write : Access::atomic},
                  {.name = "flat", .view = job.flat}};
  if (job.indexed()) out.operands.push_back({.name = "index", .view = job.index});
  out.grid = grid_1d(ceil_div<std::uint64_t>(params.count, narrow_workgroup), caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace

bool can_quantize(DType type) {
  switch (type) {
    case DType::iq1_s:
    case DType::iq1_m:
    case DType::iq2_xxs:
    case DType::iq2_xs:
    case DType::iq2_s:
    case DType::iq3_xxs:
    case DType::iq3_s: return false;
    default: return is_quantized(type);
  }
}

Result<Plan> plan(const EncodeArgs& args, const Caps& caps) {
  const auto job = make_job(args.x, args.table, args.indices, "x");
  if (!job) return std::unexpected(job.error());
  if (!can_quantize(args.table.dtype)) {
    return fail(ErrorCode::unsupported, "Values cannot be quantized to {} without a model.",
                name(args.table.dtype));
  }
  Plan plan;
  const Status ok = for_each_job(
      *job, caps, [&](const Job& part) -> Status { return plan.add(launch(part, caps)); });
  if (!ok) return std::unexpected(ok.error());
  return plan;
}

}  // namespace weft::ops::quant
