// Programs around the plug-in: RPC servers, llama.cpp's thread test, and `weft run`.
#include <ggml-backend.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backends.hpp"
#include "base/format.hpp"
#include "random_model.hpp"
#include "run_model.hpp"

extern char** environ;

namespace weft::test {
namespace {

namespace fs = std::filesystem;

/// A process that ends with the object.
class Process {
 public:
  explicit Process(std::vector<std::string> command) {
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    if (posix_spawn(&id_, words[0], nullptr, nullptr, words.data(), environ) != 0) id_ = -1;
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (id_ <= 0) return;
    kill(id_, SIGTERM);
    waitpid(id_, nullptr, 0);
  }
  [[nodiscard]] bool started() const { return id_ > 0; }

 private:
  pid_t id_ = -1;
};

/// The exit status of a shell command and what it wrote.
struct Outcome {
  int status = -1;
  std::string text;
};

Outcome run_command(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    outcome.text += static_cast<char>(c);
  }
  outcome.status = WEXITSTATUS(pclose(pipe));
  return outcome;
}

/// Waits until something listens at a port of this machine; false after a minute.
bool listens(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 300; ++i) {
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    const bool connected =
        connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(connection);
    if (connected) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return false;
}

class GgmlProcess : public testing::Test {
 protected:
  void SetUp() override {
    load_backends();
    model_ = fs::path(testing::TempDir()) / formatted("weft-process-{}.gguf", getpid());
    ASSERT_TRUE(write_random_model(model_, {.architecture = "llama", .layers = 4}));
  }
  void TearDown() override { fs::remove(model_); }

  fs::path model_;
};

TEST_F(GgmlProcess, SplitsAModelOverTwoServers) {
  setenv("GGML_BACKEND_PATH", WEFT_PLUGIN, 1);
  const int port = 20000 + (getpid() % 20000);
  const std::vector<std::string> endpoints{formatted("127.0.0.1:{}", port),
                                           formatted("127.0.0.1:{}", port + 1)};
  const auto server = [](int at) {
    return std::vector<std::string>{WEFT_RPC_SERVER,    "-H", "127.0.0.1", "-p",
                                    std::to_string(at), "-d", "WEFT0"};
  };
  const Process first(server(port));
  const Process second(server(port + 1));
  ASSERT_TRUE(first.started() && second.started());

  ggml_backend_reg_t rpc = ggml_backend_load(WEFT_RPC);
  ASSERT_NE(rpc, nullptr) << captured_log();
  using AddServer = ggml_backend_reg_t (*)(const char*);
  const auto add_server = reinterpret_cast<AddServer>(
      ggml_backend_reg_get_proc_address(rpc, "ggml_backend_rpc_add_server"));
  ASSERT_NE(add_server, nullptr);
  std::vector<ggml_backend_dev_t> devices;
  for (int i = 0; i < 2; ++i) {
    // ggml aborts where nobody listens, so that is found out first.
    ASSERT_TRUE(listens(port + i)) << "the server does not listen";
    const std::string& endpoint = endpoints[static_cast<std::size_t>(i)];
    ggml_backend_reg_t registry = add_server(endpoint.c_str());
    ASSERT_NE(registry, nullptr) << endpoint << ": " << captured_log();
    ASSERT_EQ(ggml_backend_reg_dev_count(registry), 1U);
    devices.push_back(ggml_backend_reg_dev_get(registry, 0));
  }
  const Transcript cpu = run_model(model_, {}, {}, false);
  const Transcript split = run_model(model_, devices, cpu.tokens, false);
  ASSERT_EQ(split.logits.size(), cpu.logits.size());
  for (std::size_t i = 0; i < cpu.logits.size(); ++i) {
    ASSERT_LE(nmse(split.logits[i], cpu.logits[i]), 1e-5) << "token " << i;
  }
}

TEST_F(GgmlProcess, PassesTheThreadTest) {
  setenv("GGML_BACKEND_PATH", WEFT_PLUGIN, 1);
  const Outcome outcome = run_command(
      formatted("{} -m {} -ngl 99 -p 'The meaning of life is' -n 8 -c 128 -ub 32 -np 2 -t 1",
                WEFT_THREAD_TEST, model_.string()));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
}

TEST_F(GgmlProcess, GeneratesText) {
  const std::string run = formatted("WEFT_LLAMA_LIB={} {} run", WEFT_GGML_LIB, WEFT_PROGRAM);
  const std::string same =
      formatted("{} -m {} -p Hello -n 12 --temp 0 2>/dev/null; true", run, model_.string());
  const Outcome first = run_command(same);
  EXPECT_GT(first.text.size(), 4U);
  EXPECT_EQ(run_command(same).text, first.text);
  const Outcome cpu = run_command(formatted(
      "{} -m {} -p Hello -n 12 --temp 0 --device cpu 2>/dev/null; true", run, model_.string()));
  EXPECT_EQ(cpu.text, first.text);
}

TEST_F(GgmlProcess, WritesWithTheBuiltInModel) {
  const std::string run = formatted("WEFT_LLAMA_LIB={} WEFT_MODEL={} {} run -n 24 --temp 0",
                                    WEFT_GGML_LIB, WEFT_BUILTIN_MODEL, WEFT_PROGRAM);
  const Outcome outcome = run_command(run);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(outcome.text.contains("generated 24 tokens")) << outcome.text;
}

TEST_F(GgmlProcess, ReportsBadModelsInOneLine) {
  const std::string run = formatted("WEFT_LLAMA_LIB={} {} run", WEFT_GGML_LIB, WEFT_PROGRAM);
  const fs::path bad = model_.string() + ".bad";
  const auto expect_line = [&](std::string_view wanted) {
    const Outcome outcome = run_command(formatted("{} -m {} -p x", run, bad.string()));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(std::ranges::count(outcome.text, '\n'), 1) << outcome.text;
    EXPECT_TRUE(outcome.text.contains(wanted)) << outcome.text;
  };
  expect_line("No such file");
  std::ofstream(bad) << "no model";
  expect_line("GGUF");
  fs::copy_file(model_, bad, fs::copy_options::overwrite_existing);
  fs::resize_file(bad, fs::file_size(model_) / 2);
  expect_line("");
  ASSERT_TRUE(write_random_model(bad, {"nosuch"}));
  expect_line("unknown model architecture");
  fs::remove(bad);
}

}  // namespace
}  // namespace weft::test
