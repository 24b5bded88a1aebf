// llama.cpp over a plug-in whose calls of WebGPU fail by order: a decode, the first one of all, and
// loading a model, each with the first, second, … call failing, and devices that are lost in the
// middle of a text. In a process of its own, which loads that plug-in.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "base/format.hpp"
#include "fault_fixture.hpp"
#include "process.hpp"
#include "run_fixture.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kinds[] = {"buffer", "pipeline", "map", "submit", "scope", "device", "work"};

void lose(ggml_backend_dev_t device) {
  using Lose = bool (*)(ggml_backend_dev_t);
  const auto function = reinterpret_cast<Lose>(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "weft_lose_device"));
  ASSERT_TRUE(function != nullptr && function(device));
}

TEST_F(GgmlFault, DISABLED_DecodingStandsEveryCall) {
  Decoder decoder(model);
  ASSERT_TRUE(decoder.ready() && decoder.write().good()) << captured_log();
  std::map<std::string, std::uint64_t> calls;
  for (const char* kind : kinds) {
    calls[kind] = sweep("decode", {kind}, decoder, 2, [&] { return decoder.write(); });
  }
  // A decode that was recorded makes no others.
  for (const auto& [kind, count] : calls) {
    EXPECT_EQ(count > 0, kind == "map" || kind == "submit") << kind << ": " << count;
  }
}

TEST_F(GgmlFault, DISABLED_DecodingStandsLosses) {
  Decoder decoder(model);
  ASSERT_TRUE(decoder.ready() && decoder.write().good()) << captured_log();
  for (const char* kind : {"submit", "any"}) {
    EXPECT_GT(sweep("decode", {kind, true}, decoder, 2, [&] { return decoder.write(); }), 0U);
  }
}

/// The plug-in gets no memory from the host, once: no exception reaches ggml, which is C.
TEST_F(GgmlFault, DISABLED_DecodingStandsEveryAllocation) {
  Decoder decoder(model);
  ASSERT_TRUE(decoder.ready() && decoder.write().good()) << captured_log();
  EXPECT_GT(sweep("decode", {"allocation"}, decoder, 8, [&] { return decoder.write(); }), 0U);
}

/// The same while a model is loaded, and its graphs are planned and recorded.
TEST_F(GgmlFault, DISABLED_LoadingStandsEveryAllocation) {
  Decoder decoder(model);
  ASSERT_TRUE(decoder.ready() && decoder.write().good()) << captured_log();
  EXPECT_GT(sweep("load", {"allocation"}, decoder, 10, [&] { return load_and_write(); }), 0U);
}

TEST_F(GgmlFault, DISABLED_LoadingStandsEveryCall) {
  Decoder decoder(model);
  ASSERT_TRUE(decoder.ready() && decoder.write().good()) << captured_log();
  for (const char* kind : {"buffer", "map", "submit", "scope"}) {
    EXPECT_GT(sweep("load", {kind}, decoder, 2, [&] { return load_and_write(); }), 0U) << kind;
  }
  for (const char* kind : {"buffer", "submit", "any"}) {
    EXPECT_GT(sweep("load", {kind, true}, decoder, 2, [&] { return load_and_write(); }), 0U);
  }
}

/// On a device that has only just been opened, because the one before was lost: it is asked for,
/// and every kernel is compiled.
TEST_F(GgmlFault, DISABLED_AFirstDecodeStandsEveryCall) {
  Decoder decoder(model);
  ASSERT_TRUE(decoder.ready() && decoder.write().good()) << captured_log();
  const auto attempt = [&] { return load_and_write(); };
  const auto prepare = [] { lose(weft_device(0)); };
  for (const char* kind : kinds) {
    const std::uint64_t calls = sweep("first decode", {kind}, decoder, 2, attempt, prepare);
    EXPECT_EQ(calls > 0, std::string_view(kind) != "work") << kind << ": " << calls;
  }
  for (const char* kind : {"pipeline", "any"}) {
    (void)sweep("first decode", {kind, true}, decoder, 2, attempt, prepare);
  }
}

TEST_F(GgmlFault, DISABLED_AFirstDecodeStandsEveryAllocation) {
  Decoder decoder(model);
  ASSERT_TRUE(decoder.ready() && decoder.write().good()) << captured_log();
  EXPECT_GT(sweep(
                "first decode", {"allocation"}, decoder, 6, [&] { return load_and_write(); },
                [] { lose(weft_device(0)); }, 1500),
            0U);
}

/// A device that was not given once may be given when it is asked for again.
TEST_F(GgmlFault, DISABLED_ADeviceThatDidNotOpenIsTriedAgain) {
  faults.set("device", 1, false);
  EXPECT_EQ(ggml_backend_dev_init(weft_device(1), nullptr), nullptr);
  EXPECT_TRUE(captured_log().contains("does not open")) << captured_log();
  faults.set("any", 0, false);
  Decoder expected(model, 0);
  Decoder decoder(model, 1);
  ASSERT_TRUE(expected.ready() && decoder.ready()) << captured_log();
  EXPECT_EQ(decoder.write().tokens, expected.write().tokens);
  EXPECT_GT(device_stats(weft_device(1), GGML_OP_MUL_MAT).nodes, 0U);
}

/// The tests above, with the plug-in that has faults.
TEST(GgmlFaultProcess, LlamaCppStandsCallsThatFailAndLostDevices) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const Outcome outcome =
      run_command(formatted("WEFT_TEST_PLUGIN={} {} --gtest_also_run_disabled_tests "
                            "--gtest_filter=GgmlFault.DISABLED_*",
                            WEFT_FAULT_PLUGIN, self));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  for (std::size_t at = 0; (at = outcome.text.find("\n  ", at)) != std::string::npos; ++at) {
    std::printf("%s\n",
                outcome.text.substr(at + 1, outcome.text.find('\n', at + 1) - at - 1).c_str());
  }
}

using GgmlRunLost = GgmlRun;

TEST_F(GgmlRunLost, TheTextGoesOnAfterALoss) {
  const std::string options = "-p Hello -n 24 --temp 0";
  const std::string expected = text_of(options);
  int seen = 0;
  for (const char* fault : {"lose:submit:8", "lose:submit:30", "lose:map:9", "lose:buffer:12"}) {
    const Outcome outcome =
        run_command(formatted("WEFT_GGML_PLUGIN={} WEFT_FAULT={} {} run -m {} {}",
                              WEFT_FAULT_PLUGIN, fault, WEFT_PROGRAM, model.string(), options));
    EXPECT_EQ(outcome.status, 0) << fault << ": " << outcome.text;
    EXPECT_TRUE(outcome.text.contains(expected.substr(0, expected.size() - 1)))
        << fault << ": " << outcome.text << "\ninstead of\n"
        << expected;
    if (outcome.text.contains("the device was lost")) ++seen;
  }
  EXPECT_GE(seen, 2) << "losses in the middle of the text";
}

}  // namespace
}  // namespace weft::test
