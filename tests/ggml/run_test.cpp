// `weft run` as a program: text, chat templates, sampling, devices, Ctrl-C, errors and memory.
#include <gtest/gtest.h>
#include <llama.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "run_fixture.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* chat_template =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\\n' }}{% endif %}";

TEST_F(GgmlRun, GeneratesTheTextOfTheCpu) {
  const std::string first = text_of("-p Hello -n 12 --temp 0");
  EXPECT_GT(first.size(), 4U);
  EXPECT_EQ(text_of("-p Hello -n 12 --temp 0"), first);
  EXPECT_EQ(text_of("-p Hello -n 12 --temp 0 --device cpu -t 1"), first);
  EXPECT_EQ(text_of("-p Hello -n 12 --temp 0 --device 0,0"), first) << "on two devices";
}

/// Processor time of all commands so far, which other programs of the machine do not change as they
/// change the clock's.
double seconds_of_commands() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// On two cores it starts in seconds and writes at least 10 tokens a second: here with the work of
/// one core.
TEST_F(GgmlRun, WritesWithTheBuiltInModel) {
  const auto seconds = [](int tokens) {
    const double before = seconds_of_commands();
    const Outcome outcome = run_command(
        formatted("WEFT_MODEL={} {} run -n {} --temp 0", WEFT_BUILTIN_MODEL, WEFT_PROGRAM, tokens));
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    EXPECT_TRUE(outcome.text.contains(formatted("generated {} tokens", tokens))) << outcome.text;
    return seconds_of_commands() - before;
  };
  (void)seconds(4);  // compiles what is not in the cache on the disk
  const double few = seconds(4);
  const double more = seconds(28);
  EXPECT_LT(few, 10);
  EXPECT_LT(more - few, 24 * 0.1);
}

/// The prompt as libllama's own function wraps it.
std::string wrapped(const std::vector<llama_chat_message>& messages) {
  std::string text(1000, '\0');
  const std::int32_t size =
      llama_chat_apply_template(chat_template, messages.data(), messages.size(), true, text.data(),
                                static_cast<std::int32_t>(text.size()));
  EXPECT_GT(size, 0);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

TEST_F(GgmlRun, UsesTheChatTemplateOfTheModel) {
  const std::string plain = on_cpu("-p Hello -n 12 --temp 0");
  ASSERT_TRUE(write_random_model(model, {.architecture = "llama", .chat_template = chat_template}));
  const std::string answer = on_cpu("-p Hello -n 12 --temp 0");
  const fs::path prompt = model.string() + ".txt";
  std::ofstream(prompt) << wrapped({{"user", "Hello"}});
  EXPECT_EQ(answer, on_cpu(formatted("--raw -f {} -n 12 --temp 0", prompt.string())));
  EXPECT_NE(answer, plain);
  EXPECT_EQ(on_cpu("--raw -p Hello -n 12 --temp 0"), plain);

  // Lines of the input are a conversation; the second answer depends on the first.
  const std::string first = answer.substr(0, answer.size() - 1);
  std::ofstream(prompt) << wrapped(
      {{"user", "Hello"}, {"assistant", first.c_str()}, {"user", "And?"}});
  const std::string second = on_cpu(formatted("--raw -f {} -n 12 --temp 0", prompt.string()));
  std::ofstream(prompt) << "Hello\nAnd?\n";
  EXPECT_EQ(on_cpu(formatted("-n 12 --temp 0 < {}", prompt.string())), answer + second);

  std::ofstream(prompt) << wrapped({{"system", "Be brief."}, {"user", "Hello"}});
  EXPECT_EQ(on_cpu("--system 'Be brief.' -p Hello -n 12 --temp 0"),
            on_cpu(formatted("--raw -f {} -n 12 --temp 0", prompt.string())));
  fs::remove(prompt);
}

TEST_F(GgmlRun, TheDeviceChooses) {
  const std::string greedy = text_of("-p Hello -n 12 --temp 0");
  const auto chosen = [this](const std::string& options) {
    return text_of("-p Hello --sample-on-device " + options);
  };
  EXPECT_EQ(chosen("-n 12 --temp 0"), greedy);
  EXPECT_EQ(chosen("-n 12 --top-k 1"), greedy);
  const std::string drawn = chosen("-n 24 --temp 2 --top-k 20 --seed 5");
  EXPECT_EQ(chosen("-n 24 --temp 2 --top-k 20 --seed 5"), drawn);
  EXPECT_NE(chosen("-n 24 --temp 2 --top-k 20 --seed 6"), drawn);
  EXPECT_EQ(on_cpu("-p Hello --sample-on-device -n 12 --temp 0"), greedy);
  EXPECT_EQ(on_cpu("-p Hello --sample-on-device -n 12 --temp 2 --min-p 1"), greedy);
  const auto seeded = [this](int top_k) {  // The model has 320 tokens.
    return on_cpu(
        formatted("-p Hello --sample-on-device -n 12 --temp 2 --seed 5 --top-k {}", top_k));
  };
  EXPECT_EQ(seeded(2147483647), seeded(0));
  EXPECT_EQ(seeded(320), seeded(0));
  expect_error(model, "--sample-on-device --repeat-penalty 1.2", "need the host");
}

TEST_F(GgmlRun, SamplesAsAskedFor) {
  const auto sampled = [this](const std::string& options) { return on_cpu("-p Hello " + options); };
  const std::string greedy = sampled("-n 12 --temp 0");
  EXPECT_EQ(sampled("-n 12 --top-k 1"), greedy);
  EXPECT_EQ(sampled("-n 12 --min-p 1 --temp 3"), greedy);
  const std::string seeded = sampled("-n 24 --temp 2 --top-k 0 --seed 5");
  EXPECT_EQ(sampled("-n 24 --temp 2 --top-k 0 --seed 5"), seeded);
  EXPECT_NE(sampled("-n 24 --temp 2 --top-k 0 --seed 6"), seeded);
  // Token 3 + b is the byte b.
  EXPECT_EQ(sampled("-n 5 --temp 0 --logit-bias 68+1000"), "AAAAA\n");
  EXPECT_EQ(sampled("-n 4 --temp 0 --logit-bias 68+1000 --logit-bias 69+999 "
                    "--presence-penalty 5 --repeat-last 1"),
            "ABAB\n");
  EXPECT_EQ(sampled("--grammar 'root ::= \"yes.\"'"), "yes.\n");
  for (const char* options :
       {"--mirostat 1", "--mirostat 2", "--typical 0.5 --top-n-sigma 2 --dynatemp-range 0.5",
        "--xtc-probability 0.5 --dry-multiplier 1 --repeat-penalty 1.2 --frequency-penalty 0.1"}) {
    EXPECT_GT(sampled(formatted("-n 12 --ignore-eos {}", options)).size(), 4U);
  }
  expect_error(model, "--logit-bias 100000+1", "no token 100000");
}

TEST_F(GgmlRun, StopsCleanlyWhenInterrupted) {
  const Outcome outcome =
      run_and_interrupt({WEFT_PROGRAM, "run", "-m", model.string(), "-p", "Hello", "-n", "100000",
                         "--ignore-eos", "--logit-bias", "68+1000"});
  EXPECT_EQ(outcome.status, 130) << outcome.text;
  EXPECT_TRUE(outcome.text.contains("tokens/s\n")) << outcome.text;
  EXPECT_LT(std::ranges::count(outcome.text, 'A'), 480) << "it went on to the end";
}

TEST_F(GgmlRun, TakesContextsOfAnySize) {
  // llama.cpp makes at least 256 tokens of it; the prompt has more than one, and the model was
  // trained for 512.
  const std::string wanted = on_cpu("-p Hello -n 12 --temp 0");
  EXPECT_EQ(on_cpu("-p Hello -n 12 --temp 0 -c 1"), wanted);
  const auto all = [this](int context) {
    return on_cpu(formatted("-p Hello -n -1 --temp 0 --logit-bias 68+1000 -c {}", context)).size();
  };
  EXPECT_LT(all(256), 256U);
  EXPECT_GT(all(0), 490U);
}

TEST_F(GgmlRun, ShowsProgressOnTerminals) {
  const Outcome outcome = run_on_terminal({WEFT_PROGRAM, "run", "-m", model.string(), "-p", "Hello",
                                           "-n", "2", "--device", "cpu", "-t", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  const auto shows = [&](std::string_view text) { return outcome.text.find(text); };
  EXPECT_LT(shows("\rloading [ "), shows("\rloading [====")) << outcome.text;
  EXPECT_LT(shows("] 100%\r\x1b[K"), shows("tokens/s")) << "it goes away: " << outcome.text;
  const Outcome piped = run_command(
      formatted("{} run -m {} -p Hello -n 2 --device cpu -t 1", WEFT_PROGRAM, model.string()));
  EXPECT_EQ(piped.status, 0);
  EXPECT_FALSE(piped.text.contains("loading")) << piped.text;
}

TEST_F(GgmlRun, ReportsWhatDoesNotWorkInOneLine) {
  const fs::path bad = model.string() + ".bad";
  expect_error(bad, "", "No such file");
  std::ofstream(bad) << "no model";
  expect_error(bad, "", "GGUF");
  const auto size = fs::file_size(model);
  for (const std::uintmax_t part : {size - 1, size / 2, std::uintmax_t{3000}}) {
    fs::copy_file(model, bad, fs::copy_options::overwrite_existing);
    fs::resize_file(bad, part);
    expect_error(bad, "", "");
  }
  ASSERT_TRUE(write_random_model(bad, {"nosuch"}));
  expect_error(bad, "", "unknown model architecture");
  fs::copy_file(model, bad, fs::copy_options::overwrite_existing);
  fs::resize_file(bad, std::uintmax_t{4} << 40);  // Takes no room: a hole.
  expect_error(bad, "", "The model has 4096.0 GiB");
  fs::remove(bad);
  expect_error(model, "--device nosuch", "nosuch");
  for (const char* type : {"nosuch", "i32", "q6_k"}) {
    expect_error(model, formatted("--cache-type {}", type), "q5_1, q5_0, q4_1, q4_0, iq4_nl");
  }
}

/// The weights lie in the file's pages and on the device, which is shared memory for the software
/// adapter; beyond that there is a staging buffer, however large the model is.
TEST_F(GgmlRun, LoadsWithoutACopyOfTheWeights) {
  const auto peak = [this] {
    return peak_private_bytes({WEFT_PROGRAM, "run", "-m", model.string(), "-p", "x", "-n", "1"});
  };
  const std::size_t small = peak();
  const auto small_file = fs::file_size(model);
  ASSERT_TRUE(write_random_model(model, {.architecture = "llama", .layers = 48}));
  const std::size_t large = peak();
  const auto more_file = fs::file_size(model) - small_file;
  ASSERT_GT(small, 0U);
  ASSERT_GT(large, 0U);
  EXPECT_LT(large, small + (more_file / 3)) << more_file << " bytes more of weights";
}

}  // namespace
}  // namespace weft::test
