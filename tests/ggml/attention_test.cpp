// Flash attention as whisper.cpp asks for it: keys and values are views of padded f16 tensors in
// which heads lie side by side, without a mask over the padding in the encoder and across, and with
// one over the cache in the decoder. Against sums in double, beside ggml's CPU backend.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends.hpp"
#include "run_model.hpp"

namespace weft::test {
namespace {

constexpr std::int64_t heads = 2;

struct Shapes {
  std::string name;
  std::int64_t head = 32;
  std::int64_t queries = 1;
  std::int64_t keys = 64;    ///< Those that are there;
  std::int64_t padded = 64;  ///< behind them are zeros.
  bool masked = false;
};

std::vector<float> noise(std::int64_t count, std::uint32_t seed) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& value : out) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<double>(seed) / 0x1p30 - 2);
  }
  return out;
}

/// What is put into a tensor of f16, and what it holds then.
std::vector<float> set_halves(ggml_tensor* tensor, std::vector<float> values) {
  std::vector<ggml_fp16_t> halves(values.size());
  ggml_fp32_to_fp16_row(values.data(), halves.data(), static_cast<std::int64_t>(values.size()));
  ggml_backend_tensor_set(tensor, halves.data(), 0, halves.size() * sizeof(ggml_fp16_t));
  ggml_fp16_to_fp32_row(halves.data(), values.data(), static_cast<std::int64_t>(values.size()));
  return values;
}

struct Outcome {
  std::vector<float> got;
  std::vector<float> exact;
};

Outcome attend(ggml_backend_dev_t device, const Shapes& s) {
  const ggml_backend_ptr backend(ggml_backend_dev_init(device, nullptr));
  const ggml_context_ptr context(
      ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
  ggml_context* c = context.get();
  const std::int64_t width = heads * s.head;
  ggml_tensor* q = ggml_new_tensor_3d(c, GGML_TYPE_F32, s.head, heads, s.queries);
  ggml_tensor* k = ggml_new_tensor_2d(c, GGML_TYPE_F16, width, s.padded);
  ggml_tensor* v = ggml_new_tensor_2d(c, GGML_TYPE_F16, width, s.padded);
  ggml_tensor* mask =
      s.masked ? ggml_new_tensor_2d(c, GGML_TYPE_F16, s.padded, GGML_PAD(s.queries, 64)) : nullptr;
  const auto split = [&](ggml_tensor* x) {
    return ggml_view_3d(c, x, s.head, s.padded, heads, x->nb[1], ggml_row_size(x->type, s.head), 0);
  };
  const float scale = 1 / std::sqrt(static_cast<float>(s.head));
  ggml_tensor* y =
      ggml_flash_attn_ext(c, ggml_permute(c, q, 0, 2, 1, 3), split(k), split(v), mask, scale, 0, 0);
  ggml_cgraph* graph = ggml_new_graph(c);
  ggml_build_forward_expand(graph, y);
  const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(c, backend.get()));

  const std::vector<float> q_values = noise(width * s.queries, 1);
  ggml_backend_tensor_set(q, q_values.data(), 0, q_values.size() * sizeof(float));
  const auto padded = [&](std::uint32_t seed) {
    std::vector<float> values = noise(width * s.keys, seed);
    values.resize(static_cast<std::size_t>(width * s.padded), 0.0F);
    return values;
  };
  const std::vector<float> k_values = set_halves(k, padded(2));
  const std::vector<float> v_values = set_halves(v, padded(3));
  const auto seen = [&](std::int64_t query, std::int64_t key) {
    return !s.masked || key <= s.keys - s.queries + query;
  };
  if (s.masked) {
    std::vector<float> values(static_cast<std::size_t>(s.padded * GGML_PAD(s.queries, 64)),
                              -std::numeric_limits<float>::infinity());
    for (std::int64_t i = 0; i < s.queries; ++i) {
      for (std::int64_t j = 0; j < s.padded; ++j)
        if (seen(i, j)) values[static_cast<std::size_t>(i * s.padded + j)] = 0;
    }
    set_halves(mask, values);
  }
  EXPECT_EQ(ggml_backend_graph_compute(backend.get(), graph), GGML_STATUS_SUCCESS);
  Outcome out{std::vector<float>(q_values.size()), {}};
  ggml_backend_tensor_get(y, out.got.data(), 0, out.got.size() * sizeof(float));

  const auto at = [&](const std::vector<float>& values, std::int64_t row, std::int64_t h,
                      std::int64_t d) {
    return static_cast<double>(values[static_cast<std::size_t>(row * width + h * s.head + d)]);
  };
  for (std::int64_t i = 0; i < s.queries; ++i) {
    for (std::int64_t h = 0; h < heads; ++h) {
      std::vector<double> shares(static_cast<std::size_t>(s.padded), 0);
      double total = 0;
      for (std::int64_t j = 0; j < s.padded; ++j) {
        if (!seen(i, j)) continue;
        double logit = 0;
        for (std::int64_t d = 0; d < s.head; ++d)
          logit += at(q_values, i, h, d) * at(k_values, j, h, d);
        total += shares[static_cast<std::size_t>(j)] = std::exp(logit * scale);
      }
      for (std::int64_t d = 0; d < s.head; ++d) {
        double sum = 0;
        for (std::int64_t j = 0; j < s.padded; ++j)
          sum += shares[static_cast<std::size_t>(j)] * at(v_values, j, h, d);
        out.exact.push_back(static_cast<float>(sum / total));
      }
    }
  }
  return out;
}

TEST(GgmlAttention, IsAsExactAsOnTheCpuWhereWhisperAsksForIt) {
  load_backends();
  ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  ASSERT_NE(cpu, nullptr);
  const std::vector<Shapes> all{
      {.name = "encoder", .queries = 300, .keys = 300, .padded = 512},
      {.name = "encoder of wide heads", .head = 64, .queries = 75, .keys = 75, .padded = 256},
      {.name = "prompt across", .queries = 5, .keys = 300, .padded = 512},
      {.name = "token across", .keys = 300, .padded = 512},
      {.name = "prompt", .queries = 5, .keys = 5, .padded = 32, .masked = true},
      {.name = "token", .keys = 40, .padded = 64, .masked = true},
      {.name = "token of wide heads", .head = 64, .keys = 40, .padded = 64, .masked = true}};
  for (const Shapes& shapes : all) {
    SCOPED_TRACE(shapes.name);
    const Outcome weft = attend(weft_device(0), shapes);
    const Outcome there = attend(cpu, shapes);
    const double error = nmse(weft.got, weft.exact);
    const double rounding = nmse(there.got, there.exact);
    EXPECT_LE(error, 1e-6) << "the CPU's is " << rounding;
    EXPECT_LE(error, std::max(1e-8, 1.1 * rounding));
  }
}

}  // namespace
}  // namespace weft::test
