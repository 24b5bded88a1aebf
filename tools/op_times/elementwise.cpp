#include "cases.hpp"

#include <array>
#include <format>
#include <utility>

namespace op_times {
namespace {

constexpr ggml_type f32 = GGML_TYPE_F32;
constexpr ggml_type f16 = GGML_TYPE_F16;
const Shape prompt{1024, 512};
const Shape token{4096};

using Unary = ggml_tensor* (*)(ggml_context*, ggml_tensor*);
using Binary = ggml_tensor* (*)(ggml_context*, ggml_tensor*, ggml_tensor*);

void add_unary(Cases& cases, const char* name, Unary op, ggml_type type, const Shape& shape) {
  cases.push_back({title(name, type, shape),
                   {{type, shape}},
                   [op](ggml_context* c, const Tensors& t) { return op(c, t[0]); }});
}

void add_binary(Cases& cases, const std::string& name, Binary op, ggml_type type, const Shape& a,
                const Shape& b) {
  cases.push_back({title(name, type, a),
                   {{type, a}, {type, b}},
                   [op](ggml_context* c, const Tensors& t) { return op(c, t[0], t[1]); }});
}

constexpr auto unary = std::to_array<std::pair<const char*, Unary>>({
    {"ABS", ggml_abs},
    {"SGN", ggml_sgn},
    {"NEG", ggml_neg},
    {"STEP", ggml_step},
    {"TANH", ggml_tanh},
    {"ELU", ggml_elu},
    {"RELU", ggml_relu},
    {"SIGMOID", ggml_sigmoid},
    {"GELU", ggml_gelu},
    {"GELU_QUICK", ggml_gelu_quick},
    {"GELU_ERF", ggml_gelu_erf},
    {"SILU", ggml_silu},
    {"HARDSWISH", ggml_hardswish},
    {"HARDSIGMOID", ggml_hardsigmoid},
    {"EXP", ggml_exp},
    {"EXPM1", ggml_expm1},
    {"SOFTPLUS", ggml_softplus},
    {"FLOOR", ggml_floor},
    {"CEIL", ggml_ceil},
    {"ROUND", ggml_round},
    {"TRUNC", ggml_trunc},
    {"XIELU", [](ggml_context* c, ggml_tensor* x) { return ggml_xielu(c, x, 4, 20, 0.5F, 1e-7F); }},
    {"CLAMP", [](ggml_context* c, ggml_tensor* x) { return ggml_clamp(c, x, 0.3F, 0.6F); }},
    {"LOG", ggml_log},
    {"SQR", ggml_sqr},
    {"SQRT", ggml_sqrt},
    {"SIN", ggml_sin},
    {"COS", ggml_cos},
});

constexpr auto gated = std::to_array<std::pair<const char*, Unary>>({
    {"REGLU", ggml_reglu},
    {"GEGLU", ggml_geglu},
    {"SWIGLU", ggml_swiglu},
    {"GEGLU_ERF", ggml_geglu_erf},
    {"GEGLU_QUICK", ggml_geglu_quick},
});

constexpr auto binary = std::to_array<std::pair<const char*, Binary>>({
    {"ADD", ggml_add},
    {"SUB", ggml_sub},
    {"MUL", ggml_mul},
    {"DIV", ggml_div},
});

}  // namespace

void add_elementwise(Cases& cases) {
  for (const ggml_type type : {f32, f16}) {
    for (const auto& [name, op] : unary) add_unary(cases, name, op, type, prompt);
    for (const auto& [name, op] : gated) add_unary(cases, name, op, type, {2048, 256});
    for (const auto& [name, op] : binary) {
      add_binary(cases, name, op, type, prompt, prompt);
      add_binary(cases, name, op, type, token, token);
      add_binary(cases, std::string(name) + " of a row", op, type, prompt, {1024});
    }
    add_unary(cases, "SILU", ggml_silu, type, token);
    add_unary(cases, "GELU", ggml_gelu, type, token);
    add_unary(cases, "SWIGLU", ggml_swiglu, type, {11264});
    add_binary(cases, "SWIGLU of two", ggml_swiglu_split, type, prompt, prompt);
    add_binary(cases, "SWIGLU of two", ggml_swiglu_split, type, {5632}, {5632});
    add_binary(
        cases, "SWIGLU_CLAMP",
        [](ggml_context* c, ggml_tensor* a, ggml_tensor* b) {
          return ggml_swiglu_clamp(c, a, b, 7);
        },
        type, prompt, prompt);
  }
  add_binary(
      cases, "SWIGLU_OAI",
      [](ggml_context* c, ggml_tensor* a, ggml_tensor* b) {
        return ggml_swiglu_oai(c, a, b, 1.7F, 7);
      },
      f32, prompt, prompt);
  add_binary(cases, "ADD of one number", ggml_add, f32, token, {1});
  for (const Shape& shape : {token, prompt}) {
    add_unary(
        cases, "SCALE", [](ggml_context* c, ggml_tensor* x) { return ggml_scale(c, x, 0.5F); }, f32,
        shape);
    add_unary(
        cases, "FILL", [](ggml_context* c, ggml_tensor* x) { return ggml_fill(c, x, 0.5F); }, f32,
        shape);
  }
  for (const std::int64_t tokens : {1, 64}) {
    const Shape shape{2880, 4, tokens};
    cases.push_back(
        {title("ADD_ID", f32, shape),
         {{f32, shape}, {f32, {2880, 32}}, {GGML_TYPE_I32, {4, tokens}, 32}},
         [](ggml_context* c, const Tensors& t) { return ggml_add_id(c, t[0], t[1], t[2]); }});
  }
}

}  // namespace op_times
