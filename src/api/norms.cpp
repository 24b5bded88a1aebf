#include "weft/norms.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "graph/called.hpp"
#include "ops/view.hpp"

namespace weft {

BatchNorm batch_norm(In x, const Tensor& running_mean, const Tensor& running_var,
                     const Tensor& weight, const Tensor& bias, const BatchNormOptions& options) {
  need("batch_norm", "x", x.tensor, x.where);
  const Shape& shape = x.tensor.shape();
  if (shape.size() < 2 || !is_float(x.tensor.dtype())) {
    refuse("batch_norm", x.where,
           formatted("batch_norm needs floats [batch, channels, …]; it was given {}.",
                     describe(x.tensor)));
  }
  if (!(options.eps >= 0) || !(options.momentum >= 0) || options.momentum > 1) {
    refuse(
        "batch_norm", x.where,
        formatted("batch_norm needs an eps of at least 0 and a momentum from 0 to 1; they are {} "
                  "and {}.",
                  options.eps, options.momentum));
  }
  const std::uint64_t channels = shape[1];
  const auto at = [&](const Tensor& t) { return In(t, x.where); };
  for (const Tensor* each : {&running_mean, &running_var, &weight, &bias}) {
    if (*each && each->shape() != Shape{channels}) {
      refuse("batch_norm", x.where,
             formatted("batch_norm of {} needs [channels] as running numbers, weight and bias; {} "
                       "was given.",
                       describe(x.tensor), describe(*each)));
    }
  }
  if (!options.training) {
    need("batch_norm", "its running mean", running_mean, x.where);
    need("batch_norm", "its running variance", running_var, x.where);
  }
  Shape along(shape.size(), 1);
  along[1] = channels;
  const Tensor values = x.tensor.to(DType::f32, x.where);
  const auto channel = [&](const Tensor& t) {
    return t.to(DType::f32, x.where).reshape(along, x.where);
  };
  BatchNorm out{.y = {}, .running_mean = running_mean, .running_var = running_var};
  Tensor centered;
  Tensor variance;
  if (options.training) {
    Dims dims{0};
    for (std::size_t i = 2; i < shape.size(); ++i) {
      dims.push_back(static_cast<Dims::value_type>(i));
    }
    const Tensor center = mean(at(values), dims, true);
    centered = values - at(center);
    variance = mean(at(centered * at(centered)), dims, true);
    const auto blend = [&](const Tensor& old, const Tensor& batch) {
      const Tensor fresh = batch.detach(x.where).reshape({channels}, x.where);
      const Tensor kept = old.to(DType::f32, x.where);
      return (at(kept) * (1 - options.momentum) + at(at(fresh) * options.momentum))
          .to(old.dtype(), x.where);
    };
    const double count = static_cast<double>(x.tensor.size()) / static_cast<double>(channels);
    if (running_mean) out.running_mean = blend(running_mean, center);
    if (running_var) {
      out.running_var = blend(running_var, at(variance) * (count / std::fmax(count - 1, 1)));
    }
  } else {
    centered = values - at(channel(running_mean));
    variance = channel(running_var);
  }
  Tensor y = centered * at(rsqrt(at(at(variance) + options.eps)));
  if (weight) y = y * at(channel(weight));
  if (bias) y = y + at(channel(bias));
  out.y = y.to(x.tensor.dtype(), x.where);
  return out;
}

Tensor instance_norm(In x, const Tensor& weight, const Tensor& bias, float eps) {
  const graph::Called called("instance_norm", x.where);
  need("instance_norm", "x", x.tensor, x.where);
  const Shape& shape = x.tensor.shape();
  if (shape.size() < 3 || !is_float(x.tensor.dtype())) {
    refuse("instance_norm", x.where,
           formatted("instance_norm needs floats [batch, channels, …] with at least one dimension "
                     "behind the channels; it was given {}.",
                     describe(x.tensor)));
  }
  return group_norm(x, shape[1], weight, bias, eps);
}

}  // namespace weft
