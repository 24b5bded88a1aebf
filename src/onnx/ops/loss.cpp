#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

/// -log p of the labels [N, d…] in [N, C, d…], weighted and reduced.
Tensor likelihood(const Call& c, const Tensor& x, const Tensor& labels, const Tensor& weights) {
  const Tensor label = as(labels, DType::i32);
  const bool ignores = c.attribute("ignore_index") != nullptr;
  const auto ignored = static_cast<double>(c.i("ignore_index", 0));
  const Tensor counts = ignores ? not_equal(label, full_like(label, ignored)) : Tensor();
  const Tensor safe = ignores ? where(counts, label, zeros_like(label)) : label;
  Tensor loss = neg(squeeze(take_along(x, unsqueeze(safe, 1), 1), {1}));
  Tensor weight = weights ? take(weights, safe, 0) : ones_like(loss);
  if (ignores) weight = where(counts, weight, zeros_like(weight));
  loss = loss * weight;
  const std::string reduction = c.s("reduction", "mean");
  if (reduction == "none") return as(loss, x.dtype());
  if (reduction == "sum") return as(sum(loss), x.dtype());
  return as(sum(loss) / sum(weight), x.dtype());
}

/// At most six dimensions behind the classes as one.
Tensor flat(const Tensor& x, std::size_t from) {
  Shape shape(x.shape().begin(), x.shape().begin() + static_cast<std::ptrdiff_t>(from));
  std::uint64_t rest = 1;
  for (std::size_t d = from; d < x.shape().size(); ++d) rest *= x.shape().at(d);
  shape.push_back(rest);
  return x.reshape(shape);
}

Tensor shaped(const Call& c, const Tensor& loss) {
  return c.s("reduction", "mean") == "none" ? loss.reshape(c.shape(1)) : loss;
}

/// Logits [N, C, d…] and labels [N, d…].
void check_shapes(const Call& c) {
  if (c.shape(0).size() < 2 || c.shape(1).size() + 1 != c.shape(0).size())
    c.wrong(formatted("Labels {} are not those of {}.", describe(c.in(1)), describe(c.in(0))));
}

Values negative_log_likelihood(Call& c) {
  check_shapes(c);
  return {shaped(c, likelihood(c, flat(c.t(0), 2), flat(c.t(1), 1), c.maybe(2)))};
}

Values softmax_cross_entropy(Call& c) {
  check_shapes(c);
  const Tensor x = c.t(0);
  const Tensor logs = log_softmax(flat(x, 2), 1);
  return {shaped(c, likelihood(c, logs, flat(c.t(1), 1), c.maybe(2))), logs.reshape(x.shape())};
}

}  // namespace

void add_loss(Table& table) {
  table["NegativeLogLikelihoodLoss"] = negative_log_likelihood;
  table["SoftmaxCrossEntropyLoss"] = softmax_cross_entropy;
}

}  // namespace weft::onnx
