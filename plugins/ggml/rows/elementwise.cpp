#include <array>

#include "api.hpp"
#include "rows/common.hpp"
#include "rows/elementwise.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;

std::string_view unary_name(ggml_unary_op op) {
  switch (op) {
    case GGML_UNARY_OP_ABS: return "abs";
    case GGML_UNARY_OP_SGN: return "sign";
    case GGML_UNARY_OP_NEG: return "neg";
    case GGML_UNARY_OP_STEP: return "step";
    case GGML_UNARY_OP_TANH: return "tanh";
    case GGML_UNARY_OP_ELU: return "elu";
    case GGML_UNARY_OP_RELU: return "relu";
    case GGML_UNARY_OP_SIGMOID: return "sigmoid";
    case GGML_UNARY_OP_GELU: return "gelu_tanh";
    case GGML_UNARY_OP_GELU_QUICK: return "gelu_quick";
    case GGML_UNARY_OP_SILU: return "silu";
    case GGML_UNARY_OP_HARDSWISH: return "hardswish";
    case GGML_UNARY_OP_HARDSIGMOID: return "hardsigmoid";
    case GGML_UNARY_OP_EXP: return "exp";
    case GGML_UNARY_OP_EXPM1: return "expm1";
    case GGML_UNARY_OP_SOFTPLUS: return "softplus";
    case GGML_UNARY_OP_GELU_ERF: return "gelu";
    case GGML_UNARY_OP_XIELU: return "xielu";
    case GGML_UNARY_OP_FLOOR: return "floor";
    case GGML_UNARY_OP_CEIL: return "ceil";
    case GGML_UNARY_OP_ROUND: return "round_away";
    case GGML_UNARY_OP_TRUNC: return "trunc";
    case GGML_UNARY_OP_COUNT: break;
  }
  return {};
}

std::string_view gated_name(ggml_glu_op op) {
  switch (op) {
    case GGML_GLU_OP_REGLU: return "reglu";
    case GGML_GLU_OP_GEGLU: return "geglu_tanh";
    case GGML_GLU_OP_SWIGLU: return "swiglu";
    case GGML_GLU_OP_SWIGLU_OAI: return "swiglu_oai";
    case GGML_GLU_OP_GEGLU_ERF: return "geglu";
    case GGML_GLU_OP_GEGLU_QUICK: return "geglu_quick";
    case GGML_GLU_OP_SWIGLU_CLAMP: return "swiglu_clamp";
    case GGML_GLU_OP_COUNT: break;
  }
  return {};
}

Result<Plan> unary(const Node& node, const Caps& caps) {
  const auto function = unary_function(node);
  if (!function) return std::unexpected(function.error());
  return map_to(function->name, {node.source(0)}, node.dst, caps, function->scalars);
}

Result<Plan> gated(const Node& node, const Caps& caps) {
  const auto function = gated_function(node);
  if (!function) return std::unexpected(function.error());
  View gate = node.source(0);
  View up = node.source(1);
  if (!up.given()) {  // Both lie in one tensor, side by side.
    const std::uint64_t half = node.dst.shape[3];
    const bool swapped = node.param(1) != 0;
    up = gate.slice(3, swapped ? 0 : half, half);
    gate = gate.slice(3, swapped ? half : 0, half);
  }
  return map_to(function->name, {gate, up}, node.dst, caps, function->scalars);
}

Result<Plan> binary(std::string_view function, const Node& node, const Caps& caps) {
  View dst = node.dst;
  View left = node.source(0);
  View right = node.source(1);
  split_repeats(std::array{&dst, &left}, right);
  return map_to(function, {left, right}, dst, caps);
}

Result<Plan> add(const Node& node, const Caps& caps) { return binary("add", node, caps); }
Result<Plan> sub(const Node& node, const Caps& caps) { return binary("sub", node, caps); }
Result<Plan> mul(const Node& node, const Caps& caps) { return binary("mul", node, caps); }
Result<Plan> div(const Node& node, const Caps& caps) { return binary("div", node, caps); }

Result<Plan> plain(std::string_view function, const Node& node, const Caps& caps,
                   const ops::map::Scalars& scalars = {}) {
  return map_to(function, {node.source(0)}, node.dst, caps, scalars);
}

Result<Plan> sqr(const Node& node, const Caps& caps) { return plain("square", node, caps); }
Result<Plan> sqrt(const Node& node, const Caps& caps) { return plain("sqrt", node, caps); }
Result<Plan> log(const Node& node, const Caps& caps) { return plain("log", node, caps); }
Result<Plan> sin(const Node& node, const Caps& caps) { return plain("sin", node, caps); }
Result<Plan> cos(const Node& node, const Caps& caps) { return plain("cos", node, caps); }
Result<Plan> scale(const Node& node, const Caps& caps) {
  return plain("scale", node, caps, {node.param_f32(0), node.param_f32(1)});
}
/// With bounds that meet, which Chameleon's graph has, the lower one is the result whatever memory
/// that nobody wrote holds: also where that is no number.
Result<Plan> clamp(const Node& node, const Caps& caps) {
  const float low = node.param_f32(0);
  if (low >= node.param_f32(1)) return map_to("fill", {}, node.dst, caps, {low});
  return plain("clamp", node, caps, {node.param_f32(0), node.param_f32(1)});
}
Result<Plan> leaky_relu(const Node& node, const Caps& caps) {
  return plain("leaky_relu", node, caps, {node.param_f32(0)});
}
Result<Plan> fill(const Node& node, const Caps& caps) {
  return map_to("fill", {}, node.dst, caps, {node.param_f32(0)});
}
Result<Plan> arange(const Node& node, const Caps& caps) {
  const View line = drop_front(node.dst, 3);
  return map_to("arange", {}, line, caps, {node.param_f32(0), node.param_f32(2)});
}

constexpr std::array rows{
    Row{GGML_OP_UNARY, unary}, Row{GGML_OP_GLU, gated},     Row{GGML_OP_ADD, add},
    Row{GGML_OP_ADD1, add},    Row{GGML_OP_SUB, sub},       Row{GGML_OP_MUL, mul},
    Row{GGML_OP_DIV, div},     Row{GGML_OP_SQR, sqr},       Row{GGML_OP_SQRT, sqrt},
    Row{GGML_OP_LOG, log},     Row{GGML_OP_SIN, sin},       Row{GGML_OP_COS, cos},
    Row{GGML_OP_SCALE, scale}, Row{GGML_OP_CLAMP, clamp},   Row{GGML_OP_LEAKY_RELU, leaky_relu},
    Row{GGML_OP_FILL, fill},   Row{GGML_OP_ARANGE, arange},
};

}  // namespace

Result<MapFunction> unary_function(const Node& node) {
  const auto op = static_cast<ggml_unary_op>(node.param(0));
  const std::string_view function = unary_name(op);
  if (function.empty()) {
    return fail(ErrorCode::unsupported, "Unary function {} of ggml is not known here.",
                node.param(0));
  }
  ops::map::Scalars scalars{};
  if (op == GGML_UNARY_OP_XIELU) {
    for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i] = node.param_f32(i + 1);
  }
  if (op == GGML_UNARY_OP_ELU) scalars[0] = 1;
  return MapFunction{function, scalars};
}

Result<MapFunction> gated_function(const Node& node) {
  const auto op = static_cast<ggml_glu_op>(node.param(0));
  const std::string_view function = gated_name(op);
  if (function.empty()) {
    return fail(ErrorCode::unsupported, "Gated unit {} of ggml is not known here.", node.param(0));
  }
  ops::map::Scalars scalars{};
  if (op == GGML_GLU_OP_SWIGLU_OAI) scalars = {node.param_f32(2), node.param_f32(3)};
  if (op == GGML_GLU_OP_SWIGLU_CLAMP) scalars = {node.param_f32(3)};
  return MapFunction{function, scalars};
}

std::span<const Row> elementwise_rows() { return rows; }

}  // namespace weft::plugin
