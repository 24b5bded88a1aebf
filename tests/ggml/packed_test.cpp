// Products of x that is rounded to 8 bits: once, by a launch of its own or by the one that makes x.
#include "fusion_fixture.hpp"

namespace weft::test {
namespace {

/// Products of x rounded to 8 bits.
class GgmlPacked : public GgmlFusion {
 protected:
  ggml_tensor* product(ggml_tensor* x, ggml_type type = GGML_TYPE_Q4_0) {
    ggml_tensor* out = ggml_mul_mat(context_.get(), tensor(type, {256, 24}), x);
    expand(out);
    return out;
  }
  std::uint64_t launches() const { return device_stats(device()).launches; }
  /// GPUs pack x only for large weights, and take fewer launches then.
  void expect_launches(std::uint64_t before, std::uint64_t wanted) const {
    const bool software =
        std::string_view(ggml_backend_dev_description(device())).contains("llvmpipe");
    if (software) {
      EXPECT_EQ(launches() - before, wanted);
    } else {
      EXPECT_LE(launches() - before, wanted);
    }
  }
  std::vector<ggml_tensor*> results_;
};

TEST_F(GgmlPacked, PacksTheInputOfSeveralProductsOnce) {
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 2});
  // Of different types, or one launch would make them all.
  const std::vector<ggml_tensor*> products{product(x, GGML_TYPE_Q4_0), product(x, GGML_TYPE_Q8_0),
                                           product(x, GGML_TYPE_Q6_K)};
  const std::uint64_t before = launches();
  check(0, products, 1e-4);
  expect_launches(before, 4);
}

TEST_F(GgmlPacked, PacksAnInputAgainThatHasChanged) {
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 2});
  ggml_tensor* first = product(x);
  ggml_tensor* changed = ggml_scale_inplace(context_.get(), x, -3);
  expand(changed);
  ggml_tensor* second = product(changed);
  const std::uint64_t before = launches();
  check(0, {first, second}, 1e-4);
  expect_launches(before, 5);
}

TEST_F(GgmlPacked, KeepsAnInputExactThatMustBe) {
  ggml_tensor* x = tensor(GGML_TYPE_F32, {256, 2});
  ggml_tensor* exact = product(x);
  ggml_prec_set_src(exact, GGML_PREC_F32, 1);
  const std::uint64_t before = launches();
  check(0, {exact}, 1e-4);
  expect_launches(before, 1);
}

TEST_F(GgmlPacked, NormsPackWhatProductsTake) {
  ggml_context* context = context_.get();
  ggml_tensor* residual = tensor(GGML_TYPE_F32, {256, 2});
  ggml_tensor* sum = ggml_add(context, tensor(GGML_TYPE_F32, {256, 2}), residual);
  ggml_tensor* norm =
      ggml_mul(context, ggml_rms_norm(context, sum, 1e-5F), tensor(GGML_TYPE_F32, {256}));
  ggml_tensor* first = product(norm, GGML_TYPE_Q4_0);
  ggml_tensor* second = product(norm, GGML_TYPE_Q6_K);
  ggml_tensor* plain = ggml_sqr(context, norm);
  expand(plain);
  const std::uint64_t before = launches();
  check(2, {sum, first, second, plain}, 1e-4);
  expect_launches(before, 4);
}

TEST_F(GgmlPacked, PacksANormAgainThatHasChanged) {
  ggml_context* context = context_.get();
  ggml_tensor* norm =
      ggml_mul(context, ggml_rms_norm(context, tensor(GGML_TYPE_F32, {256, 2}), 1e-5F),
               tensor(GGML_TYPE_F32, {256}));
  ggml_tensor* first = product(norm);
  ggml_tensor* changed = ggml_scale_inplace(context, norm, -3);
  expand(changed);
  ggml_tensor* second = product(changed);
  const std::uint64_t before = launches();
  check(1, {first, second}, 1e-4);
  expect_launches(before, 5);  // norm, product, scale, packing, product
}

TEST_F(GgmlPacked, GatedUnitsPackWhatProductsTake) {
  ggml_context* context = context_.get();
  for (const std::int64_t columns : {1, 3}) {
    ggml_tensor* x = tensor(GGML_TYPE_F32, {256, columns});
    ggml_tensor* gate = ggml_mul_mat(context, weights(GGML_TYPE_Q8_0, 256, 320), x);
    ggml_tensor* up = ggml_mul_mat(context, weights(GGML_TYPE_Q8_0, 256, 320), x);
    ggml_tensor* unit = ggml_swiglu_split(context, gate, up);
    ggml_tensor* down = ggml_mul_mat(context, weights(GGML_TYPE_Q8_0, 320, 40), unit);
    expand(down);
    results_.push_back(unit);
    results_.push_back(down);
  }
  const std::uint64_t before = launches();
  check(4, results_, 1e-4);
  expect_launches(before, 6);  // packing, gated unit, product
}

TEST_F(GgmlPacked, AttentionPacksWhatProductsTake) {
  ggml_context* context = context_.get();
  for (const std::int64_t tokens : {1, 2}) {
    ggml_tensor* q = tensor(GGML_TYPE_F32, {64, tokens, 4});
    ggml_tensor* k = tensor(GGML_TYPE_F16, {64, 256, 2});
    ggml_tensor* v = tensor(GGML_TYPE_F16, {64, 256, 2});
    ggml_tensor* mask = tensor(GGML_TYPE_F16, {256, tokens});
    ggml_tensor* seen = ggml_flash_attn_ext(context, q, k, v, mask, 0.125F, 0, 0);
    results_.push_back(product(ggml_reshape_2d(context, seen, 256, tokens)));
    results_.push_back(seen);
  }
  const std::uint64_t before = launches();
  check(0, results_, 1e-4);
  expect_launches(before, 6);  // two launches of attention and a product
}

TEST_F(GgmlPacked, AttentionOverQuantizedCachesPacksWhatProductsTake) {
  ggml_context* context = context_.get();
  for (const ggml_type cache : {GGML_TYPE_Q8_0, GGML_TYPE_Q4_0}) {
    ggml_tensor* q = tensor(GGML_TYPE_F32, {64, 1, 4});
    ggml_tensor* k = tensor(cache, {64, 256, 2});
    ggml_tensor* v = tensor(cache, {64, 256, 2});
    ggml_tensor* mask = tensor(GGML_TYPE_F16, {256, 1});
    ggml_tensor* seen = ggml_flash_attn_ext(context, q, k, v, mask, 0.125F, 0, 0);
    results_.push_back(product(ggml_reshape_2d(context, seen, 256, 1)));
    results_.push_back(seen);
  }
  const std::uint64_t before = launches();
  check(0, results_, 1e-3);
  expect_launches(before, 10);  // two that decode the caches, two of attention and a product
}

}  // namespace
}  // namespace weft::test
