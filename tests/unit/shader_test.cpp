// Renders kernels that the cases of the ops reach on each known device and has Tint check them,
// without any device: six of every source, set of features and profile (WEFT_SEED chooses others;
// device tests compile what the software adapter runs), or all of them with `./weft test --full`.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
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
#include "case_views.hpp"
#include "device/profiles.hpp"
#include "ops/case.hpp"
#include "ops/plan.hpp"
#include "ops/tile_families.hpp"

namespace weft {
namespace {

struct Shader {
  std::string label;
  std::string text;
};

/// How many kernels of one source, set of features and profile every test run takes; `./weft test
/// --full` takes all.
constexpr std::size_t sample = 6;

/// The kernels that the cases reach on the profiles, by source with features, profile and a number
/// that WEFT_SEED mixes.
using Kernels = std::map<std::pair<std::string, std::string>, std::map<std::size_t, Shader>>;

/// Its source, and the features that it enables.
std::string kind_of(const ops::KernelSpec& kernel) {
  const ops::Features& features = kernel.features;
  return formatted("{} {}{}{}{}", kernel.source, features.f16 ? "h" : "",
                   features.subgroups ? "s" : "", features.subgroup_matrix ? "m" : "",
                   features.subgroup_size);
}

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
        auto& group = kernels[{kind_of(dispatch.kernel), std::string(profile.name)}];
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

/// Adds kernels of a case with a tile that `tuned` names, if that changes them; whether it did.
bool add_tile(const Profile& profile, const Caps& tuned, const ops::Op& op, const ops::Case& test,
              std::set<std::string>& known, Kernels& kernels) {
  const auto views = views_of(test);
  const auto plain = test.plan(views, profile.caps);
  const auto plan = test.plan(views, tuned);
  if (!plain) return false;
  EXPECT_TRUE(plan) << op.name << " " << test.name << " on " << profile.name << ": "
                    << plan.error().message;
  if (!plan) return false;
  bool changed = plan->scratch != plain->scratch ||
                 !std::ranges::equal(plan->dispatches, plain->dispatches, {}, &ops::Dispatch::grid,
                                     &ops::Dispatch::grid);
  for (std::size_t i = 0; i < plan->dispatches.size(); ++i) {
    const ops::KernelSpec& kernel = plan->dispatches[i].kernel;
    std::string key = kernel.key();
    const bool same = std::ranges::any_of(
        plain->dispatches, [&](const ops::Dispatch& other) { return other.kernel.key() == key; });
    if (same) continue;
    changed = true;
    const std::size_t number = mixed(key);
    if (!known.insert(std::move(key)).second) continue;
    const auto expanded = ops::render(kernel);
    EXPECT_TRUE(expanded) << op.name << " " << test.name << ": " << expanded.error().message;
    if (!expanded) continue;
    kernels[{kind_of(kernel) + " tiles", std::string(profile.name)}][number] = {
        formatted("{} {} on {} with a tile", op.name, test.name, profile.name), expanded->text};
  }
  return changed;
}

/// Adds kernels with the tiles that devices may be tuned to: of each tile one case on one profile
/// where it makes a difference, or all cases on all profiles.
void add_tiles(bool all, std::set<std::string>& known, Kernels& kernels) {
  const auto rows = profiles();
  for (const ops::TileFamily& family : ops::tile_families()) {
    const auto op = std::ranges::find(ops::all_ops(), family.op, &ops::Op::name);
    const std::vector<ops::Case> cases = op->cases(1);
    for (std::uint32_t number = 1; number <= family.count; ++number) {
      const std::size_t start = mixed(formatted("{} {}", family.name, number));
      bool found = false;
      for (std::size_t i = 0; i < rows.size() && (all || !found); ++i) {
        const Profile& profile = rows[(start + i) % rows.size()];
        Caps tuned = profile.caps;
        tuned.traits.*family.trait = number;
        for (std::size_t k = 0; k < cases.size() && (all || !found); ++k) {
          const ops::Case& test = cases[(start + k) % cases.size()];
          found = add_tile(profile, tuned, *op, test, known, kernels) || found;
        }
      }
      EXPECT_TRUE(found) << family.name << ", tile " << number << " (" << family.tiles[number - 1]
                         << ") changes nothing for any case on any known device";
    }
  }
}

TEST(Shaders, KernelsOfTheCasesAreValidWgslOnEveryProfile) {
  const bool all = std::getenv("WEFT_FULL") != nullptr;
  std::set<std::string> known;
  Kernels kernels;
  for (const Profile& profile : profiles()) add_kernels(profile, all, known, kernels);
  add_tiles(all, known, kernels);
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
