#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "gpu/fault.hpp"
#include "graph/node.hpp"
#include "scenarios.hpp"

// "The Nth call fails", for every N: an error with a sentence, nothing leaked, and the next attempt
// right.

namespace weft::test {
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("weft-fault-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What became of a sweep.
struct Counts {
  std::uint64_t calls = 0;     ///< Of one undisturbed run.
  std::uint64_t tried = 0;     ///< Runs with a failing call.
  std::uint64_t errors = 0;    ///< Runs that ended with an error.
  std::uint64_t absorbed = 0;  ///< Runs that were right all the same.
};

std::uint64_t bytes_in_use(const Device& device) {
  return Access::data(device)->device.memory().in_use;
}

/// A new scenario for every failing call where `fresh`, else one that has to stand them all.
Counts sweep(const std::function<Scenario()>& make, std::string_view kind, bool fresh,
             std::uint64_t most) {
  Counts counts;
  std::optional<Scenario> scenario = make();
  gpu::set_faults({.kind = kind});
  const std::vector<float> expected = scenario->run();
  const std::uint64_t first_calls = gpu::counted_calls();
  gpu::set_faults({.kind = kind});
  EXPECT_EQ(scenario->run(), expected);
  counts.calls = fresh ? first_calls : gpu::counted_calls();
  const std::uint64_t step = full() ? 1 : std::max<std::uint64_t>(1, counts.calls / most);
  std::uint64_t before = 0;
  for (std::uint64_t n = 1; n <= counts.calls; n += step) {
    SCOPED_TRACE(testing::Message()
                 << scenario->name << ", " << kind << " number " << n << " of " << counts.calls);
    if (fresh) scenario = make();
    gpu::set_faults({.kind = kind, .number = n});
    ++counts.tried;
    try {
      EXPECT_EQ(scenario->run(), expected) << "a run that hides a failure must be right";
      ++counts.absorbed;
    } catch (const Error& error) {
      EXPECT_GT(std::string_view(error.what()).size(), 20U) << "a sentence";
      ++counts.errors;
    }
    gpu::set_faults({});
    for (int again = 0; again < 2; ++again) {
      try {
        EXPECT_EQ(scenario->run(), expected);
      } catch (const Error& error) {
        ADD_FAILURE() << "the next attempt failed: " << error.what();
        return counts;
      }
    }
    const std::uint64_t now = bytes_in_use(scenario->device);
    if (before != 0 && !fresh) {
      EXPECT_EQ(now, before) << "bytes on the device";
    }
    // After the first failure memory between operations is in buffers of its own, so the second is
    // what to compare with.
    before = now;
  }
  return counts;
}

/// Prints the counts; where there is no call of the kind, there was nothing to test.
void report(const std::vector<std::pair<std::string, Counts>>& all) {
  std::uint64_t tried = 0;
  for (const auto& [what, counts] : all) {
    tried += counts.tried;
    std::printf("  %s: %llu calls, %llu runs with a failing one: %llu errors, %llu absorbed\n",
                what.c_str(), static_cast<unsigned long long>(counts.calls),
                static_cast<unsigned long long>(counts.tried),
                static_cast<unsigned long long>(counts.errors),
                static_cast<unsigned long long>(counts.absorbed));
  }
  if (tried == 0) GTEST_SKIP() << "it makes no such call";
}

constexpr const char* kinds[] = {"buffer", "pipeline", "map", "submit", "scope", "work"};

class FaultCalls : public testing::TestWithParam<const char*> {
 protected:
  void TearDown() override { gpu::set_faults({}); }
};

TEST_P(FaultCalls, InferenceStandsEach) {
  report({{"inference", sweep(inference, GetParam(), false, 6)},
          {"first inference", sweep(inference, GetParam(), true, 6)}});
}

TEST_P(FaultCalls, TrainingStandsEach) {
  report({{"training", sweep(training, GetParam(), false, 6)},
          {"first training", sweep(training, GetParam(), true, 4)}});
}

TEST_P(FaultCalls, ModelsStandEach) { report({{"models", sweep(models, GetParam(), false, 6)}}); }

TEST_P(FaultCalls, LoadingStandsEach) {
  const TemporaryFolder folder;
  const auto make = [&] { return loading(folder.path()); };
  report({{"loading", sweep(make, GetParam(), false, 6)},
          {"first loading", sweep(make, GetParam(), true, 4)}});
}

INSTANTIATE_TEST_SUITE_P(All, FaultCalls, testing::ValuesIn(kinds),
                         [](const auto& kind) { return std::string(kind.param); });

TEST(FaultDevice, ADeviceThatIsNotGivenIsAnError) {
  gpu::set_faults({.kind = "device", .number = 1});
  EXPECT_THROW(Device{}, Error);
  gpu::set_faults({});
  EXPECT_EQ(Device().full({2}, 3).to_vector(), (std::vector<float>{3, 3}));
}

TEST(FaultDevice, OneStagingBufferThatFailsPoisonsNothing) {
  for (const bool safe : {false, true}) {
    const Device device({.safe = safe});
    const Tensor x = device.full({5000}, 2);
    device.synchronize();
    gpu::set_faults({.kind = "map", .number = 1});
    EXPECT_THROW((void)x.to_vector(), Error);
    gpu::set_faults({});
    for (int i = 0; i < 4; ++i) EXPECT_EQ(x.to_vector(), std::vector<float>(5000, 2));
  }
}

TEST(FaultDevice, CallsThatFailAtRandom) {
  const TemporaryFolder folder;
  for (const Scenario& scenario : {inference(), training(), models(), loading(folder.path())}) {
    const std::vector<float> expected = scenario.run();
    std::uint64_t bytes = 0;
    int errors = 0;
    for (int round = 0; round < (full() ? 100 : 12); ++round) {
      SCOPED_TRACE(testing::Message() << scenario.name << ", round " << round);
      gpu::set_faults({.one_of = 4});
      try {
        EXPECT_EQ(scenario.run(), expected) << "a run that hides failures must be right";
      } catch (const Error& error) {
        EXPECT_GT(std::string_view(error.what()).size(), 20U) << "a sentence";
        ++errors;
      }
      gpu::set_faults({});
      ASSERT_EQ(scenario.run(), expected);
      const std::uint64_t now = bytes_in_use(scenario.device);
      if (errors > 1) {
        EXPECT_EQ(now, bytes) << "bytes on the device";
      }
      bytes = now;
    }
    EXPECT_GT(errors, 0) << scenario.name;
  }
}

TEST(FaultDevice, NothingIsLeftAfterMany) {
  const Scenario scenario = inference();
  const std::vector<float> expected = scenario.run();
  const auto round = [&] {
    for (std::uint64_t n = 1; n <= 12; ++n) {
      gpu::set_faults({.number = n});
      try {
        (void)scenario.run();
      } catch (const Error&) {  // NOLINT(bugprone-empty-catch): only what it leaves counts
      }
    }
    gpu::set_faults({});
    EXPECT_EQ(scenario.run(), expected);
  };
  for (int i = 0; i < 3; ++i) round();
  const Held before = held();
  const std::uint64_t bytes = bytes_in_use(scenario.device);
  const std::uint64_t resident = resident_bytes();
  for (int i = 0; i < (full() ? 200 : 10); ++i) round();
  EXPECT_EQ(held().descriptors, before.descriptors);
  EXPECT_EQ(held().threads, before.threads);
  EXPECT_EQ(bytes_in_use(scenario.device), bytes);
  EXPECT_LT(resident_bytes(), resident + (std::uint64_t{16} << 20));
}

}  // namespace
}  // namespace weft::test
