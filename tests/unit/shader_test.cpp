// Renders kernels that the cases of the ops reach on each known device and has Tint check them,
// without any device: six of every source and profile (WEFT_SEED chooses others; device tests
// compile what the software adapter runs), or all of them with `./weft test --full`.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "base/format.hpp"
#include "device/profiles.hpp"
#include "ops/case.hpp"
#include "ops/plan.hpp"

namespace weft {
namespace {

std::vector<ops::View> views_of(const ops::Case& test) {
  std::vector<ops::View> views;
  for (std::size_t i = 0; i < test.tensors.size(); ++i) {
    const ops::TensorSpec& spec = test.tensors[i];
    views.push_back(spec.same_as >= 0 ? views[static_cast<std::size_t>(spec.same_as)]
                                      : spec.view(ops::Slot(i), 256));
  }
  return views;
}

struct Shader {
  std::string label;
  std::string text;
};

/// How many kernels of one source and profile every test run takes; `./weft test --full` takes all.
constexpr std::size_t sample = 6;

/// The kernels that the cases reach on the profiles, by source, profile and a number that WEFT_SEED
/// mixes.
using Kernels = std::map<std::pair<std::string, std::string>, std::map<std::size_t, Shader>>;

std::size_t mixed(const std::string& key) {
  const char* seed = std::getenv("WEFT_SEED");
  return std::hash<std::string>{}((seed == nullptr ? "" : seed) + key);
}

/// Adds what `profile` runs and no profile before it did. Renders only what is smallest where a
/// sample is enough.
void add_kernels(const Profile& profile, bool all, std::set<std::string>& known, Kernels& kernels) {
  for (const ops::Op& op : ops::all_ops()) {
    for (const ops::Case& test : op.cases(1)) {
      const auto plan = test.plan(views_of(test), profile.caps);
      if (!plan) continue;  // support is the business of the device tests
      for (const ops::Dispatch& dispatch : plan->dispatches) {
        std::string key = dispatch.kernel.key();
        const std::size_t number = mixed(key);
        if (!known.insert(std::move(key)).second) continue;
        auto& group = kernels[{dispatch.kernel.source, std::string(profile.name)}];
        if (!all && group.size() == sample && std::prev(group.end())->first < number) continue;
        const auto expanded = ops::render(dispatch.kernel);
        ASSERT_TRUE(expanded) << op.name << " " << test.name << ": " << expanded.error().message;
        group[number] = {formatted("{} {} on {}", op.name, test.name, profile.name),
                         expanded->text};
        if (!all && group.size() > sample) group.erase(std::prev(group.end()));
      }
    }
  }
}

TEST(Shaders, KernelsOfTheCasesAreValidWgslOnEveryProfile) {
  const bool all = std::getenv("WEFT_FULL") != nullptr;
  std::set<std::string> known;
  Kernels kernels;
  for (const Profile& profile : profiles()) add_kernels(profile, all, known, kernels);
  std::vector<const Shader*> todo;
  for (const auto& [group, shaders] : kernels) {
    for (const auto& [number, shader] : shaders) todo.push_back(&shader);
  }
  ASSERT_FALSE(todo.empty());

  const auto dir =
      std::filesystem::temp_directory_path() / formatted("weft_shaders_{}", ::getpid());
  std::filesystem::create_directories(dir);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> failures;
  const auto work = [&] {
    for (std::size_t i = next++; i < todo.size(); i = next++) {
      const auto file = dir / formatted("{}.wgsl", i);
      const auto log = dir / formatted("{}.log", i);
      std::ofstream(file) << todo[i]->text;
      // Without the assertions about Tint itself, which take four fifths of its time.
      const std::string command = formatted(
          "tint --format spirv --disable-ir-validation-asserts true -o /dev/null {} > {} 2>&1",
          file.string(), log.string());
      if (std::system(command.c_str()) == 0) continue;
      std::stringstream message;
      message << std::ifstream(log).rdbuf();
      const std::lock_guard lock(mutex);
      if (failures.size() < 5)
        failures.push_back(todo[i]->label + ":\n" + message.str().substr(0, 1500));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(work);
  }
  std::printf("validated %zu of %zu kernels\n", todo.size(), known.size());
  if (failures.empty()) std::filesystem::remove_all(dir);
  for (const std::string& failure : failures)
    ADD_FAILURE() << failure << "\n(files in " << dir << ")";
}

}  // namespace
}  // namespace weft
