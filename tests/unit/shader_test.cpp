// Renders every kernel variant that the cases of the ops reach and has Tint check it, without any device.
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
                                      : spec.view(static_cast<int>(i), 256));
  }
  return views;
}

struct Shader {
  std::string label;
  std::string text;
};

TEST(Shaders, EveryVariantOfTheCasesIsValidWgsl) {
  std::map<std::string, Shader> shaders;  // by key
  for (const ops::Op& op : ops::all_ops()) {
    for (const ops::Case& test : op.cases(1)) {
      for (const Profile& profile : profiles()) {
        const auto plan = test.plan(views_of(test), profile.caps);
        if (!plan) continue;  // support is the business of the device tests
        for (const ops::Dispatch& dispatch : plan->dispatches) {
          auto [at, fresh] = shaders.try_emplace(dispatch.kernel.key());
          if (!fresh) continue;
          const auto expanded = ops::render(dispatch.kernel);
          ASSERT_TRUE(expanded) << op.name << " " << test.name << ": " << expanded.error().message;
          at->second = {formatted("{} {}", op.name, test.name), expanded->text};
        }
      }
    }
  }
  ASSERT_FALSE(shaders.empty());

  const auto dir =
      std::filesystem::temp_directory_path() / formatted("weft_shaders_{}", ::getpid());
  std::filesystem::create_directories(dir);
  std::vector<const Shader*> todo;
  for (const auto& [key, shader] : shaders) todo.push_back(&shader);
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
  std::printf("validated %zu kernel variants\n", todo.size());
  if (failures.empty()) std::filesystem::remove_all(dir);
  for (const std::string& failure : failures)
    ADD_FAILURE() << failure << "\n(files in " << dir << ")";
}

}  // namespace
}  // namespace weft
