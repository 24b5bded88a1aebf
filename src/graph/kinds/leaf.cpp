#include "graph/kinds.hpp"

namespace weft::graph::kinds {

const Rule value{.name = "value"};
const Rule variable{.name = "variable"};
const Rule input{.name = "input"};

namespace {
constexpr const Rule* list[] = {&value,
                                &variable,
                                &input,
                                &reshape,
                                &permute,
                                &slice,
                                &broadcast,
                                &detach,
                                &map,
                                &cast,
                                &reduce,
                                &cumsum,
                                &softmax,
                                &softmax_back,
                                &checkpoint,
                                &after,
                                &fused,
                                &fused_tail,
                                &attention,
                                &attention_back,
                                &rope,
                                &dropout,
                                &adam,
                                &clip,
                                &norm_back,
                                &cross_entropy,
                                &cross_entropy_back,
                                &norm,
                                &matmul,
                                &concat,
                                &pad,
                                &copy,
                                &get_rows,
                                &add_rows,
                                &gather,
                                &scatter_add};
}  // namespace

std::span<const Rule* const> all() { return list; }

}  // namespace weft::graph::kinds
