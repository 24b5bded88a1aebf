// What test-backend-ops has no case of, against ggml's CPU backend: some ops, and tensors that no
// binding takes whole.
#include <limits>

#include "fusion_fixture.hpp"

namespace weft::test {
namespace {

/// Single ops, none of which is fused.
class GgmlRest : public GgmlFusion {
 protected:
  void check_all(const std::vector<ggml_tensor*>& results, double tolerance = 1e-10) {
    for (ggml_tensor* result : results) {
      EXPECT_TRUE(ggml_backend_dev_supports_op(device(), result)) << ggml_op_name(result->op);
      expand(result);
    }
    check(0, results, tolerance);
  }
};

TEST_F(GgmlRest, DiagonalsAndScalars) {
  ggml_context* context = context_.get();
  ggml_tensor* one = tensor(GGML_TYPE_F32, {1});
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \
    "-Wdeprecated-declarations"  // It is still an op that old models have.
  ggml_tensor* sum = ggml_add1(context, tensor(GGML_TYPE_F32, {7, 5, 3, 2}), one);
#pragma GCC diagnostic pop
  check_all({sum, ggml_diag_mask_zero(context, tensor(GGML_TYPE_F32, {10, 10, 3}), 0),
             ggml_diag_mask_zero(context, tensor(GGML_TYPE_F32, {12, 6, 2}), 5)});
}

/// Chameleon clamps memory that nobody wrote, to give all of it one value.
TEST_F(GgmlRest, BoundsThatMeet) {
  ggml_context* context = context_.get();
  ggml_tensor* no_numbers = ggml_log(context, tensor(GGML_TYPE_F32, {70, 3}));
  constexpr float lowest = std::numeric_limits<float>::lowest();
  check_all({ggml_clamp(context, no_numbers, lowest, lowest),
             ggml_clamp(context, no_numbers, 0.5F, -0.5F)});
}

TEST_F(GgmlRest, Windows) {
  ggml_context* context = context_.get();
  std::vector<ggml_tensor*> results;
  // Whole windows, and windows that reach past the image.
  for (const int width : {12, 14}) {
    results.push_back(ggml_win_part(context, tensor(GGML_TYPE_F32, {5, width, 8}), 4));
    ggml_tensor* windows = tensor(GGML_TYPE_F32, {5, 4, 4, results.back()->ne[3]});
    results.push_back(ggml_win_unpart(context, windows, width, 8, 4));
  }
  check_all(results);
}

TEST_F(GgmlRest, RelativePositions) {
  ggml_context* context = context_.get();
  ggml_tensor* table = tensor(GGML_TYPE_F16, {8, 2 * 6 - 1});
  ggml_tensor* attention = tensor(GGML_TYPE_F32, {4 * 4, 4 * 4, 3});
  ggml_tensor* across = tensor(GGML_TYPE_F32, {4, 4, 4, 3});
  ggml_tensor* down = tensor(GGML_TYPE_F32, {4, 4, 4, 3});
  check_all(
      {ggml_get_rel_pos(context, table, 6, 6), ggml_add_rel_pos(context, attention, across, down)});
}

TEST_F(GgmlRest, GradientsOfColumnsAndPools) {
  ggml_context* context = context_.get();
  ggml_tensor* kernel = tensor(GGML_TYPE_F32, {3, 2, 4, 5});
  ggml_tensor* image = tensor(GGML_TYPE_F32, {11, 9, 4, 2});
  ggml_tensor* columns = ggml_im2col(context, kernel, image, 2, 1, 1, 0, 1, 2, true, GGML_TYPE_F32);
  ggml_tensor* gradient =
      tensor(GGML_TYPE_F32, {columns->ne[0], columns->ne[1], columns->ne[2], 2});
  std::vector<ggml_tensor*> results{
      ggml_im2col_back(context, gradient, kernel, image->ne, 2, 1, 1, 0, 1, 2, true)};
  for (const ggml_op_pool kind : {GGML_OP_POOL_MAX, GGML_OP_POOL_AVG}) {
    ggml_tensor* pooled = ggml_pool_2d(context, image, kind, 3, 2, 2, 2, 1, 0);
    ggml_tensor* of_pooled =
        tensor(GGML_TYPE_F32, {pooled->ne[0], pooled->ne[1], pooled->ne[2], pooled->ne[3]});
    results.push_back(ggml_pool_2d_back(context, of_pooled, image, kind, 3, 2, 2, 2, 1, 0));
  }
  check_all(results);
}

/// Tensors of more than a mebibyte, which is all that bindings take under one of the masks that the
/// tests run with.
TEST_F(GgmlRest, TensorsPastOneBinding) {
  ggml_context* context = context_.get();
  std::vector<ggml_tensor*> results;
  for (const auto& [type, rows] : {std::pair{GGML_TYPE_F32, 400},
                                   {GGML_TYPE_BF16, 700},
                                   {GGML_TYPE_Q4_0, 2300},
                                   {GGML_TYPE_Q6_K, 1500},
                                   {GGML_TYPE_IQ4_XS, 2100}}) {
    ggml_tensor* table = weights(type, 1024, rows);
    for (const std::int64_t columns : {1, 9}) {
      results.push_back(ggml_mul_mat(context, table, tensor(GGML_TYPE_F32, {1024, columns})));
    }
    ggml_tensor* chosen = integers(GGML_TYPE_I32, {rows - 1, 0, rows / 2});
    results.push_back(ggml_get_rows(context, table, chosen));
  }
  ggml_tensor* cache = tensor(GGML_TYPE_F16, {1024, 700});
  ggml_tensor* places = integers(GGML_TYPE_I64, {699, 1, 350});
  results.push_back(ggml_set_rows(context, cache, tensor(GGML_TYPE_F32, {1024, 3}), places));
  ggml_tensor* keys = tensor(GGML_TYPE_F16, {64, 6000, 2});
  ggml_tensor* values = tensor(GGML_TYPE_F16, {64, 6000, 2});
  results.push_back(ggml_flash_attn_ext(context, tensor(GGML_TYPE_F32, {64, 2, 4}), keys, values,
                                        nullptr, 0.125F, 0, 0));
  check_all(results, 5e-4);  // The CPU rounds to 8 bits, and to f16 in attention.
}

}  // namespace
}  // namespace weft::test
