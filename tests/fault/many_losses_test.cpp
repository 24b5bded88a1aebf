#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "gpu/fault.hpp"
#include "gpu/lifetime.hpp"
#include "graph/node.hpp"
#include "scenarios.hpp"

// More than 1,000 devices that are lost at random moments (a sample of them unless WEFT_FULL is
// set): while models compute and learn, while functions are compiled, tensors uploaded and read, by
// the thread that works and by another one. WEFT_SEED=N chooses other moments.

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int losses_of_a_full_run = 36;  // by 28 cases: 1,008
constexpr int losses_of_a_sample = 3;

std::uint64_t seed() {
  const char* text = std::getenv("WEFT_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

gpu::Device current(const Device& device) {
  DeviceData& data = *Access::data(device);
  const std::lock_guard lock(data.mutex);
  return data.device;
}

/// Runs until it succeeds, as a program does that expects losses.
std::vector<float> insist(const Scenario& scenario) {
  for (int i = 0; i < 20; ++i) {
    try {
      return scenario.run();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::device_lost) throw;
      try {
        recover(scenario.device);
      } catch (const Error& again) {  // lost once more on the way
        if (again.code() != ErrorCode::device_lost) throw;
      }
    }
  }
  throw Error(ErrorCode::internal, "It did not come back after 20 attempts.");
}

/// What the process holds; threads of a device that has just been closed get a while to end.
Held settled_held(const Held& before) {
  Held now = held();
  for (int i = 0; i < 100 && (now.threads > before.threads || now.descriptors > before.descriptors);
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    now = held();
  }
  return now;
}

struct Case {
  Scenario (*make)();
  bool other_thread;  ///< Takes the device away; else it goes in front of one of the calls of
                      ///< WebGPU.
  bool automatic;     ///< It comes back without recover().
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (Scenario (*make)() : {inference, training, compiling, uploading, reading, threads, models}) {
    for (const bool other_thread : {false, true}) {
      for (const bool automatic : {false, true}) all.push_back({make, other_thread, automatic});
    }
  }
  return all;
}

class FaultManyLosses : public testing::TestWithParam<std::size_t> {
 protected:
  // A cache of its own: what is compiled here is of no use to anybody else.
  static void SetUpTestSuite() {
    const char* folder = std::getenv("WEFT_CACHE_DIR");
    if (folder != nullptr) before_ = folder;
    cache_ = std::filesystem::temp_directory_path() / ("weft-losses-" + std::to_string(::getpid()));
    ::setenv("WEFT_CACHE_DIR", cache_.c_str(), 1);
  }
  static void TearDownTestSuite() {
    if (before_.empty()) {
      ::unsetenv("WEFT_CACHE_DIR");
    } else {
      ::setenv("WEFT_CACHE_DIR", before_.c_str(), 1);
    }
    std::filesystem::remove_all(cache_);
  }
  void SetUp() override { gpu::set_faults({}); }
  void TearDown() override { gpu::set_faults({}); }

 private:
  static inline std::filesystem::path cache_;
  static inline std::string before_;
};

TEST_P(FaultManyLosses, ResultsAreEqualAndNothingIsLeft) {
  const Case how = cases()[GetParam()];
  const Scenario scenario = how.make();
  scenario.keep();
  if (how.automatic) recover_automatically(scenario.device);
  const std::vector<float> expected = scenario.run();
  ASSERT_EQ(scenario.run(), expected);  // plans that come again are made ready for all later runs
  gpu::set_faults({});
  const Clock::time_point start = Clock::now();
  ASSERT_EQ(scenario.run(), expected);
  const std::chrono::duration<double> undisturbed = Clock::now() - start;
  const std::uint64_t calls = std::max<std::uint64_t>(1, gpu::counted_calls());

  std::mt19937_64 random(seed() * 1'000 + GetParam());
  const int wanted = full() ? losses_of_a_full_run : losses_of_a_sample;
  const int settled = wanted / 3;
  Held held_before;
  std::uint64_t bytes_before = 0;
  std::uint64_t resident_before = 0;
  int losses = 0;
  for (int round = 0; losses < wanted && round < 3 * wanted; ++round) {
    SCOPED_TRACE(testing::Message() << scenario.name << ", seed " << seed() << ", round " << round);
    const std::uint64_t identity = gpu::identity(current(scenario.device));
    if (how.other_thread) {
      const auto wait = undisturbed * static_cast<double>(random() % 1'000) * 1e-3;
      std::jthread other([&scenario, wait] {
        std::this_thread::sleep_for(wait);
        (void)current(scenario.device).lose_for_test("another thread took it away");
      });
      ASSERT_EQ(insist(scenario), expected);
    } else {
      gpu::set_faults({.number = 1 + random() % calls, .lose = true});
      ASSERT_EQ(insist(scenario), expected);
      gpu::set_faults({});
    }
    ASSERT_EQ(insist(scenario), expected);  // it may have gone after the last thing that was asked
    if (gpu::identity(current(scenario.device)) != identity) ++losses;
    const std::uint64_t bytes = current(scenario.device).memory().in_use;
    if (losses > 0 && round == settled) {
      ::malloc_trim(0);
      held_before = held();
      bytes_before = bytes;
      resident_before = resident_bytes();
    } else if (bytes_before != 0) {
      EXPECT_EQ(bytes, bytes_before) << "bytes on the device";
      const Held now = settled_held(held_before);
      EXPECT_LE(now.descriptors, held_before.descriptors);
      // The driver starts a thread or two of its own when it wants to; what stays behind with each
      // loss is more in a long run.
      EXPECT_LE(now.threads, held_before.threads + 2);
    }
  }
  ::malloc_trim(0);
  const double grown =
      (static_cast<double>(resident_bytes()) - static_cast<double>(resident_before)) / 1e6;
  std::printf("  %s%s%s: %d losses, %+.1f MB\n", scenario.name.c_str(),
              how.other_thread ? ", from another thread" : ", in front of a call",
              how.automatic ? ", recovered automatically" : "", losses, grown);
  EXPECT_EQ(losses, wanted);
  EXPECT_LT(grown, 16) << "MB of the host";
}

std::string name_of(const testing::TestParamInfo<std::size_t>& number) {
  constexpr std::array names{"inference", "training", "compiling", "uploading",
                             "reading",   "threads",  "models"};
  const Case how = cases()[number.param];
  return std::string(names[number.param / 4]) + (how.other_thread ? "_thread" : "_call") +
         (how.automatic ? "_automatic" : "");
}

INSTANTIATE_TEST_SUITE_P(All, FaultManyLosses, testing::Range<std::size_t>(0, cases().size()),
                         name_of);

}  // namespace
}  // namespace weft::test
