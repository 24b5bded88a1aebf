#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <weft/weft.hpp>

#include "scenarios.hpp"

// A device in a fork of the process that opened it.

namespace weft::test {
namespace {

/// Runs something in a child and gives its exit status; -1 if it did not end within `seconds`.
template <class Work>
int in_child(const Work& work, int seconds = 60) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(static_cast<unsigned>(seconds));
    int status = 99;
    try {
      status = work();
    } catch (...) {
      status = 98;
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(FaultFork, AnOperationInTheChildIsAnErrorAndTheParentGoesOn) {
  const Device device;
  const Tensor x = device.full({4}, 2);
  EXPECT_EQ(x.to_vector(), std::vector<float>(4, 2));
  const auto work = [&] {
    try {
      (void)(x + 1).to_vector();
      return 1;
    } catch (const Error& error) {
      if (std::string_view(error.what()).find("fork") == std::string_view::npos) return 2;
    }
    try {
      (void)x.to_vector();
      return 3;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): that it comes is the point
    }
    try {
      device.synchronize();
      return 4;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    }
    return 0;
  };
  EXPECT_EQ(in_child(work), 0);
  EXPECT_EQ((x + 1).to_vector(), std::vector<float>(4, 3));
}

TEST(FaultFork, EveryKindOfCallInTheChildIsAnError) {
  const Device device;
  const Tensor x = device.tensor({4}, {1.0F, 2.0F, 3.0F, 4.0F});
  const Tensor w = variable(x);
  const Compiled twice =
      compile([](const std::vector<Tensor>& in) -> Outputs { return in[0] * 2; });
  EXPECT_EQ(twice.one({x}).to_vector(), (std::vector<float>{2, 4, 6, 8}));
  const Kernel kernel = device.kernel(
      {.wgsl = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
               "@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { "
               "x[i] = x[i] * 3.0; }",
       .label = "threefold",
       .writes = {true}});
  const auto folder = std::filesystem::temp_directory_path();
  const auto path = folder / ("weft-fork-" + std::to_string(::getpid()) + ".gguf");
  save(path, {.tensors = {{"x", x}}, .texts = {}});
  const std::function<void()> calls[] = {
      [&] { (void)twice.one({x}); },
      [&] { (void)device.tensor({1}, {1.0F}); },
      [&] { kernel.run({x}, {1, 1, 1}); },
      [&] { apply({{w, w + 1}}); },
      [&] { (void)variable(x + 1); },
      [&] { keep(w); },
      [&] { (void)load(device, path); },
      [&] { save(path.string() + ".2.gguf", {.tensors = {{"x", x}}, .texts = {}}); },
      [&] { (void)defragment(device); },
      [&] { (void)upload(device, DType::f32, {1}, std::as_bytes(std::span("abc"))).get(); },
      [&] { (void)device.kernel({.wgsl = "@compute @workgroup_size(1) fn main() {}"}); },
      [&] { (void)sum(x).item(); },
      [&] { (void)random::Generator(device, 7).normal({50}).to_vector(); },
  };
  for (std::size_t i = 0; i < std::size(calls); ++i) {
    EXPECT_EQ(in_child(
                  [&] {
                    recover(device);  // it is not lost
                    (void)memory_report(device);
                    try {
                      calls[i]();
                      return 1;
                    } catch (const Error& error) {
                      return std::string_view(error.what()).contains("fork") ? 0 : 2;
                    }
                  },
                  20),
              0)
        << i;
  }
  std::filesystem::remove(path);
  EXPECT_EQ((w + 1).to_vector(), (std::vector<float>{2, 3, 4, 5}));
}

TEST(FaultFork, ADeviceOfItsOwnWorksInTheChild) {
  const Device device;
  const Tensor x = device.full({4}, 2);
  EXPECT_EQ(x.to_vector(), std::vector<float>(4, 2));
  const auto work = [] {
    const Device own;
    return (own.full({4}, 2) + 1).to_vector() == std::vector<float>(4, 3) ? 0 : 1;
  };
  EXPECT_EQ(in_child(work), 0);
  EXPECT_EQ((x + 1).to_vector(), std::vector<float>(4, 3));
}

TEST(FaultFork, HandlesGoInTheChildWithoutWaiting) {
  auto device = std::make_unique<Device>();
  auto x = std::make_unique<Tensor>(device->full({4}, 2));
  EXPECT_EQ(x->to_vector(), std::vector<float>(4, 2));
  const auto work = [&] {
    x.reset();
    device.reset();
    return 0;
  };
  EXPECT_EQ(in_child(work), 0);
}

}  // namespace
}  // namespace weft::test
