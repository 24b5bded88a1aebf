#pragma once

#include "onnx/call.hpp"

/// The families of operations; each adds its own to the table.
namespace weft::onnx {

void add_activations(Table& table);
void add_attention(Table& table);
void add_constants(Table& table);
void add_contrib(Table& table);
void add_contrib_attention(Table& table);
void add_contrib_bits(Table& table);
void add_control(Table& table);
void add_conv(Table& table);
void add_elementwise(Table& table);
void add_index(Table& table);
void add_loss(Table& table);
void add_matmul(Table& table);
void add_norm(Table& table);
void add_pool(Table& table);
void add_qlinear(Table& table);
void add_quantize(Table& table);
void add_random(Table& table);
void add_recurrent(Table& table);
void add_reduce(Table& table);
void add_resize(Table& table);
void add_sample(Table& table);
void add_search(Table& table);
void add_sequence(Table& table);
void add_shape(Table& table);
void add_signal(Table& table);
void add_strings(Table& table);
void add_text(Table& table);
void add_training(Table& table);
void add_trees(Table& table);

}  // namespace weft::onnx
