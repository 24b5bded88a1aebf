#include "cases.hpp"

#include <cmath>
#include <format>

namespace op_times {
namespace {

constexpr ggml_type f32 = GGML_TYPE_F32;
constexpr ggml_type f16 = GGML_TYPE_F16;
constexpr ggml_type i32 = GGML_TYPE_I32;

void add_product(Cases& cases, ggml_type type, std::int64_t m, std::int64_t n, std::int64_t k,
                 ggml_type x = f32) {
  cases.push_back({std::format("MUL_MAT {} x {} m={} n={} k={}", ggml_type_name(type),
                               ggml_type_name(x), m, n, k),
                   {{type, {k, m}}, {x, {k, n}}},
                   [](ggml_context* c, const Tensors& t) { return ggml_mul_mat(c, t[0], t[1]); }});
}

void add_expert_product(Cases& cases, ggml_type type, std::int64_t tokens) {
  cases.push_back(
      {std::format("MUL_MAT_ID {} 2 of 8 experts, m=512 n={} k=1024", ggml_type_name(type), tokens),
       {{type, {1024, 512, 8}}, {f32, {1024, 2, tokens}}, {i32, {2, tokens}, 8}},
       [](ggml_context* c, const Tensors& t) { return ggml_mul_mat_id(c, t[0], t[1], t[2]); }});
}

void add_attention(Cases& cases, ggml_type type, std::int64_t head, std::int64_t queries,
                   std::int64_t keys) {
  cases.push_back({std::format("FLASH_ATTN_EXT {} head={} queries={} keys={}", ggml_type_name(type),
                               head, queries, keys),
                   {{f32, {head, queries, 8}},
                    {type, {head, keys, 4}},
                    {type, {head, keys, 4}},
                    {f16, {keys, queries}}},
                   [head](ggml_context* c, const Tensors& t) {
                     return ggml_flash_attn_ext(c, t[0], t[1], t[2], t[3],
                                                1 / std::sqrt(static_cast<float>(head)), 0, 0);
                   }});
}

void add_convolutions(Cases& cases) {
  for (const ggml_type type : {f32, f16}) {
    struct Conv {
      std::int64_t side, size, out, in;
    };
    for (const auto& [side, size, out, in] :
         {Conv{19, 4, 128, 8}, Conv{64, 3, 8, 3}, Conv{32, 3, 32, 32}, Conv{16, 3, 64, 64}}) {
      cases.push_back(
          {title(std::format("CONV_2D {0}x{0} to {1}", size, out), type, {side, side, in}),
           {{type, {size, size, in, out}}, {f32, {side, side, in}}},
           [](ggml_context* c, const Tensors& t) {
             return ggml_conv_2d_direct(c, t[0], t[1], 1, 1, 0, 0, 1, 1);
           }});
    }
    for (const std::int64_t size : {3, 5}) {
      cases.push_back({title(std::format("CONV_2D_DW {0}x{0}", size), type, {56, 56, 64}),
                       {{type, {size, size, 1, 64}}, {f32, {56, 56, 64}}},
                       [](ggml_context* c, const Tensors& t) {
                         return ggml_conv_2d_dw_direct(c, t[0], t[1], 1, 1, 1, 1, 1, 1);
                       }});
    }
  }
}

void add_scan(Cases& cases, std::int64_t state, std::int64_t head, std::int64_t heads,
              std::int64_t tokens) {
  cases.push_back(
      {std::format("SSM_SCAN state={} head={} heads={} tokens={}", state, head, heads, tokens),
       {{f32, {state, head, heads, 1}},
        {f32, {head, heads, tokens, 1}},
        {f32, {heads, tokens, 1}},
        {f32, {head > 1 ? 1 : state, heads}},
        {f32, {state, 1, tokens, 1}},
        {f32, {state, 1, tokens, 1}},
        {i32, {1}, 1}},
       [](ggml_context* c, const Tensors& t) {
         return ggml_ssm_scan(c, t[0], t[1], t[2], t[3], t[4], t[5], t[6], 1);
       }});
}

void add_delta_net(Cases& cases, std::int64_t head, std::int64_t heads, std::int64_t tokens,
                   bool gates) {
  const Shape shape{head, heads, tokens, 1};
  cases.push_back(
      {title(gates ? "GATED_DELTA_NET with a gate per number" : "GATED_DELTA_NET", f32, shape),
       {{f32, shape},
        {f32, shape},
        {f32, shape},
        {f32, {gates ? head : 1, heads, tokens, 1}},
        {f32, {1, heads, tokens, 1}},
        {f32, {head, head, heads, 1}}},
       [](ggml_context* c, const Tensors& t) {
         return ggml_gated_delta_net(c, t[0], t[1], t[2], t[3], t[4], t[5], 1);
       }});
}

void add_recurrences(Cases& cases) {
  for (const std::int64_t tokens : {1, 64}) {
    const Shape shape{3 + tokens, 1024, 1};
    cases.push_back(
        {title("SSM_CONV", f32, shape),
         {{f32, shape}, {f32, {4, 1024}}},
         [](ggml_context* c, const Tensors& t) { return ggml_ssm_conv(c, t[0], t[1]); }});
  }
  for (const std::int64_t tokens : {1, 32}) {
    add_scan(cases, 16, 1, 512, tokens);
    add_scan(cases, 128, 64, 8, tokens);
    add_delta_net(cases, 128, 8, tokens, false);
    add_delta_net(cases, 64, 8, tokens, true);
  }
  for (const std::int64_t size : {64, 128}) {
    cases.push_back({std::format("SOLVE_TRI [{0},{0},4,2] for [32,{0},4,2]", size),
                     {{f32, {size, size, 4, 2}}, {f32, {32, size, 4, 2}}},
                     [](ggml_context* c, const Tensors& t) {
                       return ggml_solve_tri(c, t[0], t[1], true, true, false);
                     }});
  }
}

}  // namespace

void add_heavy(Cases& cases) {
  for (const ggml_type type : {f32, f16}) {
    for (const std::int64_t n : {1, 4, 8, 64}) add_product(cases, type, 1024, n, 1024);
  }
  for (const std::int64_t n : {1, 64}) add_product(cases, f16, 1024, n, 1024, f16);
  for (const ggml_type type : quantized_types()) add_product(cases, type, 1024, 1, 1024);
  for (const ggml_type type : common_types()) {
    for (const std::int64_t n : {8, 64}) add_product(cases, type, 1024, n, 1024);
  }
  add_product(cases, GGML_TYPE_Q4_0, 4096, 1, 14336);
  add_product(cases, GGML_TYPE_Q4_K, 4096, 1, 4096);
  add_product(cases, f16, 128, 1, 16416);
  add_product(cases, f16, 16416, 1, 128);
  for (const ggml_type type : {f32, f16}) add_expert_product(cases, type, 1);
  for (const ggml_type type : quantized_types()) add_expert_product(cases, type, 1);
  for (const ggml_type type : {f16, GGML_TYPE_Q4_0, GGML_TYPE_Q4_K}) {
    add_expert_product(cases, type, 32);
  }
  for (const ggml_type type : {f32, f16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0}) {
    for (const std::int64_t head : {64, 128}) {
      add_attention(cases, type, head, 1, 512);
      add_attention(cases, type, head, 32, 256);
    }
  }
  add_attention(cases, f16, 64, 4, 512);
  add_attention(cases, f16, 256, 1, 512);
  add_convolutions(cases);
  add_recurrences(cases);
}

}  // namespace op_times
