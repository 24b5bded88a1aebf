#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <string_view>

#include "graph/node.hpp"
#include "scenarios.hpp"

// The host's memory ends at the Nth allocation, for every N: an exception, and the next attempt
// right.

namespace {

// Counted are allocations that Weft's own code asks for, not those inside of Dawn and the driver,
// which end the process when they get none. (Those of the standard library's templates are Weft's.)
thread_local bool counting = false;
thread_local std::uint64_t counted = 0;
thread_local std::uint64_t fail_at = 0;

/// Whether a function of Vulkan is under way. The driver may use this program's copies of the
/// standard library's templates; what they throw would leave the locks of Vulkan locked for ever.
bool in_driver() {
  counting = false;  // What is called here allocates too.
  std::array<void*, 128> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  const bool found = std::ranges::any_of(frames.begin(), frames.begin() + count, [](void* frame) {
    Dl_info place{};
    return ::dladdr(frame, &place) != 0 && place.dli_fname != nullptr &&
           std::string_view(place.dli_fname).contains("libvulkan");
  });
  counting = true;
  return found;
}

}  // namespace

extern "C" {
extern char __executable_start;  // NOLINT: the linker's names
extern char etext;               // NOLINT
}

void* operator new(std::size_t bytes) {
  if (counting) {
    const char* caller = static_cast<const char*>(__builtin_return_address(0));
    if (caller >= &__executable_start && caller < &etext && ++counted == fail_at && !in_driver()) {
      throw std::bad_alloc();
    }
  }
  void* memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }

namespace weft::test {

void count_allocations(std::uint64_t number) {
  counted = 0;
  fail_at = number;
  counting = true;
}

std::uint64_t counted_allocations() {
  counting = false;
  return counted;
}

namespace {

/// `most` of them fail in a sample, and `most_in_full` where all are asked for.
void sweep(const Scenario& scenario, std::uint64_t most,
           std::uint64_t most_in_full = std::numeric_limits<std::uint64_t>::max()) {
  const std::vector<float> expected = scenario.run();
  count_allocations(0);
  const std::vector<float> second = scenario.run();
  const std::uint64_t allocations = counted_allocations();
  EXPECT_EQ(second, expected);
  const std::uint64_t wanted = full() ? most_in_full : most;
  const std::uint64_t step = std::max<std::uint64_t>(1, allocations / wanted);
  std::uint64_t tried = 0;
  std::uint64_t errors = 0;
  std::uint64_t bytes = 0;
  for (std::uint64_t n = 1; n <= allocations; n += step) {
    SCOPED_TRACE(testing::Message()
                 << scenario.name << ", allocation " << n << " of " << allocations);
    ++tried;
    bool right = true;
    try {
      count_allocations(n);
      const std::vector<float> result = scenario.run();
      (void)counted_allocations();
      right = result == expected;
    } catch (const std::bad_alloc&) {
      (void)counted_allocations();
      ++errors;
    } catch (const Error& error) {
      (void)counted_allocations();
      ++errors;
      EXPECT_GT(std::string_view(error.what()).size(), 20U);
    }
    EXPECT_TRUE(right) << "a run that hides a failure must be right";
    ASSERT_EQ(scenario.run(), expected) << "the next attempt";
    const std::uint64_t now = Access::data(scenario.device)->device.memory().in_use;
    if (bytes != 0) {
      EXPECT_EQ(now, bytes) << "bytes on the device";
    }
    bytes = now;
  }
  std::printf("  %s: %llu allocations, %llu runs with a failing one, %llu errors\n",
              scenario.name.c_str(), static_cast<unsigned long long>(allocations),
              static_cast<unsigned long long>(tried), static_cast<unsigned long long>(errors));
}

TEST(FaultHost, InferenceStandsEveryAllocation) { sweep(inference(), 60); }
TEST(FaultHost, TrainingStandsEveryAllocation) { sweep(training(), 60); }
TEST(FaultHost, CompilingStandsEveryAllocation) { sweep(compiling(), 40); }
TEST(FaultHost, ModelsStandEveryAllocation) { sweep(models(), 60); }

/// An error scope that stayed open would keep every later error of the device to itself.
TEST(FaultHost, ErrorScopesAreClosedWhereMemoryEnds) {
  const Device device;
  gpu::Device& raw = Access::data(device)->device;
  std::vector<gpu::Buffer> kept;  // So that the pool has none to give.
  kept.reserve(100);
  std::uint64_t allocations = 1;
  for (std::uint64_t n = 0; n <= allocations; ++n) {  // None fails in the first round.
    count_allocations(n);
    try {
      if (auto buffer = raw.allocate(4096, "a test")) kept.push_back(std::move(*buffer));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): what it leaves counts
    }
    allocations = std::max(allocations, counted_allocations());
    ASSERT_TRUE(raw.inject_error_for_test(ErrorCode::out_of_memory, "an error by a test"));
    EXPECT_FALSE(raw.synchronize()) << "after allocation " << n;
  }
  EXPECT_GT(allocations, 0U);
}

TEST(FaultHost, RecoveryStandsEveryAllocation) { sweep(recovering(), 20, 500); }

TEST(FaultHost, LoadingStandsEveryAllocation) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("weft-host-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  sweep(loading(folder), 60);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::test
