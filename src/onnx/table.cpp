#include "onnx/ops/contrib.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/ops/learners.hpp"

namespace weft::onnx {

const Table& table() {
  static const Table all = [] {
    Table out;
    add_activations(out);
    add_attention(out);
    add_constants(out);
    add_contrib(out);
    add_contrib_attention(out);
    add_contrib_bits(out);
    add_contrib_decoder(out);
    add_contrib_experts(out);
    add_control(out);
    add_conv(out);
    add_elementwise(out);
    add_forests(out);
    add_index(out);
    add_learners(out);
    add_loss(out);
    add_matmul(out);
    add_norm(out);
    add_pool(out);
    add_qlinear(out);
    add_quantize(out);
    add_random(out);
    add_recurrent(out);
    add_reduce(out);
    add_resize(out);
    add_sample(out);
    add_search(out);
    add_sequence(out);
    add_shape(out);
    add_signal(out);
    add_strings(out);
    add_text(out);
    add_training(out);
    add_trees(out);
    add_contrib_more(out);
    return out;
  }();
  return all;
}

}  // namespace weft::onnx
