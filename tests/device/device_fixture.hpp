#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu.hpp"
#include "shared.hpp"

/// What every device test needs: one device for the whole process, and checks for Result and
/// Status.
namespace weft::test {

/// The device that all tests of a process share; WEFT_ADAPTER, WEFT_MODE and WEFT_CAPS choose it.
/// Ends the test program with the reason if there is none: no device test could say anything then.
inline gpu::Device& device() {
  return shared([] {
    Result<gpu::Device> made = gpu::Device::create();
    if (!made) {
      std::fprintf(stderr, "No device for the tests: %s\n", made.error().message.c_str());
      std::exit(1);
    }
    return std::move(*made);
  });
}

/// EXPECT_TRUE(ok(result)) prints the error's message where there is one.
template <class T>
testing::AssertionResult ok(const Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << name(result.error().code) << ": " << result.error().message;
}

/// EXPECT_TRUE(fails(result, code, "part")) checks that an error has this code, and that its
/// message contains the part.
template <class T>
testing::AssertionResult fails(const Result<T>& result, ErrorCode code, std::string_view part) {
  if (result) return testing::AssertionFailure() << "it succeeded";
  if (result.error().code != code || !result.error().message.contains(part)) {
    return testing::AssertionFailure()
           << "the error is " << name(result.error().code) << ": " << result.error().message;
  }
  return testing::AssertionSuccess();
}

/// Values as the bytes that go to the device.
template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

/// A buffer that holds the values.
template <class T>
gpu::Buffer upload(gpu::Device& on, const std::vector<T>& values) {
  Result<gpu::Buffer> buffer = on.allocate(values.size() * sizeof(T), "test");
  EXPECT_TRUE(ok(buffer));
  if (!buffer) return {};
  EXPECT_TRUE(ok(on.write(gpu::whole(*buffer), bytes_of(values))));
  return *buffer;
}

/// The values of a whole buffer.
template <class T>
std::vector<T> download(gpu::Device& on, const gpu::Buffer& buffer) {
  std::vector<T> values(buffer.size() / sizeof(T));
  EXPECT_TRUE(ok(
      on.read({buffer, 0, values.size() * sizeof(T)}, std::as_writable_bytes(std::span(values)))));
  return values;
}

}  // namespace weft::test
