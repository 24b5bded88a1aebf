#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends.hpp"

namespace weft::test {

/// A graph that is computed by the plug-in and by ggml's CPU backend.
class GgmlFusion : public testing::Test {
 protected:
  void SetUp() override {
    load_backends();
    device_ = weft_device(0);
    ASSERT_NE(device_, nullptr);
    weft_.reset(ggml_backend_dev_init(device_, nullptr));
    cpu_.reset(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    ASSERT_TRUE(weft_) << captured_log();
    ASSERT_TRUE(cpu_);
    context_.reset(ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
    weights_.reset(ggml_init({.mem_size = 1 << 16, .mem_buffer = nullptr, .no_alloc = true}));
    graph_ = ggml_new_graph(context_.get());
  }

  ggml_tensor* tensor(ggml_type type, std::vector<std::int64_t> shape) {
    ggml_tensor* made =
        ggml_new_tensor(context_.get(), type, static_cast<int>(shape.size()), shape.data());
    inputs_.push_back(made);
    return made;
  }

  /// Weights lie in a buffer of their own, as those of models do.
  ggml_tensor* weights(ggml_type type, std::int64_t columns, std::int64_t rows) {
    inputs_.push_back(ggml_new_tensor_2d(weights_.get(), type, columns, rows));
    return inputs_.back();
  }

  /// A tensor of i32 or i64 with these values.
  ggml_tensor* integers(ggml_type type, const std::vector<std::int64_t>& values) {
    ggml_tensor* made =
        ggml_new_tensor_1d(context_.get(), type, static_cast<std::int64_t>(values.size()));
    integers_.push_back({made, values});
    return made;
  }

  void expand(ggml_tensor* result) { ggml_build_forward_expand(graph_, result); }

  void fill(ggml_tensor* tensor) {
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(tensor)));
    for (float& value : values) value = uniform_(random_);
    std::vector<std::byte> bytes(ggml_nbytes(tensor));
    ggml_quantize_chunk(tensor->type, values.data(), bytes.data(), 0,
                        ggml_nelements(tensor) / tensor->ne[0], tensor->ne[0], nullptr);
    ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
  }

  /// Runs the graph on both backends; `saved` is how many launches fewer than nodes there must be.
  void check(std::uint64_t saved, const std::vector<ggml_tensor*>& results, double tolerance) {
    const ggml_backend_buffer_ptr buffer(
        ggml_backend_alloc_ctx_tensors(context_.get(), weft_.get()));
    ASSERT_TRUE(buffer) << captured_log();
    const ggml_backend_buffer_ptr weights_buffer(
        ggml_backend_alloc_ctx_tensors(weights_.get(), weft_.get()));
    for (ggml_tensor* input : inputs_) fill(input);
    for (const auto& [target, values] : integers_) {
      const std::vector<std::int32_t> narrow(values.begin(), values.end());
      const bool wide = target->type == GGML_TYPE_I64;
      ggml_backend_tensor_set(target,
                              wide ? static_cast<const void*>(values.data()) : narrow.data(), 0,
                              ggml_nbytes(target));
    }
    struct Seen {
      double tolerance;
      int compared = 0;
    } seen{tolerance};
    const auto compare = [](int /*index*/, ggml_tensor* weft, ggml_tensor* cpu, void* user) {
      const std::vector<float> got = floats(weft);
      const std::vector<float> wanted = floats(cpu);
      double error = 0;
      double size = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        error += std::pow(got[i] - wanted[i], 2);
        size += std::pow(wanted[i], 2);
      }
      auto& all = *static_cast<Seen*>(user);
      ++all.compared;
      EXPECT_LE(error, all.tolerance * size) << weft->name << " of " << ggml_op_name(weft->op);
      EXPECT_GT(size, 0);
      return true;
    };
    std::vector<const ggml_tensor*> nodes(results.begin(), results.end());
    const std::uint64_t before = device_stats(device_).fused;
    ASSERT_TRUE(ggml_backend_compare_graph_backend(weft_.get(), cpu_.get(), graph_, compare, &seen,
                                                   nodes.data(), nodes.size()));
    EXPECT_EQ(seen.compared, static_cast<int>(results.size()));
    EXPECT_EQ(device_stats(device_).fused - before, saved);
  }

  static std::vector<float> floats(const ggml_tensor* tensor) {
    std::vector<std::byte> bytes(ggml_nbytes(tensor));
    ggml_backend_tensor_get(tensor, bytes.data(), 0, bytes.size());
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(tensor)));
    if (tensor->type == GGML_TYPE_F32) {
      std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      ggml_get_type_traits(tensor->type)
          ->to_float(bytes.data(), values.data(), ggml_nelements(tensor));
    }
    return values;
  }

  /// Queries, keys and values of `tokens` tokens: q and k rotated, k and v written to rows 3, 4, …
  /// of caches.
  struct Attention {
    ggml_tensor* q;
    ggml_tensor* k;
    ggml_tensor* k_cache;
    ggml_tensor* v_cache;
  };
  Attention attention(std::int64_t tokens, ggml_type cache, int mode) {
    constexpr std::int64_t size = 32;
    ggml_context* context = context_.get();
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < tokens; ++i) places.push_back(3 + i);
    ggml_tensor* positions = integers(GGML_TYPE_I32, places);
    ggml_tensor* rows = integers(GGML_TYPE_I64, places);
    const auto rope = [&](ggml_tensor* x) {
      return ggml_rope_ext(context, x, positions, nullptr, size, mode, 0, 10000, 1, 0, 1, 32, 1);
    };
    ggml_tensor* q = rope(tensor(GGML_TYPE_F32, {size, 4, tokens}));
    ggml_tensor* k = rope(tensor(GGML_TYPE_F32, {size, 2, tokens}));
    ggml_tensor* v = tensor(GGML_TYPE_F32, {2 * size, tokens});
    const auto store = [&](ggml_tensor* x) {
      return ggml_set_rows(context, tensor(cache, {2 * size, 16}), x, rows);
    };
    const Attention out{q, k, store(ggml_reshape_2d(context, k, 2 * size, tokens)), store(v)};
    for (ggml_tensor* result : {q, out.k_cache, out.v_cache}) expand(result);
    return out;
  }

 protected:
  [[nodiscard]] ggml_backend_dev_t device() const { return device_; }

 private:
  ggml_backend_dev_t device_ = nullptr;
  ggml_backend_ptr weft_;
  ggml_backend_ptr cpu_;
  std::vector<ggml_tensor*> inputs_;
  std::vector<std::pair<ggml_tensor*, std::vector<std::int64_t>>> integers_;
  std::mt19937 random_{1};
  std::uniform_real_distribution<float> uniform_{-1, 1};

 protected:
  ggml_context_ptr context_;
  ggml_context_ptr weights_;
  ggml_cgraph* graph_ = nullptr;
};

}  // namespace weft::test
