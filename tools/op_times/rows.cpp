#include "cases.hpp"

#include <format>
#include <initializer_list>

namespace op_times {
namespace {

constexpr ggml_type f32 = GGML_TYPE_F32;
constexpr ggml_type f16 = GGML_TYPE_F16;
constexpr ggml_type i32 = GGML_TYPE_I32;

void add_unary(Cases& cases, const std::string& name, const Shape& shape,
               ggml_tensor* (*op)(ggml_context*, ggml_tensor*)) {
  cases.push_back({title(name, f32, shape),
                   {{f32, shape}},
                   [op](ggml_context* c, const Tensors& t) { return op(c, t[0]); }});
}

void add_reductions(Cases& cases) {
  for (const Shape& shape : {Shape{8192}, Shape{128, 8192}, Shape{1024, 512}, Shape{8192, 256}}) {
    add_unary(cases, "SUM", shape, ggml_sum);
    add_unary(cases, "SUM_ROWS", shape, ggml_sum_rows);
  }
  for (const Shape& shape : {Shape{32, 10}, Shape{1024, 10}, Shape{32000}, Shape{32000, 32}}) {
    add_unary(cases, "ARGMAX", shape, ggml_argmax);
  }
  for (const Shape& shape : {Shape{128}, Shape{4096}, Shape{131072}, Shape{128, 128, 4, 4},
                             Shape{1024, 512}, Shape{2048, 16, 5, 4}, Shape{20000, 10, 4}}) {
    add_unary(cases, "CUMSUM", shape, ggml_cumsum);
  }
}

void add_norms(Cases& cases) {
  for (const Shape& shape :
       {Shape{2048}, Shape{4096}, Shape{1024, 512}, Shape{4096, 128}, Shape{128, 32, 64}}) {
    add_unary(cases, "RMS_NORM", shape,
              [](ggml_context* c, ggml_tensor* x) { return ggml_rms_norm(c, x, 1e-5F); });
    add_unary(cases, "NORM", shape,
              [](ggml_context* c, ggml_tensor* x) { return ggml_norm(c, x, 1e-5F); });
  }
  for (const Shape& shape : {Shape{128, 16, 16}, Shape{256, 16, 16}, Shape{1024, 512}}) {
    add_unary(cases, "L2_NORM", shape,
              [](ggml_context* c, ggml_tensor* x) { return ggml_l2_norm(c, x, 1e-5F); });
  }
  for (const Shape& shape :
       {Shape{64, 64, 20}, Shape{77, 64, 20}, Shape{77, 1024, 4}, Shape{256, 256, 8},
        Shape{1024, 512}, Shape{12888, 64}, Shape{8192}, Shape{131072}}) {
    add_unary(cases, "SOFT_MAX", shape, ggml_soft_max);
  }
  for (const ggml_type mask : {f16, f32}) {
    for (const std::int64_t queries : {1, 64}) {
      const Shape shape{512, queries, 32};
      cases.push_back(
          {title(std::format("SOFT_MAX with a {} mask", ggml_type_name(mask)), f32, shape),
           {{f32, shape}, {mask, {512, queries}}},
           [](ggml_context* c, const Tensors& t) {
             return ggml_soft_max_ext(c, t[0], t[1], 0.1F, 0);
           }});
    }
  }
}

void add_sorting(Cases& cases) {
  for (const Shape& shape :
       {Shape{32, 64}, Shape{128, 512}, Shape{1024, 64}, Shape{4096, 16}, Shape{65000}}) {
    add_unary(cases, "ARGSORT", shape, [](ggml_context* c, ggml_tensor* x) {
      return ggml_argsort(c, x, GGML_SORT_ORDER_ASC);
    });
  }
  struct Top {
    Shape shape;
    int k;
  };
  for (const auto& [shape, k] :
       {Top{{16, 1024}, 2}, Top{{128, 64}, 8}, Top{{128, 1024}, 8}, Top{{1024, 64}, 8},
        Top{{4096, 16}, 16}, Top{{32768}, 40}, Top{{65000, 4}, 40}, Top{{151936}, 40}}) {
    cases.push_back({title(std::format("TOP_K {}", k), f32, shape),
                     {{f32, shape}},
                     [k](ggml_context* c, const Tensors& t) { return ggml_top_k(c, t[0], k); }});
  }
}

void add_get_rows(Cases& cases, ggml_type type, std::initializer_list<std::int64_t> counts) {
  for (const std::int64_t count : counts) {
    cases.push_back(
        {std::format("GET_ROWS {} {} of [1024,1024]", ggml_type_name(type), count),
         {{type, {1024, 1024}}, {i32, {count}, 1024}},
         [](ggml_context* c, const Tensors& t) { return ggml_get_rows(c, t[0], t[1]); }});
  }
}

void add_set_rows(Cases& cases, ggml_type type, ggml_type index) {
  for (const std::int64_t count : {1, 64}) {
    cases.push_back(
        {std::format("SET_ROWS {} {} of [1024,512] by {}", ggml_type_name(type), count,
                     ggml_type_name(index)),
         {{type, {1024, 512}}, {f32, {1024, count}}, {index, {count}, 512}},
         [](ggml_context* c, const Tensors& t) { return ggml_set_rows(c, t[0], t[1], t[2]); }});
  }
}

struct Rope {
  const char* name;
  int mode;
  int dims;
  std::int64_t head;
  std::int64_t heads;
};

void add_rope(Cases& cases, const Rope& rope, ggml_type type, bool factors, std::int64_t tokens) {
  const bool multi = (rope.mode & GGML_ROPE_TYPE_MROPE) != 0;
  const Shape shape{rope.head, rope.heads, tokens};
  std::vector<Input> inputs{{type, shape}, {i32, {multi ? 4 * tokens : tokens}, 512}};
  if (factors) inputs.push_back({f32, {rope.dims / 2}});
  cases.push_back(
      {title(std::format("ROPE {}{}", rope.name, factors ? " with factors" : ""), type, shape),
       inputs, [rope, multi](ggml_context* c, const Tensors& t) {
         ggml_tensor* factor = t.size() > 2 ? t[2] : nullptr;
         int sections[4] = {rope.dims / 4, rope.dims / 4, 0, 0};
         return multi ? ggml_rope_multi(c, t[0], t[1], factor, rope.dims / 2, sections, rope.mode,
                                        0, 10000, 1, 0, 1, 0, 0)
                      : ggml_rope_ext(c, t[0], t[1], factor, rope.dims, rope.mode, 0, 10000, 1, 0,
                                      1, 0, 0);
       }});
}

}  // namespace

void add_rows(Cases& cases) {
  add_reductions(cases);
  add_norms(cases);
  add_sorting(cases);
  for (const ggml_type type : {f32, f16, i32}) add_get_rows(cases, type, {1, 256});
  for (const ggml_type type : quantized_types()) add_get_rows(cases, type, {256});
  for (const ggml_type type : common_types()) add_get_rows(cases, type, {1});
  for (const ggml_type type : {f32, f16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0}) {
    add_set_rows(cases, type, GGML_TYPE_I64);
  }
  add_set_rows(cases, f16, i32);
  constexpr Rope normal{"normal", GGML_ROPE_TYPE_NORMAL, 128, 128, 32};
  constexpr Rope neox{"neox", GGML_ROPE_TYPE_NEOX, 128, 128, 32};
  constexpr Rope mrope{"mrope", GGML_ROPE_TYPE_MROPE, 128, 128, 12};
  constexpr Rope imrope{"imrope", GGML_ROPE_TYPE_IMROPE, 128, 128, 12};
  constexpr Rope vision{"vision", GGML_ROPE_TYPE_VISION, 80, 80, 16};
  for (const ggml_type type : {f32, f16}) {
    for (const std::int64_t tokens : {1, 64}) {
      add_rope(cases, normal, type, false, tokens);
      add_rope(cases, neox, type, false, tokens);
    }
    add_rope(cases, normal, type, true, 64);
    for (const Rope& rope : {mrope, imrope, vision}) add_rope(cases, rope, type, false, 64);
  }
}

}  // namespace op_times
