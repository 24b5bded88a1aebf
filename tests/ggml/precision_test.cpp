// WEFT_PRECISION=highest, in a process of its own: it is read once.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "backends.hpp"
#include "base/format.hpp"
#include "process.hpp"

namespace weft::test {
namespace {

constexpr std::int64_t width = 512;
constexpr std::int64_t outputs = 48;

void fill(ggml_tensor* tensor) {
  std::vector<float> values(static_cast<std::size_t>(ggml_nelements(tensor)));
  std::uint32_t seed = 7;
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<double>(seed) / 0x1p31 - 1);
  }
  std::vector<std::byte> bytes(ggml_nbytes(tensor));
  ggml_quantize_chunk(tensor->type, values.data(), bytes.data(), 0,
                      ggml_nelements(tensor) / tensor->ne[0], tensor->ne[0], nullptr);
  ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
}

/// What the first of some rows gives in three products, which share a launch where rows are few.
/// Rows are the same however many follow them.
std::vector<float> first_row(std::int64_t rows) {
  const ggml_backend_ptr backend(ggml_backend_dev_init(weft_device(0), nullptr));
  const ggml_context_ptr context(
      ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
  ggml_tensor* x = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, width, rows);
  ggml_cgraph* graph = ggml_new_graph(context.get());
  std::vector<ggml_tensor*> weights;
  std::vector<ggml_tensor*> products;
  for (int i = 0; i < 3; ++i) {
    weights.push_back(ggml_new_tensor_2d(context.get(), GGML_TYPE_Q4_0, width, outputs));
    products.push_back(ggml_mul_mat(context.get(), weights.back(), x));
    ggml_build_forward_expand(graph, products.back());
  }
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  for (ggml_tensor* matrix : weights) fill(matrix);
  fill(x);
  EXPECT_EQ(ggml_backend_graph_compute(backend.get(), graph), GGML_STATUS_SUCCESS);
  std::vector<float> out(3 * outputs);
  for (std::size_t i = 0; i < 3; ++i) {
    ggml_backend_tensor_get(products[i], &out[i * outputs], 0, outputs * sizeof(float));
  }
  return out;
}

TEST(GgmlPrecision, DISABLED_ARowHasTheSameBitsAmongOthers) {
  load_backends();
  if (!ggml_backend_ptr(ggml_backend_dev_init(weft_device(0), nullptr))) {
    FAIL() << captured_log();
  }
  const std::vector<float> alone = first_row(1);
  for (const std::int64_t rows : {2, 5, 8, 9, 17, 40}) {
    EXPECT_EQ(first_row(rows), alone) << rows;
  }
}

TEST(GgmlPrecision, AnOptionKeepsTheBitsOfRows) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto with = [&](const char* precision) {
    return run_command(
        // The choices of a large device: small ones have one kernel for all numbers of rows.
        formatted("WEFT_CAPS=profile=h200 WEFT_PRECISION={} {} --gtest_also_run_disabled_tests "
                  "--gtest_filter=GgmlPrecision.DISABLED_*",
                  precision, self));
  };
  const Outcome highest = with("highest");
  EXPECT_EQ(highest.status, 0) << highest.text;
  EXPECT_EQ(with("standard").status, 1) << "then the option has nothing to decide";
  EXPECT_TRUE(with("high").text.contains("WEFT_PRECISION is \"high\", but it can be"));
}

}  // namespace
}  // namespace weft::test
