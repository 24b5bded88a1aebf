#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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
