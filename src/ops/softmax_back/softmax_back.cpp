#include "ops/softmax_back/softmax_back.hpp"

#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "ops/row_kernel.hpp"

namespace weft::ops::softmax_back {
namespace {

struct Variant {
  bool log = false;
};

struct Params {
  float scale = 1;
};

Status check(const Args& args) {
  if (const Status ok = check_float_tensor(args.y, "y", args.y.extents(), false); !ok) return ok;
  if (const Status ok = check_float_tensor(args.dy, "dy", args.y.extents(), false); !ok) return ok;
  if (const Status ok = check_float_tensor(args.dx, "dx", args.y.extents(), true); !ok) return ok;
  if (args.y.rank == 0) {
    return fail(ErrorCode::invalid_argument,
                "The backward of softmax needs tensors with at least one dimension; y is {}.",
                describe(args.y));
  }
  if (const Status ok = check_in_place(args.y, "y", args.dx, "dx"); !ok) return ok;
  return check_in_place(args.dy, "dy", args.dx, "dx");
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  constexpr std::string_view doing = "planning the backward of softmax";
  if (const Status ok = check(args); !ok) return wrap(ok.error(), doing);
  if (args.y.empty()) return Plan{};
  RowKernel kernel;
  kernel.source = "softmax_back/softmax_back.wgsl";
  kernel.label = formatted("{}softmax_back {}", args.log ? "log_" : "", name(args.dx.dtype));
  kernel.constants = constants_of(Variant{.log = args.log});
  kernel.params = block_of(Params{.scale = args.scale});
  kernel.operands = {{.name = "y", .view = args.y},
                     {.name = "dy", .view = args.dy},
                     {.name = "dx", .view = args.dx, .role = RowRole::output}};
  auto planned = plan_rows(kernel, caps);
  if (!planned) return wrap(planned.error(), doing);
  return planned;
}

}  // namespace weft::ops::softmax_back
