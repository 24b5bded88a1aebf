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
#include "ops/case.hpp"
#include "ops/plan.hpp"

namespace weft {
namespace {

Caps full_caps() {
  Caps caps;
  caps.f16 = caps.subgroups = caps.subgroup_matrix = true;
  caps.subgroup_min = caps.subgroup_max = 32;
  caps.max_buffer = 1ULL << 40;
  caps.max_binding = 1ULL << 31;
  caps.max_bindings = 10;
  caps.workgroup_bytes = 48 << 10;
  caps.workgroup_invocations = 1024;
  caps.matrix_configs = {{MatrixType::f16, MatrixType::f32, 16, 16, 16},
                         {MatrixType::f16, MatrixType::f32, 16, 8, 16}};
  return caps;
}

/// A device of the WebGPU defaults with 8x8x8 matrices, and one with nothing optional.
std::vector<Caps> caps_to_check() {
  Caps small = full_caps();
  small.subgroup_min = small.subgroup_max = 8;
  small.max_binding = 128 << 20;
  small.software = true;
  small.workgroup_bytes = 32 << 10;
  small.matrix_configs = {{MatrixType::f16, MatrixType::f32, 8, 8, 8}};
  Caps bare;
  bare.max_buffer = 256 << 20;
  bare.max_binding = 128 << 20;
  return {full_caps(), small, bare};
}

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
      for (const Caps& caps : caps_to_check()) {
        const auto plan = test.plan(views_of(test), caps);
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
