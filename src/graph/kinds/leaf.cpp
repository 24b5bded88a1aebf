#include "graph/kinds.hpp"

namespace weft::graph::kinds {

const Rule value{.name = "value"};
const Rule variable{.name = "variable"};
const Rule input{.name = "input"};

namespace {
constexpr const Rule* list[] = {&value,         &variable,
                                &input,         &reshape,
                                &permute,       &slice,
                                &broadcast,     &detach,
                                &checkpoint,    &after,
                                &map,           &cast,
                                &fused,         &fused_tail,
                                &reduce,        &cumsum,
                                &fft,           &sort,
                                &softmax,       &softmax_back,
                                &norm,          &norm_back,
                                &cross_entropy, &cross_entropy_back,
                                &attention,     &attention_back,
                                &rope,          &sinusoid,
                                &ssm_conv,      &recurrence,
                                &hyper_combine, &hyper_read,
                                &hyper_write,   &indexer,
                                &router,        &dropout,
                                &adam,          &sgd,
                                &sgd_momentum,  &clip,
                                &matmul,        &stored,
                                &chosen,        &solve,
                                &conv,          &conv_transposed,
                                &conv_weight,   &pool,
                                &pool_back,     &unfold,
                                &fold,          &resize,
                                &concat,        &pad,
                                &border,        &band,
                                &tile,          &tile_back,
                                &copy,          &get_rows,
                                &set_rows,      &add_rows,
                                &gather,        &scatter_add,
                                &random};
}  // namespace

std::span<const Rule* const> all() { return list; }

}  // namespace weft::graph::kinds
