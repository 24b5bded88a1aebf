#include "ops/cumsum/shape.hpp"

#include <algorithm>
#include <array>

#include "base/math.hpp"
#include "ops/choose.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::cumsum {
namespace {

constexpr std::uint32_t rounds = 4;  // chunks per invocation in one block of a row
/// Where a workgroup runs subgroup by subgroup, and every barrier takes microseconds, each lane has
/// a sequence or a segment of its own, and short sequences (or short ones that are few) belong to
/// one subgroup each.
constexpr std::uint64_t single_rows = 64;
constexpr std::uint32_t single_lanes = 8;
constexpr std::uint64_t single_chunks = 4096;  // of a short sequence

}  // namespace

bool aligned(const View& view, std::uint64_t bytes, std::int64_t except) {
  if (view.offset % bytes != 0) return false;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    if (i == except || view.shape[i] == 1) continue;
    if (view.stride[i] * size_of(view.dtype) % bytes != 0) return false;
  }
  return true;
}

namespace {

/// Elements of one sequence that fit in a binding next to those of the others.
std::uint64_t most_elements(const Job& job, std::uint64_t budget) {
  std::uint64_t most = job.count;
  for (std::size_t k = 0; k < 2; ++k) {
    const std::uint64_t size = size_of(job.kept[k].dtype);
    const std::uint64_t step = std::max<std::uint64_t>(1, k == 0 ? job.scan_x : job.scan_y);
    const std::uint64_t others = job.kept[k].bytes().size();
    most = std::min(most, 1 + (budget > others ? budget - others : 0) / (step * size));
  }
  return most;
}

Shape shape_rows(const Job& job, std::uint64_t budget, const Caps& caps) {
  Shape shape;
  const View& x = job.kept[0];
  const View& y = job.kept[1];
  const std::uint64_t rows = x.count();
  for (const std::uint32_t chunk : {8U, 4U}) {
    const bool wide = chunk * std::min(size_of(x.dtype), size_of(y.dtype)) <= 16 &&
                      job.count >= chunk && job.scan_x == 1 && job.scan_y == 1;
    if (!wide || !aligned(x, std::min(16U, chunk * size_of(x.dtype)), -1) ||
        !aligned(y, std::min(16U, chunk * size_of(y.dtype)), -1))
      continue;
    shape.chunk = chunk;
    break;
  }
  const std::uint64_t chunks = ceil_div<std::uint64_t>(job.count, shape.chunk);
  const std::uint32_t group_size = workgroup_width(caps);
  shape.size = group_size;
  shape.lanes = chunks <= 32 ? 8 : chunks <= 128 ? 32 : group_size;
  std::uint64_t most_segments = ceil_div<std::uint64_t>(caps.traits.fill(8), rows);
  if (caps.traits.slow_barriers) {
    const bool together = chunks <= (rows < single_rows ? single_chunks : 32);
    shape.lanes = together ? single_lanes : 1;
    shape.size = rows < std::uint64_t{4} * group_size ? single_lanes : group_size;
    most_segments = together ? 1 : ceil_div(single_rows, rows);
  }
  const std::uint64_t block = std::uint64_t{shape.lanes == 1 ? 1 : group_size} * rounds;
  const std::uint64_t blocks = ceil_div(chunks, block);
  shape.span = chunks;
  // One workgroup per sequence leaves a large device idle when there are few sequences.
  if (rows < 512 && blocks >= 4)
    shape.span = ceil_div(blocks, std::min(blocks, most_segments)) * block;
  const std::uint64_t fitting = most_elements(job, budget) / shape.chunk;
  if (shape.span > fitting)
    shape.span = std::max<std::uint64_t>(1, fitting > block ? round_down(fitting, block) : fitting);
  shape.segments = ceil_div(chunks, shape.span);
  return shape;
}

Shape shape_columns(const Job& job, std::uint64_t budget, const Caps&) {
  Shape shape{.by_rows = false};
  const View& x = job.kept[0];
  const View& y = job.kept[1];
  const std::uint64_t rows = x.count();
  const std::uint32_t inner = x.rank - 1;
  // Two neighbouring 16-bit results fill a word, wherever the sum stands.
  if (size_of(y.dtype) == 2 && x.stride[inner] == 1 && y.stride[inner] == 1 &&
      x.shape[inner] % 2 == 0 && job.scan_y % 2 == 0 && aligned(y, 4, inner)) {
    shape.chunk = 2;
  }
  const std::uint64_t lanes = rows / shape.chunk;
  constexpr std::uint64_t many_lanes = 1 << 17;
  shape.span = job.count;
  if (lanes < many_lanes && job.count >= 64) {
    const std::uint64_t parts = std::min(ceil_div(many_lanes, lanes), job.count / 32);
    shape.span = ceil_div(job.count, parts);
  }
  shape.span = std::min(shape.span, most_elements(job, budget));
  shape.segments = ceil_div(job.count, shape.span);
  return shape;
}

Status can(const Job&, const Caps&) { return {}; }

bool worth_rows(const Job& job, const Caps&) {
  const View& x = job.kept[0];
  return x.count() == 1 || (job.scan_x <= x.stride[x.rank - 1] && job.count > 8);
}

bool worth_columns(const Job&, const Caps&) { return true; }

/// One kernel of the op's list: both can make any job that fits bindings; `shape` says how, and the
/// launches follow from that.
struct Kernel {
  std::string_view name;
  Status (*can)(const Job&, const Caps&);
  bool (*worth)(const Job&, const Caps&);
  Shape (*shape)(const Job&, std::uint64_t budget, const Caps&);
};

constexpr Kernel rows_kernel{"rows", can, worth_rows, shape_rows};
constexpr Kernel columns_kernel{"columns", can, worth_columns, shape_columns};

// In order of preference.
constexpr std::array kernels{&rows_kernel, &columns_kernel};

}  // namespace

Result<Shape> choose_shape(const Job& job, std::uint64_t budget, const Caps& caps) {
  const auto kernel = choose_kernel(kernels, "cumsum", {}, job, caps);
  if (!kernel) return std::unexpected(kernel.error());
  return (*kernel)->shape(job, budget, caps);
}

}  // namespace weft::ops::cumsum
