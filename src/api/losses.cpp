#include "weft/losses.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>

#include "api/arguments.hpp"
#include "api/labels.hpp"
#include "base/format.hpp"
#include "describe/attributes/cross_entropy.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "ops/view.hpp"
#include "weft/device.hpp"
#include "weft/math.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

/// Two inputs of a loss in f32, and what both need.
struct Pair {
  Pair(std::string_view function, In x, const Tensor& target)
      : name(graph::called_or(function)), place(x.where), dtype(DType::f32) {
    need(function, "x", x.tensor, x.where);
    need(function, "its target", target, x.where);
    if (!graph::broadcast(x.tensor.shape(), target.shape())) {
      refuse(function, x.where,
             formatted("{} needs shapes that broadcast; they are {} and {}.", name,
                       describe(x.tensor), describe(target)));
    }
    if (!is_float(x.tensor.dtype())) {
      refuse(function, x.where,
             formatted("{} needs predictions of a float type; they are {}.", name,
                       describe(x.tensor)));
    }
    dtype = x.tensor.dtype();
    a = x.tensor.to(DType::f32, place);
    b = target.to(DType::f32, place);
  }

  [[nodiscard]] In at(const Tensor& t) const { return {t, place}; }
  [[nodiscard]] Tensor number(double value) const {
    return a.device().full({}, value, DType::f32, place);
  }
  [[nodiscard]] Tensor finish(const Tensor& losses, Reduction reduction) const {
    const Tensor y = reduction == Reduction::none  ? losses
                     : reduction == Reduction::sum ? sum(at(losses))
                                                   : mean(at(losses));
    return y.to(dtype, place);
  }

  std::string_view name;
  Where place;
  DType dtype;
  Tensor a;
  Tensor b;
};

void need_positive(std::string_view function, std::string_view what, double value,
                   const Where& at) {
  if (value > 0 && std::isfinite(value)) return;
  refuse(function, at, formatted("{} needs {} above 0; it is {}.", function, what, value));
}

/// A parabola up to `limit` and straight lines beyond it, of distances divided by `unit`.
Tensor bent(const Pair& p, double limit, double scale) {
  const Tensor apart = abs(p.at(p.a - p.at(p.b)));
  const Tensor inner = p.at(apart * p.at(apart)) * (0.5 * scale);
  const Tensor outer = p.at(p.at(apart) - limit / 2) * (limit * scale);
  return where(p.at(less(p.at(apart), p.number(limit))), inner, outer);
}

/// Against labels of which a share is spread evenly over all classes.
Tensor smoothed_cross_entropy(In logits, const Tensor& labels, const CrossEntropyOptions& options) {
  const auto at = [&](const Tensor& t) { return In(t, logits.where); };
  need("cross_entropy", "its labels", labels, logits.where);
  const double share = options.label_smoothing;
  if (!(share >= 0) || share > 1) {
    refuse("cross_entropy", logits.where,
           formatted("cross_entropy needs a label_smoothing from 0 to 1; it is {}.", share));
  }
  // This also says what does not fit.
  CrossEntropyOptions each = options;
  each.reduction = Reduction::none;
  each.label_smoothing = 0;
  const Tensor rows = cross_entropy(logits, labels, each).to(DType::f32, logits.where);
  const Tensor values = logits.tensor.to(DType::f32, logits.where);
  const auto last = static_cast<Dims::value_type>(values.shape().size() - 1);
  // The mean over all classes of their losses.
  const Tensor even = logsumexp(at(values), {-1}) - at(mean(at(values), {last}));
  const Tensor smooth = at(rows) * (1 - share) + at(at(even) * share);
  const auto reduced = [&](const Tensor& losses) {
    return options.reduction == Reduction::none ? losses : sum(at(losses));
  };
  if (is_float(labels.dtype())) {
    return options.reduction == Reduction::mean ? mean(at(smooth)) : reduced(smooth);
  }
  const Tensor counted =
      counted_labels(labels, values.shape().back(), options.ignored, logits.where);
  const Tensor none = values.device().full({}, 0, DType::f32, logits.where);
  const Tensor losses = where(at(counted), smooth, none);
  if (options.reduction != Reduction::mean) return reduced(losses);
  return sum(at(losses)) / at(sum(at(counted_numbers(counted, logits.where))));
}

}  // namespace

Tensor mse_loss(In x, const Tensor& target, Reduction reduction) {
  const Pair p("mse_loss", x, target);
  const Tensor apart = p.a - p.at(p.b);
  return p.finish(apart * p.at(apart), reduction);
}

Tensor l1_loss(In x, const Tensor& target, Reduction reduction) {
  const Pair p("l1_loss", x, target);
  return p.finish(abs(p.at(p.a - p.at(p.b))), reduction);
}

Tensor huber_loss(In x, const Tensor& target, double delta, Reduction reduction) {
  const Pair p("huber_loss", x, target);
  need_positive("huber_loss", "a delta", delta, x.where);
  return p.finish(bent(p, delta, 1), reduction);
}

Tensor smooth_l1_loss(In x, const Tensor& target, double beta, Reduction reduction) {
  const Pair p("smooth_l1_loss", x, target);
  need_positive("smooth_l1_loss", "a beta", beta, x.where);
  return p.finish(bent(p, beta, 1 / beta), reduction);
}

Tensor hinge_loss(In x, const Tensor& target, Reduction reduction) {
  const Pair p("hinge_loss", x, target);
  return p.finish(relu(p.at(1 - p.at(p.a * p.at(p.b)))), reduction);
}

Tensor binary_cross_entropy(In x, const Tensor& target, Reduction reduction) {
  const Pair p("binary_cross_entropy", x, target);
  // Below this, the logarithm is less than -87 and soon that of no number; such an x counts as 0.
  constexpr double tiny = 0x1p-126;
  const auto logarithm = [&](const Tensor& share) {
    const Tensor some = greater(p.at(share), p.number(tiny));
    return where(p.at(some), log(p.at(where(p.at(some), share, p.number(1)))), p.number(-100));
  };
  const Tensor rest = 1 - p.at(p.a);
  const Tensor left = p.b * p.at(logarithm(p.a));
  const Tensor right = (1 - p.at(p.b)) * p.at(logarithm(rest));
  return p.finish(-p.at(left + p.at(right)), reduction);
}

Tensor binary_cross_entropy_with_logits(In x, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options) {
  const graph::Called called("binary_cross_entropy_with_logits", x.where);
  const Pair p("binary_cross_entropy_with_logits", x, target);
  if (!options.pos_weight) {
    return p.finish(softplus(p.at(p.a)) - p.at(p.a * p.at(p.b)), options.reduction);
  }
  // (1 - t) softplus(x) + w t softplus(-x), where softplus(x) = x + softplus(-x)
  const Tensor weight = options.pos_weight.to(DType::f32, x.where);
  const Tensor rest = 1 - p.at(p.b);
  const Tensor both = rest + p.at(weight * p.at(p.b));
  const Tensor losses = rest * p.at(p.a) + p.at(both * p.at(softplus(p.at(-p.at(p.a)))));
  return p.finish(losses, options.reduction);
}

Tensor kl_div(In x, const Tensor& target, const KlDivOptions& options) {
  const Pair p("kl_div", x, target);
  if (options.log_target) {
    return p.finish(exp(p.at(p.b)) * p.at(p.b - p.at(p.a)), options.reduction);
  }
  const Tensor some = greater(p.at(p.b), p.number(0));
  const Tensor safe = where(p.at(some), p.b, p.number(1));
  const Tensor losses = p.b * p.at(log(p.at(safe)) - p.at(p.a));
  return p.finish(where(p.at(some.broadcast_to(losses.shape(), x.where)), losses, p.number(0)),
                  options.reduction);
}

Tensor nll_loss(In x, const Tensor& target, const NllOptions& options) {
  need("nll_loss", "x", x.tensor, x.where);
  need("nll_loss", "its labels", target, x.where);
  const Tensor labels = as_indices(target, x.where);
  const Shape& shape = x.tensor.shape();
  if (shape.empty() || !is_float(x.tensor.dtype()) || !is_integer(labels.dtype()) ||
      labels.shape() != Shape(shape.begin(), shape.end() - 1)) {
    refuse("nll_loss", x.where,
           formatted("nll_loss needs floats […, classes] and whole numbers as labels […]; it was "
                     "given {} and "
                     "{}.",
                     describe(x.tensor), describe(target)));
  }
  check_labels("nll_loss", labels, shape.back(), x.where);
  const auto at = [&](const Tensor& t) { return In(t, x.where); };
  const Tensor none = labels.device().full({}, 0, DType::f32, x.where);
  const Tensor counted = counted_labels(labels, shape.back(), options.ignored, x.where);
  const auto last = static_cast<std::uint32_t>(shape.size() - 1);
  // What does not count by itself picks the first element; what is no class is left to gather(),
  // which reports it where that is asked for, and picks 0.
  const Tensor zero = labels.device().full({}, 0, DType::i32, x.where);
  const Tensor left = labels.device().full({}, options.ignored, DType::i32, x.where);
  const Tensor aside = logical_or(at(equal(at(labels), left)), less(at(labels), zero));
  const Tensor places = where(at(aside), zero, labels);
  Tensor weights = counted_numbers(counted, x.where);
  if (options.weight) {
    const Tensor each = take(at(options.weight.to(DType::f32, x.where)), places, 0);
    weights = each * at(weights);
  }
  const Tensor picked = gather(at(x.tensor.to(DType::f32, x.where)), unsqueeze(at(places), -1),
                               static_cast<int>(last))
                            .reshape(labels.shape(), x.where);
  const Tensor losses = where(at(counted), -at(picked * at(weights)), none);
  const Tensor y = options.reduction == Reduction::none  ? losses
                   : options.reduction == Reduction::sum ? sum(at(losses))
                                                         : sum(at(losses)) / at(sum(at(weights)));
  return y.to(x.tensor.dtype(), x.where);
}

Tensor cross_entropy(In logits, const Tensor& labels) { return cross_entropy(logits, labels, {}); }

Tensor cross_entropy(In logits, const Tensor& target, const CrossEntropyOptions& options) {
  const Tensor labels = as_indices(target, logits.where);
  if (options.label_smoothing != 0) return smoothed_cross_entropy(logits, labels, options);
  const graph::CrossEntropyAttributes attributes{
      static_cast<ops::cross_entropy::Reduction>(options.reduction), options.ignored};
  const bool shares = labels && is_float(labels.dtype());
  Tensor y = graph::make(graph::kinds::cross_entropy, attributes,
                         {logits.tensor, shares ? Tensor() : labels, shares ? labels : Tensor()},
                         logits.where);
  check_labels("cross_entropy", labels, logits.tensor.shape().back(), logits.where);
  return y;
}

Tensor cosine_similarity(In a, const Tensor& b, int axis, double eps) {
  const Pair p("cosine_similarity", a, b);
  const Shape shape = *graph::broadcast(p.a.shape(), p.b.shape());
  const auto number = static_cast<int>(axis_in("cosine_similarity", axis, shape, a.where));
  const Tensor x = p.a.broadcast_to(shape, a.where);
  const Tensor y = p.b.broadcast_to(shape, a.where);
  const auto unit = [&](const Tensor& t) {
    const Tensor length = norm(p.at(t), 2, {number}, true);
    return t / p.at(maximum(p.at(length), p.number(eps)));
  };
  return sum(p.at(unit(x) * p.at(unit(y))), {static_cast<Dims::value_type>(number)})
      .to(p.dtype, a.where);
}

Tensor cosine_embedding_loss(In a, const Tensor& b, const Tensor& target, double margin,
                             Reduction reduction) {
  const graph::Called called("cosine_embedding_loss", a.where);
  need("cosine_embedding_loss", "a", a.tensor, a.where);
  need("cosine_embedding_loss", "b", b, a.where);
  need("cosine_embedding_loss", "its target", target, a.where);
  const Tensor cosine = cosine_similarity(In(a.tensor.to(DType::f32, a.where), a.where), b);
  const Pair p("cosine_embedding_loss", In(cosine, a.where), target);
  const Tensor same = 1 - p.at(p.a);
  const Tensor other = relu(p.at(p.at(p.a) - margin));
  const Tensor losses = where(p.at(greater(p.at(p.b), p.number(0))), same, other);
  return p.finish(losses, reduction).to(a.tensor.dtype(), a.where);
}

}  // namespace weft
