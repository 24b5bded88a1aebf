// The plug-in after its device was lost: what comes back, what must be written again, and what is
// said.
#include <fcntl.h>
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backends.hpp"
#include "base/format.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

/// A file that is mapped as llama.cpp maps models.
class MappedWeights {
 public:
  explicit MappedWeights(const std::vector<float>& values)
      : path_(fs::path(testing::TempDir()) / formatted("weft-lost-{}.bin", getpid())),
        bytes_(values.size() * sizeof(float)) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(bytes_));
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    data_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
  }
  MappedWeights(const MappedWeights&) = delete;
  MappedWeights& operator=(const MappedWeights&) = delete;
  ~MappedWeights() {
    unmap();
    fs::remove(path_);
  }
  void unmap() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    data_ = nullptr;
  }
  [[nodiscard]] const float* data() const { return static_cast<const float*>(data_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

std::vector<float> ramp(std::size_t count, float step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = step * static_cast<float>(i % 31) - 1;
  return values;
}

/// y = weights · x, with weights in a buffer of their own.
class GgmlLost : public testing::Test {
 protected:
  static constexpr std::int64_t width = 64;
  static constexpr std::int64_t rows = 40;
  static constexpr std::size_t front = 256;  ///< Elements in front of the weights in their file.

  void SetUp() override {
    load_backends();
    device = weft_device(2);
    ASSERT_NE(device, nullptr);
    backend.reset(ggml_backend_dev_init(device, nullptr));
    ASSERT_TRUE(backend) << captured_log();
    for (ggml_context_ptr* context : {&weights_context, &context_}) {
      context->reset(ggml_init({.mem_size = 1 << 18, .mem_buffer = nullptr, .no_alloc = true}));
    }
    weights = ggml_new_tensor_2d(weights_context.get(), GGML_TYPE_F32, width, rows);
    x = ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, width, 3);
    y = ggml_mul_mat(context_.get(), weights, x);
    graph = ggml_new_graph(context_.get());
    ggml_build_forward_expand(graph, y);
    weights_buffer.reset(ggml_backend_alloc_ctx_tensors(weights_context.get(), backend.get()));
    ggml_backend_buffer_set_usage(weights_buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    buffer.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend.get()));
    ASSERT_TRUE(weights_buffer && buffer) << captured_log();
    values = ramp(front + static_cast<std::size_t>(width * rows), 0.125F);
    forget_log();
  }

  void write_x() const {
    const std::vector<float> numbers = ramp(3 * width, 0.25F);
    ggml_backend_tensor_set(x, numbers.data(), 0, numbers.size() * sizeof(float));
  }
  ggml_status compute() const { return ggml_backend_graph_compute(backend.get(), graph); }
  [[nodiscard]] std::vector<float> result() const {
    std::vector<float> out(static_cast<std::size_t>(ggml_nelements(y)));
    ggml_backend_tensor_get(y, out.data(), 0, out.size() * sizeof(float));
    return out;
  }
  void lose() const {
    using Lose = bool (*)(ggml_backend_dev_t);
    const auto function = reinterpret_cast<Lose>(ggml_backend_reg_get_proc_address(
        ggml_backend_dev_backend_reg(device), "weft_lose_device"));
    ASSERT_TRUE(function != nullptr && function(device));
  }
  [[nodiscard]] std::uint64_t losses() const {
    using Losses = std::uint64_t (*)(ggml_backend_dev_t);
    return reinterpret_cast<Losses>(ggml_backend_reg_get_proc_address(
        ggml_backend_dev_backend_reg(device), "weft_device_losses"))(device);
  }

  ggml_backend_dev_t device = nullptr;
  ggml_backend_ptr backend;
  ggml_context_ptr weights_context;
  ggml_context_ptr context_;
  ggml_backend_buffer_ptr weights_buffer;
  ggml_backend_buffer_ptr buffer;
  ggml_tensor* weights = nullptr;
  ggml_tensor* x = nullptr;
  ggml_tensor* y = nullptr;
  ggml_cgraph* graph = nullptr;
  std::vector<float> values;
};

TEST_F(GgmlLost, WeightsThatWereMappedComeBackFromTheirFile) {
  MappedWeights file(values);
  ggml_backend_tensor_set(weights, file.data() + front, 0, ggml_nbytes(weights));
  file.unmap();  // As llama.cpp does when a model is loaded.
  write_x();
  ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
  const std::vector<float> expected = result();
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = losses();
    const std::uint64_t bytes = device_stats(device).bytes;
    lose();
    EXPECT_EQ(losses(), before + 1);
    EXPECT_EQ(compute(), GGML_STATUS_FAILED) << "the graph that was begun";
    EXPECT_NE(captured_log().find("lost"), std::string::npos);
    write_x();
    ASSERT_EQ(compute(), GGML_STATUS_SUCCESS) << captured_log();
    EXPECT_EQ(result(), expected);
    EXPECT_EQ(losses(), before + 1);
    EXPECT_EQ(device_stats(device).bytes, bytes);
  }
  // Lost while nothing runs, and noticed by writing: the graph fails once all the same.
  lose();
  write_x();
  EXPECT_EQ(compute(), GGML_STATUS_FAILED);
  write_x();
  EXPECT_EQ(compute(), GGML_STATUS_SUCCESS);
  EXPECT_EQ(result(), expected);
}

TEST_F(GgmlLost, WhatNoFileHasIsAnErrorUntilItIsWrittenAgain) {
  ggml_backend_tensor_set(weights, values.data(), 0, ggml_nbytes(weights));
  write_x();
  ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
  const std::vector<float> expected = result();
  lose();
  EXPECT_EQ(compute(), GGML_STATUS_FAILED);
  write_x();
  forget_log();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(compute(), GGML_STATUS_FAILED) << "without weights";
  EXPECT_NE(captured_log().find("are gone"), std::string::npos) << captured_log();
  EXPECT_NE(captured_log().find("WEFT_KEEP_WEIGHTS"), std::string::npos) << captured_log();
  ggml_backend_tensor_set(weights, values.data(), 0, ggml_nbytes(weights));
  EXPECT_EQ(compute(), GGML_STATUS_SUCCESS) << captured_log();
  EXPECT_EQ(result(), expected);
}

TEST_F(GgmlLost, WeightsThatWereNotMappedComeBackWhereCopiesAreKept) {
  ::setenv("WEFT_KEEP_WEIGHTS", "1", 1);
  // In two pieces, as a loader that reads a file into a small buffer writes them.
  const std::size_t half = ggml_nbytes(weights) / 2;
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  ggml_backend_tensor_set(weights, bytes, 0, half);
  ggml_backend_tensor_set(weights, bytes + half, half, half);
  ::unsetenv("WEFT_KEEP_WEIGHTS");
  write_x();
  ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
  const std::vector<float> expected = result();
  for (int i = 0; i < 2; ++i) {
    lose();
    EXPECT_EQ(compute(), GGML_STATUS_FAILED) << "the graph that was begun";
    write_x();
    ASSERT_EQ(compute(), GGML_STATUS_SUCCESS) << captured_log();
    EXPECT_EQ(result(), expected);
  }
  // What is written later, and not kept, is not taken from the copy.
  ggml_backend_tensor_set(weights, bytes, half, half);
  lose();
  EXPECT_EQ(compute(), GGML_STATUS_FAILED);
  write_x();
  EXPECT_EQ(compute(), GGML_STATUS_FAILED) << "half of them are gone";
  EXPECT_NE(captured_log().find("WEFT_KEEP_WEIGHTS"), std::string::npos) << captured_log();
}

TEST_F(GgmlLost, AFileThatWasChangedDoesNotComeBack) {
  MappedWeights file(values);
  ggml_backend_tensor_set(weights, file.data() + front, 0, ggml_nbytes(weights));
  file.unmap();
  write_x();
  ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
  std::ofstream(file.path(), std::ios::binary | std::ios::app) << "more";
  lose();
  EXPECT_EQ(compute(), GGML_STATUS_FAILED);
  write_x();
  EXPECT_EQ(compute(), GGML_STATUS_FAILED);
  EXPECT_NE(captured_log().find("was changed since"), std::string::npos) << captured_log();
}

TEST_F(GgmlLost, WeightsThatAGraphChangedAreNotTakenFromTheirFile) {
  MappedWeights file(values);
  ggml_backend_tensor_set(weights, file.data() + front, 0, ggml_nbytes(weights));
  ggml_cgraph* change = ggml_new_graph(context_.get());
  ggml_build_forward_expand(change, ggml_scale_inplace(context_.get(), weights, 2));
  ASSERT_EQ(ggml_backend_graph_compute(backend.get(), change), GGML_STATUS_SUCCESS);
  lose();
  (void)compute();
  write_x();
  EXPECT_EQ(compute(), GGML_STATUS_FAILED) << "or old weights were used";
}

TEST_F(GgmlLost, RowsOfAMemoryThatWasLostAreAnErrorUntilItIsCleared) {
  const ggml_context_ptr own(
      ggml_init({.mem_size = 1 << 18, .mem_buffer = nullptr, .no_alloc = true}));
  ggml_tensor* cache = ggml_new_tensor_2d(own.get(), GGML_TYPE_F32, width, 8);
  const ggml_backend_buffer_ptr memory(ggml_backend_alloc_ctx_tensors(own.get(), backend.get()));
  ggml_backend_buffer_clear(memory.get(), 0);
  ggml_tensor* row = ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, width, 1);
  ggml_tensor* place = ggml_new_tensor_1d(context_.get(), GGML_TYPE_I64, 1);
  ggml_tensor* sum =
      ggml_sum_rows(context_.get(), ggml_set_rows(context_.get(), cache, row, place));
  ggml_cgraph* step = ggml_new_graph(context_.get());
  ggml_build_forward_expand(step, sum);
  const ggml_backend_buffer_ptr more(ggml_backend_alloc_ctx_tensors(context_.get(), backend.get()));
  const auto write = [&](std::int64_t at) {
    const std::vector<float> ones(width, 1);
    ggml_backend_tensor_set(row, ones.data(), 0, ones.size() * sizeof(float));
    ggml_backend_tensor_set(place, &at, 0, sizeof(at));
    return ggml_backend_graph_compute(backend.get(), step);
  };
  ASSERT_EQ(write(1), GGML_STATUS_SUCCESS);
  lose();
  EXPECT_EQ(write(2), GGML_STATUS_FAILED);
  EXPECT_EQ(write(2), GGML_STATUS_FAILED) << "row 1 is gone";
  ggml_backend_buffer_clear(memory.get(), 0);
  ASSERT_EQ(write(1), GGML_STATUS_SUCCESS) << captured_log();
  ASSERT_EQ(write(2), GGML_STATUS_SUCCESS) << captured_log();
  std::array<float, 8> sums{};
  ggml_backend_tensor_get(sum, sums.data(), 0, sizeof(sums));
  EXPECT_EQ(sums, (std::array<float, 8>{0, width, width, 0, 0, 0, 0, 0}));
}

TEST_F(GgmlLost, OtherThreadsFailOnceAndGoOn) {
  MappedWeights file(values);
  ggml_backend_tensor_set(weights, file.data() + front, 0, ggml_nbytes(weights));
  write_x();
  ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
  const std::vector<float> expected = result();
  const auto work = [&](int& right) {
    const ggml_backend_ptr own(ggml_backend_dev_init(device, nullptr));
    const ggml_context_ptr context(
        ggml_init({.mem_size = 1 << 18, .mem_buffer = nullptr, .no_alloc = true}));
    ggml_tensor* in = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, width, 3);
    ggml_tensor* out = ggml_mul_mat(context.get(), weights, in);
    ggml_cgraph* mine = ggml_new_graph(context.get());
    ggml_build_forward_expand(mine, out);
    const ggml_backend_buffer_ptr room(ggml_backend_alloc_ctx_tensors(context.get(), own.get()));
    const std::vector<float> numbers = ramp(3 * width, 0.25F);
    for (int i = 0; i < 60; ++i) {
      ggml_backend_tensor_set(in, numbers.data(), 0, numbers.size() * sizeof(float));
      if (ggml_backend_graph_compute(own.get(), mine) != GGML_STATUS_SUCCESS) continue;
      forget_log();
      std::vector<float> got(expected.size());
      ggml_backend_tensor_get(out, got.data(), 0, got.size() * sizeof(float));
      // A loss while reading only shows in the log.
      if (got == expected) ++right;
    }
  };
  std::array<int, 3> right{};
  {
    std::vector<std::jthread> threads;
    for (int& count : right) threads.emplace_back([&] { work(count); });
    for (int i = 0; i < 4; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      lose();
    }
  }
  for (const int count : right) EXPECT_GT(count, 40);
  write_x();
  (void)compute();
  write_x();
  ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
  EXPECT_EQ(result(), expected);
}

}  // namespace
}  // namespace weft::test
