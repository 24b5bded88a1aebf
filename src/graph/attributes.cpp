// The texts of the attributes that are not described in description/graph.toml.
#include "graph/attributes.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/format.hpp"
#include "graph/attributes/checkpoint.hpp"
#include "graph/attributes/fused.hpp"
#include "graph/attributes/map.hpp"
#include "graph/attributes/products.hpp"
#include "graph/attributes/random.hpp"
#include "graph/attributes/reduce.hpp"
#include "graph/attributes/windows.hpp"
#include "ops/view.hpp"

namespace weft::graph {
namespace {

std::string list(const auto& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += formatted("{}{}", i == 0 ? "" : ",", values[i]);
  }
  return text + "]";
}

std::string axes(const std::vector<ops::unfold::Axis>& all) {
  std::string text;
  for (const ops::unfold::Axis& axis : all) {
    text += formatted("{}{}/{}/{}", text.empty() ? "stride/pad/dilation " : " ", axis.stride,
                      axis.pad, axis.dilation);
  }
  return text;
}

std::string with_scalars(const std::string& function, const std::array<double, 4>& scalars) {
  if (std::ranges::all_of(scalars, [](double s) { return s == 0; })) return function;
  return function + " " + list(scalars);
}

std::string describe_steps(const std::vector<ops::fused::Step>& steps) {
  std::string text;
  for (const ops::fused::Step& step : steps) {
    text +=
        (text.empty() ? "" : ", ") + with_scalars(step.function, step.scalars) + list(step.inputs);
  }
  return text;
}

}  // namespace

void raise_other_attributes() {
  throw std::logic_error("A node has other attributes than its kind has.");
}

std::string text_of(const MapAttributes& a) { return with_scalars(a.function, a.scalars); }

std::string text_of(const ReduceAttributes& a) {
  std::vector<std::uint32_t> axes;
  for (std::uint32_t i = 0; i < ops::max_rank; ++i) {
    if ((a.axes >> i & 1U) != 0) axes.push_back(i);
  }
  return formatted("{} over {}", name(a.function), list(axes));
}

std::string text_of(const MatmulAttributes& a) {
  std::string text(name(a.dtype));
  if (a.alpha != 1) text += formatted(" alpha {}", a.alpha);
  if (a.activation != "none") text += " " + with_scalars(a.activation, a.scalars);
  if (a.allow_f16) text += " as f16";
  return text;
}

std::string text_of(const ProductsAttributes& a) {
  std::string text = formatted("{}", a.parts);
  if (a.function != "none") text += " " + with_scalars(a.function, a.scalars);
  if (a.allow_q8) text += " of x in 8 bits";
  if (a.exact) text += " exact";
  return text;
}

std::string text_of(const RandomAttributes& a) {
  const ops::random::Distribution& d = a.distribution;
  return formatted("{} low {} high {} mean {} std {} first {} domain {}", name(d.function), d.low,
                   d.high, d.mean, d.std, a.first, a.domain);
}

std::string text_of(const CheckpointAttributes& a) {
  return formatted("{}", static_cast<const void*>(a.function.get()));
}

std::string text_of(const ConvAttributes& a) {
  return formatted("{} groups {}", axes(a.axes), a.groups);
}

std::string text_of(const WindowAttributes& a) {
  return formatted("{} kernel {} {}", a.function == ops::pool::Function::max ? "max" : "mean",
                   list(a.kernel), axes(a.axes));
}

std::string text_of(const FusedAttributes& a) { return describe_steps(a.steps); }

std::string text_of(const FusedTailAttributes& a) {
  constexpr std::array names{"reduce", "softmax", "norm"};
  return formatted("{}, then {} {}", describe_steps(a.steps), names[a.tail.index()],
                   std::visit([](const auto& tail) { return text_of(tail); }, a.tail));
}

}  // namespace weft::graph
