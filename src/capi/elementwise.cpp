#include <algorithm>
#include <array>

#include "capi/arrays.hpp"
#include "ops/map/map.hpp"
#include "ops/reduce/reduce.hpp"

namespace weft::capi {
namespace {

/// One or two inputs and an output through an elementwise function.
void elementwise(const char* function,
                 std::initializer_list<std::pair<const weft_array*, std::string_view>> inputs,
                 const weft_array* y, const double* parameters) {
  const ops::map::Function* found = ops::map::find_function(required(function, "function"));
  if (found == nullptr || found->inputs != inputs.size()) {
    raise(ErrorCode::not_found, "There is no function `{}` of {} input{}; docs/ops.md lists them.",
          function, inputs.size(), inputs.size() == 1 ? "" : "s");
  }
  Arrays arrays;
  ops::map::Args args{
      .function = found->name, .inputs = {}, .y = {}, .scalars = parameters_of(parameters)};
  for (const auto& [array, argument] : inputs) args.inputs.push_back(arrays.input(array, argument));
  args.y = arrays.output(y, "y");
  arrays.run(ops::map::plan(args, arrays.caps()));
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_array_dense(weft_buffer buffer, weft_dtype dtype, int64_t offset, uint32_t rank,
                             const int64_t* shape, weft_array* array) {
  return call(__func__, [&] {
    weft_array& out = *required(array, "array");
    const ops::View view =
        ops::View::dense(capi::dtype_of(dtype, "dtype"), shape_of(rank, shape, "shape"));
    out = {.buffer = buffer,
           .dtype = dtype,
           .rank = rank,
           .offset = offset,
           .shape = {},
           .strides = {}};
    for (std::uint32_t i = 0; i < rank; ++i) {
      out.shape[i] = shape[i];
      out.strides[i] = static_cast<std::int64_t>(view.stride[i]);
    }
    Arrays().input(&out, "array");  // only to check it
  });
}

weft_status weft_unary(const char* function, const weft_array* x, const weft_array* y,
                       const double* parameters) {
  return call(__func__, [&] { elementwise(function, {{x, "x"}}, y, parameters); });
}

weft_status weft_binary(const char* function, const weft_array* a, const weft_array* b,
                        const weft_array* y, const double* parameters) {
  return call(__func__, [&] { elementwise(function, {{a, "a"}, {b, "b"}}, y, parameters); });
}

weft_status weft_reduce(const char* function, const weft_array* x, uint32_t axis,
                        const weft_array* y) {
  return call(__func__, [&] {
    const std::string_view wanted = required(function, "function");
    const auto found = std::ranges::find_if(
        ops::reduce::all_functions, [&](auto each) { return ops::reduce::name(each) == wanted; });
    if (found == ops::reduce::all_functions.end()) {
      raise(ErrorCode::not_found, "There is no reduction named `{}`; docs/ops.md lists them.",
            wanted);
    }
    Arrays arrays;
    ops::reduce::Args args;
    args.function = *found;
    args.x = arrays.input(x, "x");
    args.y = arrays.output(y, "y");
    if (axis >= args.x.rank) {
      raise(ErrorCode::invalid_argument, "There is no axis {} in `x` ({}).", axis,
            ops::describe(args.x));
    }
    args.axes = 1U << axis;
    arrays.run(ops::reduce::plan(args, arrays.caps()));
  });
}
