#include "ops/sampled_matmul/sampled_matmul.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::sampled_matmul {
namespace {

struct Variant {
  bool parts = false;       // several launches, each with some of the rows
  std::uint32_t lanes = 1;  // invocations that share an element
};

struct Params {
  std::uint32_t count = 0;  // elements
  std::uint32_t first_element = 0;
  std::uint32_t size = 0;  // products of an element
  std::uint32_t starts = 0;
  std::uint32_t first = 0;  // launch
  std::uint32_t all_a = 0;
  std::uint32_t first_a = 0;
  std::uint32_t a_rows = 0;
  std::uint32_t all_b = 0;
  std::uint32_t first_b = 0;
  std::uint32_t b_rows = 0;
  std::uint32_t starts_step = 0;
  std::uint32_t columns_step = 0;
  std::uint32_t a_row = 0;
  std::uint32_t a_step = 0;
  std::uint32_t b_row = 0;
  std::uint32_t b_step = 0;
  std::uint32_t y_step = 0;
};

Status check(const Args& args) {
  for (const View* view : {&args.starts, &args.columns, &args.a, &args.b, &args.y}) {
    if (const Status ok = validate(*view, "a tensor of a sampled product"); !ok) return ok;
  }
  const View& a = args.a;
  const View& b = args.b;
  const bool fits = args.starts.rank == 1 && args.columns.rank == 1 && args.y.rank == 1 &&
                    a.rank == 2 && b.rank == 2 && a.shape[1] == b.shape[1] &&
                    args.starts.shape[0] == a.shape[0] + 1 &&
                    args.columns.shape[0] == args.y.shape[0] && args.starts.dtype == DType::i32 &&
                    args.columns.dtype == DType::i32 && is_float(a.dtype) && is_float(b.dtype) &&
                    args.y.dtype == DType::f32 && args.y.shape[0] < (1ULL << 31);
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "A sampled product needs starts i32 [rows + 1], columns i32 [count], floats [rows, "
                "K] and [columns, K] and a result f32 [count]; they are {}, {}, {}, {} and {}.",
                describe(args.starts), describe(args.columns), describe(a), describe(b),
                describe(args.y));
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  for (const View* view : {&args.starts, &args.columns, &a, &b}) {
    if (!overlap(*view, args.y)) continue;
    return fail(ErrorCode::invalid_argument,
                "The result {} of a sampled product shares memory with {}.", describe(args.y),
                describe(*view));
  }
  return {};
}

/// Some of the elements, and some of the rows of both matrices.
struct Part {
  std::uint64_t element = 0;
  std::uint64_t elements = 0;
  std::uint64_t a = 0;
  std::uint64_t a_rows = 0;
  std::uint64_t b = 0;
  std::uint64_t b_rows = 0;
};

std::uint32_t lanes_of(const Args& args, const Caps& caps) {
  const std::uint32_t most = workgroup_width(caps);
  if (args.lanes > 0) return std::min(std::bit_floor(args.lanes), most);
  if (caps.traits.slow_barriers) return 1;
  // Neighbours read a row together, a few elements each.
  const std::uint64_t shared = std::clamp<std::uint64_t>(args.a.shape[1] / 4, 1, 32);
  return std::min(static_cast<std::uint32_t>(std::bit_floor(shared)), most);
}

Status launch(Plan& plan, const Args& args, const Part& part, const Caps& caps) {
  const View columns = args.columns.slice(0, part.element, part.elements);
  const View y = args.y.slice(0, part.element, part.elements);
  const View a = args.a.slice(0, part.a, part.a_rows);
  const View b = args.b.slice(0, part.b, part.b_rows);
  Params params;
  params.count = narrow(part.elements);
  params.first_element = narrow(part.element);
  params.size = narrow(a.shape[1]);
  params.starts = narrow(args.starts.shape[0]);
  params.first = part.a == 0 && part.b == 0 ? 1U : 0U;
  params.all_a = narrow(args.a.shape[0]);
  params.first_a = narrow(part.a);
  params.a_rows = narrow(part.a_rows);
  params.all_b = narrow(args.b.shape[0]);
  params.first_b = narrow(part.b);
  params.b_rows = narrow(part.b_rows);
  params.starts_step = narrow(args.starts.stride[0]);
  params.columns_step = narrow(columns.stride[0]);
  params.a_row = narrow(a.stride[0]);
  params.a_step = narrow(a.stride[1]);
  params.b_row = narrow(b.stride[0]);
  params.b_step = narrow(b.stride[1]);
  params.y_step = narrow(y.stride[0]);
  const Variant variant{.parts = part.a_rows < args.a.shape[0] || part.b_rows < args.b.shape[0],
                        .lanes = lanes_of(args, caps)};
  Launch launch;
  launch.source = "sampled_matmul/sampled_matmul.wgsl";
  launch.label = formatted("sampled_matmul {}", name(a.dtype));
  launch.operands = {{.name = "starts", .view = args.starts},
                     {.name = "columns", .view = columns},
                     {.name = "a", .view = a},
                     {.name = "b", .view = b},
                     {.name = "y", .view = y, .access = Access::write}};
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  const std::uint64_t each = workgroup_width(caps) / variant.lanes;
  launch.grid = grid_1d(ceil_div<std::uint64_t>(part.elements, each), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// As many rows (or elements) of a view as fit one binding; at least one.
std::uint64_t that_fit(const View& view, const Caps& caps) {
  std::uint64_t rows = view.shape[0];
  while (rows > 1 && view.slice(0, 0, rows).bytes().size() > binding_budget(caps)) {
    rows = half_of(rows);
  }
  return std::max<std::uint64_t>(rows, 1);
}

Status add_parts(Plan& plan, const Args& args, const Caps& caps) {
  if (args.starts.bytes().size() > binding_budget(caps)) {
    return fail(ErrorCode::unsupported,
                "A sampled product needs starts {} within one binding of the device, {} bytes.",
                describe(args.starts), binding_budget(caps));
  }
  const std::uint64_t count = args.y.shape[0];
  const std::uint64_t elements = std::min(that_fit(args.columns, caps), that_fit(args.y, caps));
  const std::uint64_t a_rows = that_fit(args.a, caps);
  const std::uint64_t b_rows = that_fit(args.b, caps);
  const auto rows = [](const View& view, std::uint64_t first, std::uint64_t most) {
    return std::min(most, view.shape[0] - first);
  };
  // A matrix without rows is one part as well.
  for (std::uint64_t i = 0; i < count; i += elements) {
    for (std::uint64_t a = 0; a < std::max<std::uint64_t>(args.a.shape[0], 1); a += a_rows) {
      for (std::uint64_t b = 0; b < std::max<std::uint64_t>(args.b.shape[0], 1); b += b_rows) {
        const Part part{.element = i,
                        .elements = std::min(elements, count - i),
                        .a = a,
                        .a_rows = rows(args.a, a, a_rows),
                        .b = b,
                        .b_rows = rows(args.b, b, b_rows)};
        if (const Status ok = launch(plan, args, part, caps); !ok) return ok;
      }
    }
  }
  return {};
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.y.empty()) return plan;
  if (const Status ok = add_parts(plan, args, caps); !ok) {
    return wrap(ok.error(), "planning a sampled product");
  }
  return plan;
}

}  // namespace weft::ops::sampled_matmul
