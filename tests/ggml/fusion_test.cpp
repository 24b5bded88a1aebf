// Nodes that the plug-in computes together: that it does, and that the results are those of ggml's CPU backend.
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
namespace {

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

  /// Queries, keys and values of `tokens` tokens: q and k rotated, k and v written to rows 3, 4, … of caches.
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

TEST_F(GgmlFusion, RotatesIntoTheCache) {
  const Attention one = attention(1, GGML_TYPE_F16, GGML_ROPE_TYPE_NORMAL);
  check(3, {one.q, one.k_cache, one.v_cache}, 1e-6);
}

TEST_F(GgmlFusion, RotatesSeveralTokensIntoTheCache) {
  const Attention some = attention(5, GGML_TYPE_F32, GGML_ROPE_TYPE_NEOX);
  check(3, {some.q, some.k_cache, some.v_cache}, 1e-10);
}

TEST_F(GgmlFusion, KeepsRotatedKeysThatAreReadAgain) {
  const Attention one = attention(1, GGML_TYPE_F16, GGML_ROPE_TYPE_NORMAL);
  ggml_tensor* twice = ggml_scale(context_.get(), one.k, 2);
  expand(twice);
  // The two rotations still are one launch.
  check(1, {one.q, one.k_cache, one.v_cache, twice}, 1e-6);
}

TEST_F(GgmlFusion, LeavesQuantizedCachesToTheirOwnKernel) {
  const Attention one = attention(1, GGML_TYPE_Q8_0, GGML_ROPE_TYPE_NORMAL);
  check(1, {one.q, one.k_cache, one.v_cache}, 1e-4);
}

TEST_F(GgmlFusion, MultipliesTheSameInputOnce) {
  ggml_context* context = context_.get();
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 2});
  std::vector<ggml_tensor*> results;
  for (const std::int64_t rows : {96, 32, 40}) {
    results.push_back(ggml_mul_mat(context, weights(GGML_TYPE_Q4_0, 256, rows), x));
    expand(results.back());
  }
  check(2, results, 5e-4);
}

TEST_F(GgmlFusion, AddsABiasToEachOfSeveralProducts) {
  ggml_context* context = context_.get();
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 1});
  std::vector<ggml_tensor*> products;
  for (const std::int64_t rows : {96, 32, 40}) {
    products.push_back(ggml_mul_mat(context, weights(GGML_TYPE_Q4_0, 256, rows), x));
    expand(products.back());
  }
  std::vector<ggml_tensor*> results;
  for (ggml_tensor* product : products) {
    results.push_back(ggml_add(context, product, weights(GGML_TYPE_F32, product->ne[0], 1)));
    expand(results.back());
  }
  check(5, results, 5e-4);
}

TEST_F(GgmlFusion, AddsABiasAndActivatesAfterAProduct) {
  ggml_context* context = context_.get();
  std::vector<ggml_tensor*> results;
  // Few columns, many, and weights that are not quantized.
  for (const auto& [type, columns] : {std::pair{GGML_TYPE_Q4_0, 1},
                                      {GGML_TYPE_Q8_0, 3},
                                      {GGML_TYPE_Q4_K, 24},
                                      {GGML_TYPE_F16, 2}}) {
    ggml_tensor* x = tensor(GGML_TYPE_F32, {256, columns});
    ggml_tensor* product = ggml_mul_mat(context, weights(type, 256, 40), x);
    ggml_tensor* sum = ggml_add(context, product, weights(GGML_TYPE_F32, 40, 1));
    results.push_back(ggml_gelu(context, sum));
    expand(results.back());
  }
  check(8, results, 5e-4);
}

TEST_F(GgmlFusion, LeavesProductsThatAreChangedInPlace) {
  ggml_context* context = context_.get();
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 3});
  ggml_tensor* product = ggml_mul_mat(context, weights(GGML_TYPE_Q4_0, 256, 40), x);
  ggml_tensor* sum = ggml_add_inplace(context, product, tensor(GGML_TYPE_F32, {40, 3}));
  expand(sum);
  check(0, {sum}, 5e-4);
}

TEST_F(GgmlFusion, ActivatesAfterAProduct) {
  ggml_context* context = context_.get();
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 3});
  ggml_tensor* product = ggml_mul_mat(context, weights(GGML_TYPE_Q4_0, 256, 40), x);
  ggml_tensor* unit =
      ggml_silu(context, ggml_add(context, tensor(GGML_TYPE_F32, {40, 3}), product));
  expand(unit);
  check(2, {unit}, 5e-4);
}

TEST_F(GgmlFusion, MultipliesInsideOfGatedUnits) {
  ggml_context* context = context_.get();
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 1});
  ggml_tensor* up = ggml_mul_mat(context, weights(GGML_TYPE_Q4_K, 256, 48), x);
  ggml_tensor* gate = ggml_mul_mat(context, weights(GGML_TYPE_Q4_K, 256, 48), x);
  ggml_tensor* unit = ggml_swiglu_split(context, gate, up);
  expand(unit);
  check(2, {unit}, 5e-4);
}

TEST_F(GgmlFusion, KeepsProductsThatAreReadAgain) {
  ggml_context* context = context_.get();
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 1});
  ggml_tensor* gate = ggml_mul_mat(context, weights(GGML_TYPE_Q8_0, 256, 48), x);
  ggml_tensor* up = ggml_mul_mat(context, weights(GGML_TYPE_Q8_0, 256, 48), x);
  ggml_tensor* unit = ggml_geglu_split(context, gate, up);
  ggml_tensor* again = ggml_sqr(context, gate);
  for (ggml_tensor* result : {unit, again}) expand(result);
  // The products are one launch, the unit another one.
  check(1, {unit, again}, 5e-4);
}

TEST_F(GgmlFusion, ChoosesExperts) {
  ggml_context* context = context_.get();
  ggml_tensor* logits = tensor(GGML_TYPE_F32, {24, 3});
  ggml_tensor* scores = ggml_soft_max(context, logits);
  ggml_tensor* ids = ggml_argsort_top_k(context, scores, 4);
  ggml_tensor* weights = ggml_get_rows(context, ggml_reshape_3d(context, scores, 1, 24, 3), ids);
  weights = ggml_reshape_2d(context, weights, 4, 3);
  ggml_tensor* sum = ggml_clamp(context, ggml_sum_rows(context, weights), 1e-4F, INFINITY);
  weights = ggml_scale(context, ggml_div(context, weights, sum), 2.5F);
  // The ids are read as well, as the products with experts do.
  ggml_tensor* bias =
      ggml_add_id(context, tensor(GGML_TYPE_F32, {8, 4, 3}), tensor(GGML_TYPE_F32, {8, 24}), ids);
  for (ggml_tensor* result : {weights, bias}) expand(result);
  check(6, {weights, bias}, 1e-7);
}

TEST_F(GgmlFusion, KeepsScoresThatAreReadAgain) {
  ggml_context* context = context_.get();
  ggml_tensor* scores = ggml_soft_max(context, tensor(GGML_TYPE_F32, {24, 3}));
  ggml_tensor* ids = ggml_argsort_top_k(context, scores, 4);
  ggml_tensor* weights = ggml_get_rows(context, ggml_reshape_3d(context, scores, 1, 24, 3), ids);
  ggml_tensor* mean = ggml_mean(context, scores);
  for (ggml_tensor* result : {weights, mean}) expand(result);
  // The softmax stays; the choice among its results is one launch.
  check(1, {weights, mean}, 1e-7);
}

/// Products of x rounded to 8 bits.
class GgmlPacked : public GgmlFusion {
 protected:
  ggml_tensor* product(ggml_tensor* x, ggml_type type = GGML_TYPE_Q4_0) {
    ggml_tensor* out = ggml_mul_mat(context_.get(), tensor(type, {256, 24}), x);
    expand(out);
    return out;
  }
  std::uint64_t launches() const { return device_stats(device()).launches; }
};

TEST_F(GgmlPacked, PacksTheInputOfSeveralProductsOnce) {
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 2});
  // Of different types, or one launch would make them all.
  const std::vector<ggml_tensor*> products{product(x, GGML_TYPE_Q4_0), product(x, GGML_TYPE_Q8_0),
                                           product(x, GGML_TYPE_Q6_K)};
  const std::uint64_t before = launches();
  check(0, products, 1e-4);
  EXPECT_EQ(launches() - before, 4U);
}

TEST_F(GgmlPacked, PacksAnInputAgainThatHasChanged) {
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 2});
  ggml_tensor* first = product(x);
  ggml_tensor* changed = ggml_scale_inplace(context_.get(), x, -3);
  expand(changed);
  ggml_tensor* second = product(changed);
  const std::uint64_t before = launches();
  check(0, {first, second}, 1e-4);
  EXPECT_EQ(launches() - before, 5U);
}

TEST_F(GgmlPacked, KeepsAnInputExactThatMustBe) {
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 2});
  ggml_tensor* exact = product(x);
  ggml_prec_set_src(exact, GGML_PREC_F32, 1);
  const std::uint64_t before = launches();
  check(0, {exact}, 1e-4);
  EXPECT_EQ(launches() - before, 1U);
}

}  // namespace
}  // namespace weft::test
