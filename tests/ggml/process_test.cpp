// Programs around the plug-in: RPC servers and llama.cpp's thread test.
#include <ggml-backend.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "backends.hpp"
#include "base/format.hpp"
#include "process.hpp"
#include "random_model.hpp"
#include "run_model.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

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
    model = fs::path(testing::TempDir()) / formatted("weft-process-{}.gguf", getpid());
    ASSERT_TRUE(write_random_model(model, {.architecture = "llama", .layers = 4}));
  }
  void TearDown() override { fs::remove(model); }

  fs::path model;
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
  const Transcript cpu = run_model(model, {}, {}, false);
  forget_log();
  const Transcript split = run_model(model, devices, cpu.tokens, false);
  ASSERT_EQ(split.logits.size(), cpu.logits.size());
  for (std::size_t i = 0; i < cpu.logits.size(); ++i) {
    ASSERT_LE(nmse(split.logits[i], cpu.logits[i]), 1e-5) << "token " << i;
  }
  for (const std::string& endpoint : endpoints) {
    EXPECT_TRUE(captured_log().contains(formatted("[{}] model buffer size", endpoint)))
        << "this server has no weights: " << captured_log();
  }
}

/// The same through `weft run`, with a device of this process beside that of a server.
TEST_F(GgmlProcess, RunsWithTheDevicesOfAServer) {
  setenv("GGML_BACKEND_PATH", WEFT_PLUGIN, 1);
  setenv("WEFT_LLAMA_LIB", WEFT_GGML_LIB, 1);
  unsetenv("WEFT_GGML_DEVICES");
  const int port = 20000 + ((getpid() + 7) % 20000);
  const Process server(
      {WEFT_RPC_SERVER, "-H", "127.0.0.1", "-p", std::to_string(port), "-d", "WEFT0"});
  ASSERT_TRUE(server.started());
  ASSERT_TRUE(listens(port)) << "the server does not listen";
  const auto run = [&](const std::string& options) {
    return run_command(
        formatted("{} run -m {} -p Hello -n 6 --temp 0 {}", WEFT_PROGRAM, model.string(), options));
  };
  const auto text = [](const Outcome& outcome) {
    return outcome.text.substr(outcome.text.find('\n') + 1,
                               outcome.text.rfind("weft: ") - outcome.text.find('\n') - 1);
  };
  const Outcome alone = run("");
  const Outcome both = run(formatted("--rpc 127.0.0.1:{} -v", port));
  const Outcome remote = run(formatted("--rpc 127.0.0.1:{} --device cpu", port));
  EXPECT_EQ(both.status, 0) << both.text;
  EXPECT_TRUE(both.text.contains(formatted("[127.0.0.1:{}] model buffer size", port))) << both.text;
  EXPECT_TRUE(both.text.contains("WEFT0 model buffer size")) << both.text;
  EXPECT_EQ(remote.status, 0) << remote.text;
  EXPECT_EQ(text(remote), text(alone)) << remote.text;

  for (const auto& [server_name, wanted] : std::vector<std::pair<std::string, std::string>>{
           {"127.0.0.1:1", "Nobody answers at"},
           {"127.0.0.1", "HOST:PORT"},
           {"127.0.0.1:x", "HOST:PORT"},
           {"127.0.0.1:99999", "HOST:PORT"},
           {"no.such.host.invalid:5", "is not known"}}) {
    const Outcome refused = run("--rpc " + server_name);
    EXPECT_EQ(refused.status, 1) << refused.text;
    EXPECT_TRUE(refused.text.contains(wanted)) << refused.text;
  }
}

TEST_F(GgmlProcess, PassesTheThreadTest) {
  setenv("GGML_BACKEND_PATH", WEFT_PLUGIN, 1);
  const Outcome outcome = run_command(
      formatted("{} -m {} -ngl 99 -p 'The meaning of life is' -n 8 -c 128 -ub 32 -np 2 -t 1",
                WEFT_THREAD_TEST, model.string()));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
}

}  // namespace
}  // namespace weft::test
