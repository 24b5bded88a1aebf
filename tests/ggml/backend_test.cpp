// The plug-in behind ggml's backend interface: memory, graphs, failures, threads.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backends.hpp"

namespace weft::test {
namespace {

class GgmlBackend : public testing::Test {
 protected:
  void SetUp() override {
    load_backends();
    device_ = weft_device(0);
    ASSERT_NE(device_, nullptr);
    backend_.reset(ggml_backend_dev_init(device_, nullptr));
    ASSERT_TRUE(backend_) << captured_log();
    context_ = make_context();
  }

  static ggml_context_ptr make_context() {
    return ggml_context_ptr(
        ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
  }

  /// Gives all tensors of the context memory on the device.
  void allocate() {
    buffer_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend_.get()));
    ASSERT_TRUE(buffer_) << captured_log();
  }

  static std::vector<float> read(const ggml_tensor* tensor) {
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, values.data(), 0, ggml_nbytes(tensor));
    return values;
  }

  static void write(ggml_tensor* tensor, const std::vector<float>& values) {
    ggml_backend_tensor_set(tensor, values.data(), 0, values.size() * sizeof(float));
  }

  ggml_backend_dev_t device_ = nullptr;
  ggml_backend_ptr backend_;
  ggml_context_ptr context_;
  ggml_backend_buffer_ptr buffer_;
};

std::vector<float> numbers(std::size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_F(GgmlBackend, TellsAboutItself) {
  EXPECT_STREQ(ggml_backend_dev_name(device_), "WEFT0");
  EXPECT_STREQ(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device_)), "Weft");
  std::size_t free = 0;
  std::size_t total = 0;
  ggml_backend_dev_memory(device_, &free, &total);
  EXPECT_GT(free, std::size_t{1} << 20);
  EXPECT_LE(free, total);
  if (std::string_view(ggml_backend_dev_description(device_)).contains("llvmpipe")) {
    // It lives in the machine's memory: that is the figure, not what one buffer may take.
    std::ifstream file("/proc/meminfo");
    std::string first;
    std::size_t kibibytes = 0;
    ASSERT_TRUE(file >> first >> kibibytes && first == "MemTotal:") << first;
    EXPECT_EQ(total, kibibytes * 1024);
    EXPECT_LT(free, total);
  }
}

TEST_F(GgmlBackend, MovesBytesAtAnyOffset) {
  ggml_tensor* tensor = ggml_new_tensor_1d(context_.get(), GGML_TYPE_I8, 1000);
  ggml_tensor* other = ggml_new_tensor_1d(context_.get(), GGML_TYPE_I8, 1000);
  allocate();
  std::vector<std::uint8_t> wanted(1000, 7);
  ggml_backend_tensor_memset(tensor, 7, 0, 1000);
  const std::array<std::uint8_t, 5> part{1, 2, 3, 4, 5};
  ggml_backend_tensor_set(tensor, part.data(), 333, part.size());
  std::ranges::copy(part, wanted.begin() + 333);
  ggml_backend_tensor_memset(tensor, 9, 11, 17);
  std::fill_n(wanted.begin() + 11, 17, std::uint8_t{9});
  ggml_backend_tensor_copy(tensor, other);
  std::vector<std::uint8_t> got(990);
  ggml_backend_tensor_get(other, got.data(), 3, got.size());
  EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin() + 3));

  std::vector<std::uint8_t> later(700);
  ggml_backend_tensor_get_async(backend_.get(), tensor, later.data(), 300, later.size());
  ggml_backend_synchronize(backend_.get());
  EXPECT_TRUE(std::equal(later.begin(), later.end(), wanted.begin() + 300));
}

TEST_F(GgmlBackend, CopiesAndReadsInTheOrderOfEvents) {
  const ggml_backend_ptr second(ggml_backend_dev_init(device_, nullptr));
  const ggml_backend_ptr elsewhere(ggml_backend_dev_init(weft_device(1), nullptr));
  const ggml_context_ptr other_context = make_context();
  ggml_tensor* x = ggml_new_tensor_1d(context_.get(), GGML_TYPE_F32, 5000);
  ggml_tensor* y = ggml_scale(context_.get(), x, 2);
  ggml_tensor* copy = ggml_new_tensor_1d(context_.get(), GGML_TYPE_F32, 5000);
  ggml_tensor* far = ggml_new_tensor_1d(other_context.get(), GGML_TYPE_F32, 5000);
  ggml_cgraph* graph = ggml_new_graph(context_.get());
  ggml_build_forward_expand(graph, y);
  allocate();
  const ggml_backend_buffer_ptr other_buffer(
      ggml_backend_alloc_ctx_tensors(other_context.get(), elsewhere.get()));
  ggml_backend_event_t computed = ggml_backend_event_new(device_);
  ggml_backend_event_t read_back = ggml_backend_event_new(device_);
  ASSERT_TRUE(computed != nullptr && read_back != nullptr);
  for (const float first : {1.0F, -7.0F}) {
    const std::vector<float> input = numbers(5000, first);
    ggml_backend_tensor_set_async(backend_.get(), x, input.data(), 0, ggml_nbytes(x));
    ASSERT_EQ(ggml_backend_graph_compute_async(backend_.get(), graph), GGML_STATUS_SUCCESS);
    ggml_backend_event_record(computed, backend_.get());
    ggml_backend_event_wait(second.get(), computed);
    ggml_backend_tensor_copy_async(backend_.get(), second.get(), y, copy);
    ggml_backend_event_wait(elsewhere.get(), computed);
    ggml_backend_tensor_copy_async(backend_.get(), elsewhere.get(), y, far);
    // The event stands for the bytes as well that were asked for before it.
    std::vector<float> got(5000);
    ggml_backend_tensor_get_async(second.get(), copy, got.data(), 0, ggml_nbytes(copy));
    ggml_backend_event_record(read_back, second.get());
    ggml_backend_event_synchronize(read_back);
    ggml_backend_synchronize(elsewhere.get());
    const std::vector<float> got_far = read(far);
    for (std::size_t i = 0; i < input.size(); ++i) {
      ASSERT_FLOAT_EQ(got[i], 2 * input[i]);
      ASSERT_FLOAT_EQ(got_far[i], 2 * input[i]);
    }
  }
  ggml_backend_event_free(computed);
  ggml_backend_event_free(read_back);
}

TEST_F(GgmlBackend, ReplaysGraphsThatItKnows) {
  ggml_tensor* x = ggml_new_tensor_1d(context_.get(), GGML_TYPE_F32, 100);
  ggml_tensor* y = ggml_scale(context_.get(), ggml_sqr(context_.get(), x), 3);
  ggml_cgraph* graph = ggml_new_graph(context_.get());
  ggml_build_forward_expand(graph, y);
  allocate();
  const DeviceStats before = device_stats(device_);
  for (int round = 0; round < 3; ++round) {
    const std::vector<float> input = numbers(100, static_cast<float>(round));
    write(x, input);
    ASSERT_EQ(ggml_backend_graph_compute(backend_.get(), graph), GGML_STATUS_SUCCESS);
    const std::vector<float> output = read(y);
    for (std::size_t i = 0; i < output.size(); ++i) {
      ASSERT_FLOAT_EQ(output[i], 3 * input[i] * input[i]);
    }
  }
  EXPECT_EQ(device_stats(device_).recorded, before.recorded + 1);
  EXPECT_EQ(device_stats(device_).replayed, before.replayed + 2);
}

TEST_F(GgmlBackend, TellsGraphsApartByTheirParameters) {
  ggml_tensor* x = ggml_new_tensor_1d(context_.get(), GGML_TYPE_F32, 64);
  ggml_tensor* y = ggml_scale(context_.get(), x, 3);
  ggml_cgraph* graph = ggml_new_graph(context_.get());
  ggml_build_forward_expand(graph, y);
  allocate();
  write(x, numbers(64));
  for (const float factor : {3.0F, 5.0F, 3.0F}) {
    std::memcpy(y->op_params, &factor, sizeof(factor));
    ASSERT_EQ(ggml_backend_graph_compute(backend_.get(), graph), GGML_STATUS_SUCCESS);
    EXPECT_FLOAT_EQ(read(y)[10], 10 * factor);
  }
}

TEST_F(GgmlBackend, WorksInPlace) {
  ggml_tensor* x = ggml_new_tensor_1d(context_.get(), GGML_TYPE_F32, 256);
  ggml_tensor* doubled = ggml_scale_inplace(context_.get(), x, 2);
  ggml_tensor* half = ggml_view_1d(context_.get(), doubled, 128, 128 * sizeof(float));
  ggml_tensor* sum = ggml_add_inplace(context_.get(), half, half);
  ggml_cgraph* graph = ggml_new_graph(context_.get());
  ggml_build_forward_expand(graph, sum);
  allocate();
  write(x, numbers(256));
  ASSERT_EQ(ggml_backend_graph_compute(backend_.get(), graph), GGML_STATUS_SUCCESS);
  const std::vector<float> got = read(x);
  EXPECT_FLOAT_EQ(got[100], 200);
  EXPECT_FLOAT_EQ(got[200], 800);
}

TEST_F(GgmlBackend, FusesNorms) {
  constexpr std::int64_t width = 96;
  constexpr std::int64_t rows = 5;
  ggml_context* context = context_.get();
  ggml_tensor* x = ggml_new_tensor_2d(context, GGML_TYPE_F32, width, rows);
  ggml_tensor* residual = ggml_new_tensor_2d(context, GGML_TYPE_F32, width, rows);
  ggml_tensor* weight = ggml_new_tensor_1d(context, GGML_TYPE_F32, width);
  ggml_tensor* bias = ggml_new_tensor_1d(context, GGML_TYPE_F32, width);
  ggml_tensor* sum = ggml_add(context, x, residual);
  ggml_tensor* norm = ggml_rms_norm(context, sum, 1e-5F);
  ggml_tensor* y = ggml_add(context, ggml_mul(context, norm, weight), bias);
  ggml_tensor* z = ggml_add(context, y, sum);  // The sum is needed afterwards as well.
  ggml_cgraph* graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, z);
  allocate();
  write(x, numbers(width * rows, -200));
  write(residual, numbers(width * rows, 3));
  write(weight, numbers(width, 1));
  write(bias, numbers(width, -7));
  const std::uint64_t before = device_stats(device_).fused;
  ASSERT_EQ(ggml_backend_graph_compute(backend_.get(), graph), GGML_STATUS_SUCCESS);
  EXPECT_EQ(device_stats(device_).fused, before + 3) << "four nodes should be one launch";
  const std::vector<float> got = read(z);
  for (std::size_t row = 0; row < rows; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) {
      squares += std::pow((2.0 * static_cast<double>((row * width) + i)) - 197, 2);
    }
    const double scale = 1 / std::sqrt((squares / width) + 1e-5);
    for (std::size_t i = 0; i < width; ++i) {
      const double added = (2.0 * static_cast<double>((row * width) + i)) - 197;
      const double wanted =
          (added * scale * (1.0 + static_cast<double>(i))) + (static_cast<double>(i) - 7) + added;
      ASSERT_NEAR(got[(row * width) + i], wanted, 1e-3 * std::max(1.0, std::abs(wanted)));
    }
  }
}

TEST_F(GgmlBackend, DoesNotFuseWhatIsUsedTwice) {
  ggml_context* context = context_.get();
  ggml_tensor* x = ggml_new_tensor_2d(context, GGML_TYPE_F32, 64, 2);
  ggml_tensor* weight = ggml_new_tensor_1d(context, GGML_TYPE_F32, 64);
  ggml_tensor* norm = ggml_rms_norm(context, x, 1e-5F);
  ggml_tensor* y = ggml_sub(context, ggml_mul(context, norm, weight), norm);
  ggml_cgraph* graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, y);
  allocate();
  write(x, numbers(128, 1));
  write(weight, std::vector<float>(64, 1));
  const std::uint64_t before = device_stats(device_).fused;
  ASSERT_EQ(ggml_backend_graph_compute(backend_.get(), graph), GGML_STATUS_SUCCESS);
  EXPECT_EQ(device_stats(device_).fused, before);
  EXPECT_EQ(read(y), std::vector<float>(128, 0));
}

TEST_F(GgmlBackend, RefusesMemoryThatThereIsNot) {
  ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(device_);
  EXPECT_EQ(ggml_backend_buft_alloc_buffer(type, std::size_t{1} << 60), nullptr);
  EXPECT_NE(captured_log().find("WEFT0"), std::string::npos);
  ggml_new_tensor_1d(context_.get(), GGML_TYPE_F32, 16);
  allocate();  // The device still works.
}

TEST_F(GgmlBackend, FailsGraphsThatNeedMoreMemoryThanThereIs) {
  // The left side is decoded to scratch that is 28 times as large and more than one buffer may
  // have.
  const std::size_t most = ggml_backend_buft_get_max_size(ggml_backend_dev_buffer_type(device_));
  const auto rows = static_cast<std::int64_t>(most / (4096 * sizeof(float))) + 1;
  ggml_tensor* left = ggml_new_tensor_2d(context_.get(), GGML_TYPE_Q1_0, 4096, rows);
  if (ggml_nbytes(left) > std::size_t{1} << 30) GTEST_SKIP() << "buffers may be as large as memory";
  ggml_tensor* right = ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, 1, rows);
  ggml_tensor* product = ggml_out_prod(context_.get(), left, right);
  ggml_cgraph* graph = ggml_new_graph(context_.get());
  ggml_build_forward_expand(graph, product);
  allocate();
  EXPECT_EQ(ggml_backend_graph_compute(backend_.get(), graph), GGML_STATUS_ALLOC_FAILED)
      << captured_log();
  EXPECT_TRUE(captured_log().contains("WEFT0: ")) << captured_log();

  // The backend still works.
  buffer_.reset();
  context_ = make_context();
  ggml_tensor* x = ggml_new_tensor_1d(context_.get(), GGML_TYPE_F32, 64);
  ggml_tensor* y = ggml_sqr(context_.get(), x);
  graph = ggml_new_graph(context_.get());
  ggml_build_forward_expand(graph, y);
  allocate();
  write(x, numbers(64));
  ASSERT_EQ(ggml_backend_graph_compute(backend_.get(), graph), GGML_STATUS_SUCCESS);
  EXPECT_FLOAT_EQ(read(y)[9], 81);
}

TEST_F(GgmlBackend, ReportsALostDevice) {
  ggml_backend_dev_t victim = weft_device(2);  // Nobody else uses this one.
  backend_.reset(ggml_backend_dev_init(victim, nullptr));
  ggml_tensor* x = ggml_new_tensor_1d(context_.get(), GGML_TYPE_F32, 64);
  ggml_cgraph* graph = ggml_new_graph(context_.get());
  ggml_build_forward_expand(graph, ggml_sqr(context_.get(), x));
  allocate();
  ASSERT_EQ(ggml_backend_graph_compute(backend_.get(), graph), GGML_STATUS_SUCCESS);
  using Lose = bool (*)(ggml_backend_dev_t);
  const auto lose = reinterpret_cast<Lose>(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(victim), "weft_lose_device"));
  ASSERT_NE(lose, nullptr);
  ASSERT_TRUE(lose(victim));
  EXPECT_NE(ggml_backend_graph_compute(backend_.get(), graph), GGML_STATUS_SUCCESS);
  EXPECT_NE(captured_log().find("lost"), std::string::npos);
}

TEST_F(GgmlBackend, GivesMemoryOfRecordedGraphsBack) {
  const std::uint64_t before = device_stats(device_).bytes;
  ggml_tensor* x = ggml_new_tensor_1d(context_.get(), GGML_TYPE_F32, 1 << 20);
  ggml_cgraph* graph = ggml_new_graph(context_.get());
  ggml_build_forward_expand(graph, ggml_scale_inplace(context_.get(), x, 2));
  allocate();
  ASSERT_EQ(ggml_backend_graph_compute(backend_.get(), graph), GGML_STATUS_SUCCESS);
  EXPECT_GE(device_stats(device_).bytes, before + (4U << 20U));
  buffer_.reset();
  EXPECT_EQ(device_stats(device_).bytes, before);
}

TEST_F(GgmlBackend, ServesSeveralThreads) {
  const auto work = [this](float first, std::vector<float>& result) {
    const ggml_backend_ptr backend(ggml_backend_dev_init(device_, nullptr));
    const ggml_context_ptr context = make_context();
    ggml_tensor* x = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 512);
    ggml_tensor* y = ggml_sqr(context.get(), ggml_scale(context.get(), x, 2));
    ggml_cgraph* graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    const ggml_backend_buffer_ptr buffer(
        ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
    for (int round = 0; round < 20; ++round) {
      write(x, numbers(512, first + static_cast<float>(round)));
      if (ggml_backend_graph_compute(backend.get(), graph) != GGML_STATUS_SUCCESS) return;
      result.push_back(read(y)[7]);
    }
  };
  std::array<std::vector<float>, 4> results;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < results.size(); ++i) {
      threads.emplace_back(work, static_cast<float>(100 * i), std::ref(results[i]));
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].size(), 20U);
    for (std::size_t round = 0; round < 20; ++round) {
      const auto value = static_cast<float>((100 * i) + round + 7);
      EXPECT_FLOAT_EQ(results[i][round], 4 * value * value);
    }
  }
}

/// llama.cpp's loader asks this way whether the device can read the factors of rotations: without
/// any parameter.
TEST_F(GgmlBackend, TakesFactorsOfRotationsWhoseParametersAreNotKnown) {
  ggml_context* context = context_.get();
  ggml_tensor* x = ggml_new_tensor_3d(context, GGML_TYPE_F32, 64, 4, 512);
  ggml_tensor* positions = ggml_new_tensor_1d(context, GGML_TYPE_I32, 512);
  for (const std::int64_t factors : {32, 24}) {
    ggml_tensor* weight = ggml_new_tensor_1d(context, GGML_TYPE_F32, factors);
    ggml_tensor* probe = ggml_rope_ext(context, x, positions, weight, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    EXPECT_TRUE(ggml_backend_dev_supports_op(device_, probe)) << factors;
  }
}

/// Answers are kept: another type, extent, parameter or overlap of the same op is another question.
TEST_F(GgmlBackend, AnswersAreThoseOfTheOpThatIsAskedFor) {
  ggml_context* context = context_.get();
  ggml_tensor* x = ggml_new_tensor_2d(context, GGML_TYPE_F32, 64, 4);
  ggml_tensor* sum = ggml_add(context, x, ggml_new_tensor_2d(context, GGML_TYPE_F32, 64, 4));
  ggml_tensor* glu = ggml_glu(context, x, GGML_GLU_OP_SWIGLU, false);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(ggml_backend_dev_supports_op(device_, sum));
    EXPECT_TRUE(ggml_backend_dev_supports_op(device_, glu));
    sum->src[1]->type = GGML_TYPE_F64;
    EXPECT_FALSE(ggml_backend_dev_supports_op(device_, sum));
    sum->src[1]->type = GGML_TYPE_F32;
    sum->src[1]->ne[0] = 3;
    EXPECT_FALSE(ggml_backend_dev_supports_op(device_, sum));
    sum->src[1]->ne[0] = 64;
    glu->op_params[0] = GGML_GLU_OP_COUNT;
    EXPECT_FALSE(ggml_backend_dev_supports_op(device_, glu));
    glu->op_params[0] = GGML_GLU_OP_SWIGLU;
  }
}

}  // namespace
}  // namespace weft::test
