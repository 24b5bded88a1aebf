// The choice of experts: scores, the largest of them, their numbers and their weights.
#include "ops/router/router.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "fuse/patterns.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::View;
using ops::router::Args;
using ops::router::Score;

bool is_unary(const ggml_tensor* node, ggml_unary_op op) {
  return node != nullptr && node->op == GGML_OP_UNARY && node->op_params[0] == op;
}

/// A softmax of rows and nothing else.
bool is_plain_softmax(const ggml_tensor& node) {
  return node.op == GGML_OP_SOFT_MAX && node.src[1] == nullptr && node.src[2] == nullptr &&
         std::bit_cast<float>(node.op_params[0]) == 1 && node.op_params[1] == 0;
}

/// Whether `source` shows all of `tensor`, maybe in another shape.
bool shows(const ggml_tensor* source, const ggml_tensor& tensor) {
  return source != nullptr && &root_of(*source) == &root_of(tensor) &&
         source->data == tensor.data &&
         source->ne[0] * source->ne[1] * source->ne[2] * source->ne[3] ==
             tensor.ne[0] * tensor.ne[1] * tensor.ne[2] * tensor.ne[3];
}

/// Walks along the nodes of the pattern.
class Walk {
 public:
  explicit Walk(const Candidates& candidates) : candidates_(candidates) {}

  std::optional<Fusion> find() {
    if (!scores() || !choice() || !weights()) return std::nullopt;
    // Everything in between stays inside: nobody else may want it.
    const std::size_t last = at_ - 1;
    for (std::size_t i = 0; i < last; ++i) {
      const ggml_tensor* node = candidates_.at(i);
      if (node != sort_ && !candidates_.uses.only_among(*node, candidates_.nodes.first(at_))) {
        return std::nullopt;
      }
    }
    if (!candidates_.uses.only_as(*sort_, *ids_)) return std::nullopt;
    return plan(*candidates_.at(last));
  }

 private:
  const ggml_tensor* next() const { return candidates_.at(at_); }

  /// SOFT_MAX, SIGMOID, SOFTPLUS and SQRT, or none; then maybe the ADD of a bias.
  bool scores() {
    const ggml_tensor* first = next();
    if (is_plain_softmax(*first)) {
      args_.score = Score::softmax;
    } else if (is_unary(first, GGML_UNARY_OP_SIGMOID)) {
      args_.score = Score::sigmoid;
    } else if (is_unary(first, GGML_UNARY_OP_SOFTPLUS) && candidates_.is(1, GGML_OP_SQRT) &&
               candidates_.at(1)->src[0] == first) {
      args_.score = Score::root_softplus;
      ++at_;
    } else if (first->op == GGML_OP_ARGSORT ||
               (first->op == GGML_OP_ADD && candidates_.is(1, GGML_OP_ARGSORT))) {
      args_.score = Score::logit;
    } else {
      return false;
    }
    logits_ = first->src[0];
    scores_ = logits_;
    if (args_.score != Score::logit) scores_ = candidates_.at(at_++);
    keys_ = scores_;
    if (next() != nullptr && next()->op == GGML_OP_ADD && next()->src[0] == scores_) {
      keys_ = next();
      bias_ = next()->src[1];
      ++at_;
    }
    return logits_->ne[2] == 1 && logits_->ne[3] == 1;
  }

  /// ARGSORT, and GET_ROWS of the scores by the first columns of its result.
  bool choice() {
    if (!candidates_.is(at_, GGML_OP_ARGSORT) || !candidates_.is(at_ + 1, GGML_OP_GET_ROWS)) {
      return false;
    }
    sort_ = candidates_.at(at_);
    const ggml_tensor& rows = *candidates_.at(at_ + 1);
    ids_ = rows.src[1];
    at_ += 2;
    result_ = &rows;
    return sort_->src[0] == keys_ && sort_->op_params[0] == GGML_SORT_ORDER_DESC &&
           shows(rows.src[0], *scores_) && rows.src[0]->ne[0] == 1 &&
           rows.src[0]->ne[1] == logits_->ne[0] && &root_of(*ids_) == sort_ &&
           ids_->data == sort_->data && ids_->ne[1] == logits_->ne[1] && ids_->ne[2] == 1 &&
           ids_->nb[1] == sort_->nb[1];
  }

  /// Maybe a SOFT_MAX of what was chosen; SUM_ROWS, CLAMP and DIV; SCALE.
  bool weights() {
    const std::int64_t chosen = ids_->ne[0];
    const auto takes_rows = [&](const ggml_tensor& node) {
      return shows(node.src[0], *result_) && node.src[0]->ne[0] == chosen;
    };
    if (next() != nullptr && is_plain_softmax(*next()) && takes_rows(*next())) {
      args_.softmax_chosen = true;
      result_ = candidates_.at(at_++);
    }
    if (candidates_.is(at_, GGML_OP_SUM_ROWS) && candidates_.is(at_ + 1, GGML_OP_CLAMP) &&
        candidates_.is(at_ + 2, GGML_OP_DIV) && takes_rows(*next())) {
      const ggml_tensor& sum = *next();
      const ggml_tensor& clamp = *candidates_.at(at_ + 1);
      const ggml_tensor& quotient = *candidates_.at(at_ + 2);
      const float most = std::bit_cast<float>(clamp.op_params[1]);
      if (clamp.src[0] == &sum && quotient.src[1] == &clamp && takes_rows(quotient) &&
          std::isinf(most)) {
        args_.normalize = true;
        args_.least = std::bit_cast<float>(clamp.op_params[0]);
        result_ = &quotient;
        at_ += 3;
      }
    }
    if (candidates_.is(at_, GGML_OP_SCALE) && shows(next()->src[0], *result_) &&
        next()->op_params[1] == 0) {
      args_.scale = std::bit_cast<float>(next()->op_params[0]);
      result_ = candidates_.at(at_++);
    }
    return true;
  }

  std::optional<Fusion> plan(const ggml_tensor& last) {
    const auto view_of = [&](const ggml_tensor& tensor) -> std::optional<View> {
      const auto at = candidates_.place(tensor);
      const auto view = at ? to_view(tensor, *at) : std::unexpected(at.error());
      return view ? std::optional(*view) : std::nullopt;
    };
    const auto logits = view_of(*logits_);
    const auto ids = view_of(*ids_);
    const auto weights = view_of(last);
    if (!logits || !ids || !weights || !weights->is_dense()) return std::nullopt;
    args_.logits = drop_front(*logits, 2);
    args_.ids = drop_front(*ids, 2);
    const std::array<std::uint64_t, 2> shape{args_.ids.shape[0], args_.ids.shape[1]};
    args_.weights = reshape_dense(*weights, shape);
    if (bias_ != nullptr) {
      const auto bias = view_of(*bias_);
      if (!bias || bias->count() != args_.logits.shape[1]) return std::nullopt;
      args_.bias = drop_front(*bias, 3);
    }
    return fusion_of(at_, ops::router::plan(args_, candidates_.caps));
  }

  const Candidates& candidates_;
  std::size_t at_ = 0;
  Args args_;
  const ggml_tensor* logits_ = nullptr;
  const ggml_tensor* scores_ = nullptr;
  const ggml_tensor* keys_ = nullptr;  ///< What is sorted.
  const ggml_tensor* bias_ = nullptr;
  const ggml_tensor* sort_ = nullptr;
  const ggml_tensor* ids_ = nullptr;     ///< The first columns of what sorting gave.
  const ggml_tensor* result_ = nullptr;  ///< The weights so far.
};

}  // namespace

std::optional<Fusion> fuse_router(const Candidates& candidates) { return Walk(candidates).find(); }

}  // namespace weft::plugin
