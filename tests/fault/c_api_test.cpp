#include <gtest/gtest.h>
#include <weft/weft.h>

#include <array>
#include <cstring>
#include <string_view>

#include "gpu/fault.hpp"

// The C API over lost devices: is_lost, recover, keep, and kernels of the user's own.

namespace weft::test {
namespace {

weft_status give_numbers(void* context, void* bytes, uint64_t size) {
  ++*static_cast<int*>(context);
  const std::array<float, 2> values{8, 9};
  if (size != sizeof(values)) return WEFT_INVALID_ARGUMENT;
  std::memcpy(bytes, values.data(), size);
  return WEFT_OK;
}

class FaultCApi : public testing::Test {
 protected:
  void SetUp() override {
    gpu::set_faults({});
    ASSERT_EQ(weft_device_open(nullptr, &device), WEFT_OK) << weft_last_error();
  }
  void TearDown() override {
    gpu::set_faults({});
    weft_device_close(device);
  }

  weft_tensor tensor(const std::array<float, 2>& values) {
    weft_tensor out = nullptr;
    const std::int64_t shape = 2;
    EXPECT_EQ(
        weft_tensor_from_data(device, WEFT_F32, 1, &shape, values.data(), sizeof(values), &out),
        WEFT_OK)
        << weft_last_error();
    return out;
  }
  std::array<float, 2> read(weft_tensor from) {
    std::array<float, 2> values{};
    EXPECT_EQ(weft_tensor_read(from, WEFT_F32, values.data(), sizeof(values)), WEFT_OK)
        << weft_last_error();
    return values;
  }
  /// The device goes in front of the next submission.
  void lose() {
    gpu::set_faults({.kind = "submit", .number = 1, .lose = true});
    weft_tensor x = tensor({1, 1});
    weft_tensor y = nullptr;
    if (weft_tensor_exp(x, &y) == WEFT_OK) {
      std::array<float, 2> values{};
      EXPECT_EQ(weft_tensor_read(y, WEFT_F32, values.data(), sizeof(values)), WEFT_DEVICE_LOST);
      EXPECT_TRUE(std::string_view(weft_last_error()).contains("lost")) << weft_last_error();
      weft_tensor_free(y);
    }
    weft_tensor_free(x);
    gpu::set_faults({});
  }
  bool is_lost() {
    bool lost = false;
    EXPECT_EQ(weft_device_is_lost(device, &lost), WEFT_OK);
    return lost;
  }

  weft_device device = nullptr;
};

TEST_F(FaultCApi, WhatIsKeptComesBack) {
  int asked = 0;
  weft_tensor copied = tensor({1, 2});
  weft_tensor asked_for = tensor({3, 4});
  weft_tensor gone = tensor({5, 6});
  EXPECT_EQ(weft_tensor_keep(copied, nullptr, nullptr), WEFT_OK);
  EXPECT_EQ(weft_tensor_keep(asked_for, give_numbers, &asked), WEFT_OK);
  lose();
  ASSERT_TRUE(is_lost());
  std::array<float, 2> values{};
  EXPECT_EQ(weft_tensor_read(copied, WEFT_F32, values.data(), sizeof(values)), WEFT_DEVICE_LOST);
  EXPECT_EQ(weft_device_recover(device), WEFT_OK) << weft_last_error();
  EXPECT_FALSE(is_lost());
  EXPECT_EQ(read(copied), (std::array<float, 2>{1, 2}));
  EXPECT_EQ(read(asked_for), (std::array<float, 2>{8, 9}));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(weft_tensor_read(gone, WEFT_F32, values.data(), sizeof(values)), WEFT_DEVICE_LOST);
  EXPECT_TRUE(std::string_view(weft_last_error()).contains("nothing says how it comes back"));
  EXPECT_EQ(weft_device_recover(device), WEFT_OK) << "nothing to do";
  for (weft_tensor made : {copied, asked_for, gone}) weft_tensor_free(made);
}

TEST_F(FaultCApi, TensorsFromDataComeBackByThemselves) {
  ASSERT_EQ(weft_device_recover_automatically(device), WEFT_OK) << weft_last_error();
  weft_tensor numbers = tensor({1, 2});
  const std::int64_t shape = 2;
  const std::array<std::uint8_t, 2> bytes{0, 7};
  weft_tensor truths = nullptr;
  ASSERT_EQ(weft_tensor_from_data(device, WEFT_BOOL, 1, &shape, bytes.data(), 2, &truths), WEFT_OK)
      << weft_last_error();
  for (int i = 0; i < 3; ++i) {
    gpu::set_faults({.kind = i == 0   ? "submit"
                             : i == 1 ? "map"
                                      : "buffer",
                     .number = 1,
                     .lose = true});
    weft_tensor made = tensor({3, 4});  // while the device goes, too
    weft_tensor doubled = nullptr;
    ASSERT_EQ(weft_tensor_add(numbers, numbers, &doubled), WEFT_OK) << weft_last_error();
    EXPECT_EQ(read(numbers), (std::array<float, 2>{1, 2}));
    EXPECT_EQ(read(truths), (std::array<float, 2>{0, 1}));
    EXPECT_EQ(read(made), (std::array<float, 2>{3, 4}));
    EXPECT_EQ(read(doubled), (std::array<float, 2>{2, 4}));
    gpu::set_faults({});
    weft_tensor_free(made);
    weft_tensor_free(doubled);
  }
  weft_tensor_free(numbers);
  weft_tensor_free(truths);
}

TEST_F(FaultCApi, KernelsOfOnesOwnAreCompiledAgain) {
  const bool writes[] = {true};
  weft_kernel_source source{};
  source.wgsl =
      "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
      "@compute @workgroup_size(2) fn main(@builtin(local_invocation_index) i: u32) "
      "{ x[i] = x[i] * 3.0; }";
  source.label = "threefold";
  source.writes = writes;
  source.bindings = 1;
  weft_kernel kernel = nullptr;
  ASSERT_EQ(weft_kernel_create(device, &source, &kernel), WEFT_OK) << weft_last_error();
  const std::array<std::uint32_t, 3> one{1, 1, 1};
  for (int i = 0; i < 2; ++i) {
    weft_tensor x = tensor({1, 2});
    EXPECT_EQ(weft_kernel_run_tensors(kernel, &x, 1, one.data(), nullptr, 0), WEFT_OK)
        << weft_last_error();
    EXPECT_EQ(read(x), (std::array<float, 2>{3, 6}));
    weft_tensor_free(x);
    lose();
    ASSERT_EQ(weft_device_recover(device), WEFT_OK);
  }
  EXPECT_EQ(weft_kernel_free(kernel), WEFT_OK);
}

TEST_F(FaultCApi, WrongArgumentsAreErrors) {
  bool lost = false;
  EXPECT_NE(weft_device_is_lost(nullptr, &lost), WEFT_OK);
  EXPECT_NE(weft_device_is_lost(device, nullptr), WEFT_OK);
  EXPECT_NE(weft_device_recover(nullptr), WEFT_OK);
  EXPECT_NE(weft_tensor_keep(nullptr, nullptr, nullptr), WEFT_OK);
  EXPECT_NE(weft_device_set_watchdog(device, -1), WEFT_OK);
  EXPECT_EQ(weft_device_set_watchdog(device, 30), WEFT_OK) << weft_last_error();
}

}  // namespace
}  // namespace weft::test
