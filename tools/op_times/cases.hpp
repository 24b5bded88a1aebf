// The ops that ggml-op-times times: every op that llama.cpp's own WebGPU backend supports, in its
// types, as a token and as a prompt has them. Sizes are those of test-backend-ops perf where a
// software adapter is done with them in milliseconds.
#pragma once

#include <ggml.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace op_times {

using Tensors = std::vector<ggml_tensor*>;
using Shape = std::vector<std::int64_t>;  // As ggml lists it: innermost first.

/// One operand; integers count through the numbers below `limit`, all other types get random
/// numbers.
struct Input {
  ggml_type type;
  Shape shape;
  std::int64_t limit = 8;
};

/// One op with its operands.
struct Case {
  std::string name;
  std::vector<Input> inputs;
  std::function<ggml_tensor*(ggml_context*, const Tensors&)> op;
};

using Cases = std::vector<Case>;

/// Functions of elements: unary, binary and gated ones.
void add_elementwise(Cases& cases);
/// Reductions, norms, softmax, sorting, rows by index and rope.
void add_rows(Cases& cases);
/// Copies and changes of shape.
void add_copies(Cases& cases);
/// Products, attention, convolutions and recurrences.
void add_heavy(Cases& cases);

/// "NAME type [shape]".
std::string title(std::string_view name, ggml_type type, const Shape& shape);

/// The quantized types of the other backend.
std::vector<ggml_type> quantized_types();

/// Those of them that stand for the rest where one more case each would say nothing new.
std::vector<ggml_type> common_types();

}  // namespace op_times
