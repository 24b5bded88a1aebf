#include <cstdlib>
#include <optional>

#include "device_fixture.hpp"
#include "gpu/process_end.hpp"

// A program may keep a device in a static object and never close it.

namespace weft::test {
namespace {

/// Goes after the static objects made later, and ends the process with what it found.
struct Witness {
  ~Witness() { std::_Exit(gpu::process_ends() ? 0 : 1); }
};

[[noreturn]] void end_with_open_device() {
  static const Witness witness;
  static std::optional<gpu::Device> kept;
  static gpu::Recording recording;
  const auto made = gpu::Device::create();
  if (!made) std::_Exit(2);
  kept = *made;
  const auto buffer = kept->allocate(64);
  gpu::Stream stream = kept->stream();
  if (!buffer || !stream.begin_recording() || !stream.fill(gpu::whole(*buffer), 7)) std::_Exit(3);
  const auto recorded = stream.end_recording();
  if (!recorded || !stream.replay(*recorded)) std::_Exit(4);
  recording = *recorded;
  std::exit(5);
}

TEST(DeviceExit, LeavesStaticDevicesOpen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // A new process: this one has threads.
  EXPECT_EXIT(end_with_open_device(), testing::ExitedWithCode(0), "");
}

TEST(DeviceExit, ClosesDevicesAsLongAsTheProcessRuns) { EXPECT_FALSE(gpu::process_ends()); }

}  // namespace
}  // namespace weft::test
