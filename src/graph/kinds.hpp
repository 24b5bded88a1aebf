#pragma once

#include <span>

#include "graph/rule.hpp"

namespace weft::graph::kinds {

// Every kind of operation; src/graph/kinds/ has one file per family.

// Leaves.
extern const Rule value;     ///< A tensor with values.
extern const Rule variable;  ///< A tensor whose values updates replace.
extern const Rule input;     ///< Stands for an input of a function that is compiled.
// Views.
extern const Rule reshape;
extern const Rule permute;
extern const Rule slice;
extern const Rule broadcast;
extern const Rule detach;
extern const Rule
    checkpoint;  ///< Its first input, with a rule how to compute that again from the others.
extern const Rule after;  ///< Its first input, once the second is computed.
// Elementwise.
extern const Rule map;
extern const Rule cast;
extern const Rule fused;       ///< A chain of them; made by a pass.
extern const Rule fused_tail;  ///< A reduction, a softmax or a norm of a chain; made by a pass.
// Along dimensions.
extern const Rule reduce;
extern const Rule cumsum;
extern const Rule fft;
extern const Rule sort;
extern const Rule softmax;
extern const Rule softmax_back;
extern const Rule norm;
extern const Rule norm_back;
extern const Rule cross_entropy;
extern const Rule cross_entropy_back;
// Transformers.
extern const Rule attention;
extern const Rule attention_back;
extern const Rule rope;
extern const Rule sinusoid;
// Sequences, and parts of particular models.
extern const Rule ssm_conv;
extern const Rule recurrence;
extern const Rule hyper_combine;
extern const Rule hyper_read;
extern const Rule hyper_write;
extern const Rule indexer;
extern const Rule router;
// Training.
extern const Rule dropout;
extern const Rule random;
extern const Rule adam;
extern const Rule sgd;
extern const Rule sgd_momentum;
extern const Rule clip;
// Products.
extern const Rule matmul;
extern const Rule stored;  ///< With weights of any type, whose rows are multiplied.
extern const Rule chosen;  ///< The same with one of several matrices for each row.
extern const Rule solve;
// Images.
extern const Rule conv;
extern const Rule conv_transposed;
extern const Rule conv_weight;
extern const Rule pool;
extern const Rule pool_back;
extern const Rule unfold;
extern const Rule fold;
extern const Rule resize;
// Moving elements.
extern const Rule concat;
extern const Rule pad;
extern const Rule border;
extern const Rule band;
extern const Rule tile;
extern const Rule tile_back;
extern const Rule copy;
extern const Rule get_rows;
extern const Rule set_rows;
extern const Rule add_rows;
extern const Rule gather;
extern const Rule scatter_add;

/// All of them, for tests and documents.
std::span<const Rule* const> all();

}  // namespace weft::graph::kinds
