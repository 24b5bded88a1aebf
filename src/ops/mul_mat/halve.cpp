#include <array>
#include <utility>

#include "ops/fields.hpp"
#include "ops/mul_mat/problem.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::mul_mat {
namespace {

struct HalveParams {
  std::array<std::uint32_t, 5> shape{};
  std::array<std::uint32_t, 5> x{};
  std::uint32_t rows = 0;
  std::uint32_t chunks = 0;
};

struct HalveVariant {
  std::uint32_t threads = 256;
};

Result<Dispatch> launch_halve(const View& x, const View& halves, const View& scales,
                              const Caps& caps) {
  HalveParams params;
  std::uint64_t rows = 1;
  for (std::uint32_t i = 0; i < 5; ++i) {
    params.shape[i] = static_cast<std::uint32_t>(x.shape[i]);
    params.x[i] = static_cast<std::uint32_t>(x.stride[i]);
    rows *= x.shape[i];
  }
  params.rows = static_cast<std::uint32_t>(rows);
  params.chunks = static_cast<std::uint32_t>(x.shape[5] / 4);
  Launch out;
  out.source = "mul_mat/halve.wgsl";
  out.label = "mul_mat halve";
  out.params = block_of(params);
  // Few long rows leave most of a device idle: they get all invocations that a workgroup can have.
  const bool few = !caps.traits.slow_barriers && rows < 256 && params.chunks >= 1024;
  out.constants = constants_of(HalveVariant{
      .threads = few && caps.workgroup_invocations >= 1024 ? 1024U : workgroup_width(caps)});
  out.operands = {{.name = "x", .view = x, .unit = size_of(x.dtype)},
                  {.name = "halves", .view = halves, .access = Access::write, .unit = 2},
                  {.name = "scales", .view = scales, .access = Access::write}};
  out.grid = grid_1d(rows, caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace

View add_halved(Stages& stages, const View& rows, const View& halves, const Caps& caps) {
  View firsts = rows;
  firsts.shape[5] = 1;
  const View scales = stages.scratch(DType::f32, firsts.extents());
  stages.add(launch_halve(rows, halves, scales, caps));
  return scales;
}

}  // namespace weft::ops::mul_mat
