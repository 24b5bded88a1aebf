#include "cases.hpp"

#include <array>
#include <format>

namespace op_times {
namespace {

constexpr ggml_type f32 = GGML_TYPE_F32;
constexpr ggml_type f16 = GGML_TYPE_F16;
constexpr ggml_type i16 = GGML_TYPE_I16;
constexpr ggml_type i32 = GGML_TYPE_I32;
const Shape prompt{1024, 512};

void add_cast(Cases& cases, ggml_type from, ggml_type to, const Shape& shape) {
  cases.push_back({title(std::format("CPY {} to", ggml_type_name(from)), to, shape),
                   {{from, shape}, {to, shape}},
                   [](ggml_context* c, const Tensors& t) { return ggml_cpy(c, t[0], t[1]); }});
}

void add_permuted(Cases& cases, ggml_type type, const Shape& shape, std::array<int, 4> order) {
  cases.push_back(
      {title(std::format("CONT permuted {}{}{}{}", order[0], order[1], order[2], order[3]), type,
             shape),
       {{type, shape}},
       [order](ggml_context* c, const Tensors& t) {
         return ggml_cont(c, ggml_permute(c, t[0], order[0], order[1], order[2], order[3]));
       }});
}

void add_upscale(Cases& cases, const char* name, std::uint32_t mode) {
  cases.push_back({title(std::format("UPSCALE {} by 2", name), f32, {64, 64, 16}),
                   {{f32, {64, 64, 16}}},
                   [mode](ggml_context* c, const Tensors& t) {
                     return ggml_interpolate(c, t[0], 128, 128, 16, 1, mode);
                   }});
}

}  // namespace

void add_copies(Cases& cases) {
  for (const ggml_type from : {f32, f16, i32}) {
    for (const ggml_type to : {f32, f16, i32}) {
      if ((from == i32 && to == f16) || (from == f16 && to == i32)) continue;
      add_cast(cases, from, to, prompt);
    }
  }
  add_cast(cases, f32, f16, {4096});
  for (const ggml_type type : {f32, f16, i32}) add_permuted(cases, type, prompt, {1, 0, 2, 3});
  for (const ggml_type type : {f32, f16}) add_permuted(cases, type, {128, 64, 32}, {0, 2, 1, 3});
  add_permuted(cases, f32, {1024, 16, 16}, {2, 1, 0, 3});
  for (const ggml_type type : {f32, i32}) {
    for (const int dim : {0, 1}) {
      cases.push_back(
          {title(std::format("CONCAT along {}", dim), type, {512, 512}),
           {{type, {512, 512}}, {type, {512, 512}}},
           [dim](ggml_context* c, const Tensors& t) { return ggml_concat(c, t[0], t[1], dim); }});
    }
    cases.push_back({title("SET of half of", type, prompt),
                     {{type, prompt}, {type, {512, 512}}},
                     [](ggml_context* c, const Tensors& t) {
                       return ggml_set(c, t[0], t[1], t[0]->nb[1], t[0]->nb[2], t[0]->nb[3], 0);
                     }});
  }
  for (const ggml_type type : {f32, f16, i32, i16}) {
    for (const Shape& small : {Shape{1024, 1}, Shape{512, 256}, Shape{1, 512}}) {
      cases.push_back(
          {title("REPEAT to [1024,512]", type, small),
           {{type, small}, {type, prompt}},
           [](ggml_context* c, const Tensors& t) { return ggml_repeat(c, t[0], t[1]); }});
    }
  }
  for (const Shape& shape : {Shape{1000, 500}, Shape{62, 62, 64}}) {
    cases.push_back(
        {title("PAD", f32, shape), {{f32, shape}}, [](ggml_context* c, const Tensors& t) {
           return ggml_pad_ext(c, t[0], 1, 1, 1, 1, 0, 0, 0, 0);
         }});
  }
  add_upscale(cases, "nearest", GGML_SCALE_MODE_NEAREST);
  add_upscale(cases, "bilinear", GGML_SCALE_MODE_BILINEAR);
  add_upscale(cases, "bicubic", GGML_SCALE_MODE_BICUBIC);
  for (const ggml_type type : {f32, f16}) {
    for (const std::int64_t size : {3, 5}) {
      cases.push_back({title(std::format("IM2COL {0}x{0}", size), type, {32, 32, 32}),
                       {{f16, {size, size, 32, 32}}, {f32, {32, 32, 32}}},
                       [type](ggml_context* c, const Tensors& t) {
                         return ggml_im2col(c, t[0], t[1], 1, 1, 1, 1, 1, 1, true, type);
                       }});
    }
  }
  for (const ggml_tri_type kind : {GGML_TRI_TYPE_LOWER, GGML_TRI_TYPE_UPPER_DIAG}) {
    const Shape shape{256, 256, 4, 4};
    cases.push_back(
        {title(kind == GGML_TRI_TYPE_LOWER ? "TRI lower" : "TRI upper", f32, shape),
         {{f32, shape}},
         [kind](ggml_context* c, const Tensors& t) { return ggml_tri(c, t[0], kind); }});
  }
  for (const Shape& shape : {Shape{64, 1, 16}, Shape{512, 1, 2}}) {
    cases.push_back({title("DIAG", f32, shape),
                     {{f32, shape}},
                     [](ggml_context* c, const Tensors& t) { return ggml_diag(c, t[0]); }});
  }
}

}  // namespace op_times
