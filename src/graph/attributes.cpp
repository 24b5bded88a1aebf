#include "graph/attributes.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
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

struct Describe {
  template <class Described>
  std::string operator()(const Described& a) const {
    static_assert(
        requires { text_of(a); },
        "these attributes have no text: describe them in description/graph.toml, or add "
        "an overload here");
    return text_of(a);
  }
  std::string operator()(const std::monostate&) const { return ""; }
  std::string operator()(const MapAttributes& a) const {
    return with_scalars(a.function, a.scalars);
  }
  std::string operator()(const ReduceAttributes& a) const {
    std::vector<std::uint32_t> axes;
    for (std::uint32_t i = 0; i < ops::max_rank; ++i) {
      if ((a.axes >> i & 1U) != 0) axes.push_back(i);
    }
    return formatted("{} over {}", name(a.function), list(axes));
  }
  std::string operator()(const CumsumAttributes& a) const {
    return formatted("{} axis {}{}{}", name(a.function), a.axis, a.exclusive ? " exclusive" : "",
                     a.reverse ? " reverse" : "");
  }
  std::string operator()(const SoftmaxAttributes& a) const {
    return formatted("{}scale {}{}", a.log ? "log " : "", a.scale,
                     a.max_bias > 0 ? formatted(" max_bias {}", a.max_bias) : "");
  }
  std::string operator()(const NormAttributes& a) const {
    return formatted("{} eps {}{}", name(a.kind), a.eps,
                     a.groups > 1 ? formatted(" groups {}", a.groups) : "");
  }
  std::string operator()(const MatmulAttributes& a) const {
    std::string text(name(a.dtype));
    if (a.alpha != 1) text += formatted(" alpha {}", a.alpha);
    if (a.activation != "none") text += " " + with_scalars(a.activation, a.scalars);
    if (a.allow_f16) text += " as f16";
    return text;
  }
  std::string operator()(const ProductsAttributes& a) const {
    std::string text = formatted("{}", a.parts);
    if (a.function != "none") text += " " + with_scalars(a.function, a.scalars);
    if (a.allow_q8) text += " of x in 8 bits";
    if (a.exact) text += " exact";
    return text;
  }
  std::string operator()(const ShapeAttributes& a) const { return list(a.shape); }
  std::string operator()(const PermuteAttributes& a) const { return list(a.order); }
  std::string operator()(const RandomAttributes& a) const {
    const ops::random::Distribution& d = a.distribution;
    return formatted("{} low {} high {} mean {} std {} first {} domain {}", name(d.function), d.low,
                     d.high, d.mean, d.std, a.first, a.domain);
  }
  std::string operator()(const RopeAttributes& a) const {
    return formatted("{} dims {} first {} base {}{}", name(a.mode), a.dims, a.first, a.base,
                     a.backward ? " backward" : "");
  }
  std::string operator()(const CheckpointAttributes& a) const {
    return formatted("{}", static_cast<const void*>(a.function.get()));
  }
  std::string operator()(const ConvAttributes& a) const {
    return formatted("{} groups {}", axes(a.axes), a.groups);
  }
  std::string operator()(const WindowAttributes& a) const {
    return formatted("{} kernel {} {}", a.function == ops::pool::Function::max ? "max" : "mean",
                     list(a.kernel), axes(a.axes));
  }
  std::string operator()(const ResizeAttributes& a) const {
    return formatted("to {}x{}", a.height, a.width);
  }
  std::string operator()(const BorderAttributes& a) const {
    return formatted("low {} to {}", list(a.low), list(a.shape));
  }
  std::string operator()(const CrossEntropyAttributes& a) const {
    return formatted("reduction {} ignored {}", static_cast<int>(a.reduction), a.ignored);
  }
  std::string operator()(const RecurrenceAttributes& a) const {
    return formatted("{} scale {}{}", name(a.kind), a.scale,
                     a.snapshots > 0 ? formatted(" snapshots {}", a.snapshots) : "");
  }
  std::string operator()(const RouterAttributes& a) const {
    return formatted("{} of score {} scale {}", a.count, static_cast<int>(a.score), a.scale);
  }
  std::string operator()(const FusedAttributes& a) const { return describe_steps(a.steps); }
  std::string operator()(const FusedTailAttributes& a) const {
    constexpr std::array names{"reduce", "softmax", "norm"};
    return formatted("{}, then {} {}", describe_steps(a.steps), names[a.tail.index()],
                     std::visit(*this, a.tail));
  }
  std::string operator()(const AdamAttributes& a) const { return a.coupled ? "coupled" : ""; }
};

}  // namespace

std::string describe(const Attributes& attributes) { return std::visit(Describe{}, attributes); }

}  // namespace weft::graph
