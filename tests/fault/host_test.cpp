#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

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

}  // namespace

extern "C" {
extern char __executable_start;  // NOLINT: the linker's names
extern char etext;               // NOLINT
}

void* operator new(std::size_t bytes) {
  if (counting) {
    const char* caller = static_cast<const char*>(__builtin_return_address(0));
    if (caller >= &__executable_start && caller < &etext && ++counted == fail_at) {
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
namespace {

void sweep(const Scenario& scenario, std::uint64_t most) {
  const std::vector<float> expected = scenario.run();
  counted = 0;
  fail_at = 0;
  counting = true;
  const std::vector<float> second = scenario.run();
  counting = false;
  EXPECT_EQ(second, expected);
  const std::uint64_t allocations = counted;
  const std::uint64_t step = full() ? 1 : std::max<std::uint64_t>(1, allocations / most);
  std::uint64_t tried = 0;
  std::uint64_t errors = 0;
  for (std::uint64_t n = 1; n <= allocations; n += step) {
    SCOPED_TRACE(testing::Message()
                 << scenario.name << ", allocation " << n << " of " << allocations);
    ++tried;
    counted = 0;
    fail_at = n;
    bool right = true;
    try {
      counting = true;
      const std::vector<float> result = scenario.run();
      counting = false;
      right = result == expected;
    } catch (const std::bad_alloc&) {
      counting = false;
      ++errors;
    } catch (const Error& error) {
      counting = false;
      ++errors;
      EXPECT_GT(std::string_view(error.what()).size(), 20U);
    }
    EXPECT_TRUE(right) << "a run that hides a failure must be right";
    ASSERT_EQ(scenario.run(), expected) << "the next attempt";
  }
  std::printf("  %s: %llu allocations, %llu runs with a failing one, %llu errors\n",
              scenario.name.c_str(), static_cast<unsigned long long>(allocations),
              static_cast<unsigned long long>(tried), static_cast<unsigned long long>(errors));
}

TEST(FaultHost, InferenceStandsEveryAllocation) { sweep(inference(), 60); }
TEST(FaultHost, TrainingStandsEveryAllocation) { sweep(training(), 60); }
TEST(FaultHost, CompilingStandsEveryAllocation) { sweep(compiling(), 40); }
TEST(FaultHost, ModelsStandEveryAllocation) { sweep(models(), 60); }

TEST(FaultHost, LoadingStandsEveryAllocation) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("weft-host-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  sweep(loading(folder), 60);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::test
