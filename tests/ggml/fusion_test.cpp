// Nodes that the plug-in computes together: that it does, and that the results are those of ggml's
// CPU backend.
#include "fusion_fixture.hpp"

namespace weft::test {
namespace {

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

TEST_F(GgmlFusion, MultipliesInsideOfAllGatedUnits) {
  ggml_context* context = context_.get();
  std::vector<ggml_tensor*> results;
  for (const ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_IQ4_NL}) {
    for (const auto unit : {ggml_swiglu_split, ggml_geglu_split, ggml_reglu_split}) {
      ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 2});
      ggml_tensor* up = ggml_mul_mat(context, weights(type, 256, 32), x);
      ggml_tensor* gate = ggml_mul_mat(context, weights(type, 256, 32), x);
      results.push_back(unit(context, gate, up));
      expand(results.back());
    }
  }
  check(2 * results.size(), results, 5e-4);
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

TEST_F(GgmlFusion, AttendsWithTurnedValues) {
  ggml_context* context = context_.get();
  std::vector<ggml_tensor*> results;
  for (const std::int64_t tokens : {1, 3}) {
    // As caches have them: keys [size, heads, places], values [places, size, heads].
    ggml_tensor* q = ggml_permute(context, tensor(GGML_TYPE_F32, {64, 4, tokens}), 0, 2, 1, 3);
    ggml_tensor* k = ggml_permute(context, tensor(GGML_TYPE_F16, {64, 2, 160}), 0, 2, 1, 3);
    ggml_tensor* v = ggml_view_3d(context, tensor(GGML_TYPE_F16, {192, 64, 2}), 160, 64, 2, 192 * 2,
                                  192 * 64 * 2, 0);
    ggml_tensor* logits = ggml_mul_mat(context, k, q);
    ggml_tensor* mask = tensor(GGML_TYPE_F32, {160, tokens});
    ggml_tensor* shares = ggml_soft_max_ext(context, logits, mask, 0.125F, 0);
    ggml_tensor* values = ggml_permute(context, ggml_mul_mat(context, v, shares), 0, 2, 1, 3);
    results.push_back(ggml_cont_2d(context, values, 4 * 64, tokens));
    expand(results.back());
  }
  check(6, results, 1e-6);
}

TEST_F(GgmlFusion, KeepsSharesThatAreReadAgain) {
  ggml_context* context = context_.get();
  ggml_tensor* q = tensor(GGML_TYPE_F32, {64, 1, 4});
  ggml_tensor* k = tensor(GGML_TYPE_F16, {64, 32, 4});
  ggml_tensor* v = tensor(GGML_TYPE_F16, {32, 64, 4});
  ggml_tensor* shares = ggml_soft_max(context, ggml_mul_mat(context, k, q));
  ggml_tensor* values = ggml_permute(context, ggml_mul_mat(context, v, shares), 0, 2, 1, 3);
  ggml_tensor* result = ggml_cont_2d(context, values, 4 * 64, 1);
  ggml_tensor* again = ggml_sqr(context, shares);
  for (ggml_tensor* wanted : {result, again}) expand(wanted);
  check(0, {result, again}, 1e-6);
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

/// The routers of other models: scores by sigmoids that a bias moves only for the choice, and a
/// softmax of what was chosen.
TEST_F(GgmlFusion, ChoosesExpertsByOtherScores) {
  ggml_context* context = context_.get();
  std::vector<ggml_tensor*> results;
  const auto rows = [&](ggml_tensor* scores, ggml_tensor* ids) {
    ggml_tensor* chosen = ggml_get_rows(context, ggml_reshape_3d(context, scores, 1, 24, 3), ids);
    return ggml_reshape_2d(context, chosen, 4, 3);
  };
  ggml_tensor* sigmoids = ggml_sigmoid(context, tensor(GGML_TYPE_F32, {24, 3}));
  ggml_tensor* moved = ggml_add(context, sigmoids, tensor(GGML_TYPE_F32, {24}));
  ggml_tensor* weights = rows(sigmoids, ggml_argsort_top_k(context, moved, 4));
  ggml_tensor* sum = ggml_clamp(context, ggml_sum_rows(context, weights), 1e-4F, INFINITY);
  results.push_back(ggml_div(context, weights, sum));
  expand(results.back());  // sigmoid, sum, sort, rows, sum of rows, clamp, quotient
  ggml_tensor* logits = tensor(GGML_TYPE_F32, {24, 3});
  results.push_back(ggml_soft_max(context, rows(logits, ggml_argsort_top_k(context, logits, 4))));
  expand(results.back());  // sort, rows, softmax
  check(6 + 2, results, 1e-7);
}

TEST_F(GgmlFusion, FusesNormsOfBothKinds) {
  ggml_context* context = context_.get();
  std::vector<ggml_tensor*> results;
  for (const auto norm : {ggml_norm, ggml_rms_norm}) {
    ggml_tensor* x = norm(context, tensor(GGML_TYPE_F32, {96, 5}), 1e-5F);
    ggml_tensor* scaled = ggml_mul(context, x, weights(GGML_TYPE_F32, 96, 1));
    results.push_back(ggml_add(context, scaled, weights(GGML_TYPE_F32, 96, 1)));
    expand(results.back());
  }
  check(4, results, 1e-8);
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

}  // namespace
}  // namespace weft::test
