// `weft run` at its limits: odd files, outputs that take nothing, options out of range, variables
// that are missing.
#include <sys/stat.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <utility>

#include "run_fixture.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

/// The file with another number of layers in its metadata.
void set_layers(const fs::path& path, std::uint32_t layers) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  constexpr std::string_view key = "llama.block_count";
  const std::size_t at = bytes.find(key) + key.size() + 4;  // The type lies in between.
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(layers >> (8 * i));
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_F(GgmlRun, RefusesNumbersOfLayersThatEndLlamaCpp) {
  for (const std::uint32_t layers : {0U, 513U, 65535U, 70000U, 0xffffffffU}) {
    set_layers(model, layers);
    expect_error(model, "", formatted("has {} layers", layers));
  }
}

/// ggml's CPU backend would call a function that is not there.
TEST_F(GgmlRun, RefusesMatricesThatNothingIsMultipliedBy) {
  std::ifstream in(model, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  constexpr std::string_view name = "blk.1.ffn_up.weight";
  // Behind the name: the number of dimensions, two of them, the type.
  char& type = bytes[bytes.find(name) + name.size() + 4 + 16];
  ASSERT_EQ(type, 0);
  type = 26;  // i32, which has as many bytes
  std::ofstream(model, std::ios::binary) << bytes;
  expect_error(model, "--device cpu", "\"blk.1.ffn_up.weight\" has elements of type i32");
}

TEST_F(GgmlRun, RefusesModelsThatDoNotGoOnWithTexts) {
  for (const auto& [architecture, why] :
       {std::pair{"t5", "reads its text with an encoder"}, {"llada", "fills a whole text in"}}) {
    ASSERT_TRUE(write_random_model(model, {.architecture = architecture}));
    const Outcome outcome =
        run_command(formatted("{} run -m {} -p x --device cpu -t 1", WEFT_PROGRAM, model.string()));
    EXPECT_EQ(outcome.status, 1) << architecture;
    EXPECT_TRUE(outcome.text.contains(why)) << outcome.text;
  }
}

TEST_F(GgmlRun, RefusesWhatIsNoRegularFile) {
  const fs::path pipe = model.string() + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_error(pipe, "", "is not a regular file");
  fs::remove(pipe);
  expect_error(testing::TempDir(), "", "is not a regular file");
}

/// Nobody may get a library loaded by putting it into the folder that the program is started from.
TEST_F(GgmlRun, LoadsNothingFromTheCurrentFolder) {
  const fs::path folder = model.string() + ".folder";
  const fs::path libraries = folder / ".cache/weft/llama-3.22.1/lib";
  fs::create_directories(libraries);
  std::ofstream(libraries / "libllama.v0.5.0.so") << "no library";
  for (const char* variables :
       {"-u HOME -u XDG_CACHE_HOME", "HOME= XDG_CACHE_HOME=", "-u HOME XDG_CACHE_HOME=.cache"}) {
    const Outcome outcome =
        run_command(formatted("cd {} && env -u WEFT_LLAMA_LIB {} {} run -m {} -p x",
                              folder.string(), variables, WEFT_PROGRAM, model.string()));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(outcome.text.contains("There is no library of llama.cpp")) << outcome.text;
    EXPECT_FALSE(outcome.text.contains(".cache")) << outcome.text;
  }
  fs::remove_all(folder);
}

/// As in a bundle, where the program that the kernel starts is the loader in a folder of its own.
TEST_F(GgmlRun, FindsItsLibrariesUnderAnotherLoader) {
  const fs::path folder = model.string() + ".bundle";
  for (const char* part : {"bin", "lib"}) fs::create_directories(folder / part);
  fs::copy_file(WEFT_PROGRAM, folder / "bin/weft");
  for (const auto& library : fs::directory_iterator(WEFT_GGML_LIB)) {
    fs::create_symlink(library.path(), folder / "lib" / library.path().filename());
  }
  fs::create_symlink(WEFT_PLUGIN, folder / "lib/libggml-weft.so");
  const Outcome outcome = run_command(formatted(
      "env -u WEFT_LLAMA_LIB -u HOME -u XDG_CACHE_HOME /lib64/ld-linux-x86-64.so.2 {} run "
      "-m {} -p Hello -n 2 --temp 0",
      (folder / "bin/weft").string(), model.string()));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  fs::remove_all(folder);
}

TEST_F(GgmlRun, SaysWhatTakesLong) {
  const Outcome outcome = run_command(formatted(
      "WEFT_NOTICE=0 {} run -m {} -p Hello -n 2 --temp 0 2>&1", WEFT_PROGRAM, model.string()));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(outcome.text.contains("weft: loading the model")) << outcome.text;
  EXPECT_TRUE(outcome.text.contains("weft: compiling kernels")) << outcome.text;
}

TEST_F(GgmlRun, FailsWhereItsOutputTakesNothing) {
  const std::string run =
      formatted("{} run -m {} -p x -n 2 --device cpu -t 1", WEFT_PROGRAM, model.string());
  const Outcome full = run_command(formatted("{{ {} > /dev/full; }}", run));
  EXPECT_EQ(full.status, 1) << full.text;
  EXPECT_TRUE(full.text.contains("The output cannot be written: No space left")) << full.text;
  const Outcome closed = run_command(formatted("{{ {} >&-; }}", run));
  EXPECT_EQ(closed.status, 1) << closed.text;
  EXPECT_TRUE(closed.text.contains("The output cannot be written: Bad file")) << closed.text;
  const Outcome info = run_command(formatted("{{ {} info > /dev/full; }}", WEFT_PROGRAM));
  EXPECT_EQ(info.status, 1) << info.text;
}

TEST_F(GgmlRun, RefusesOptionsOutOfRange) {
  for (const std::string option : {"--top-p 1.5",       "--top-p -0.1",
                                   "--min-p 2",         "--top-k -1",
                                   "--temp -1",         "--temp nan",
                                   "--temp inf",        "--typical nan",
                                   "--repeat-last -2",  "--repeat-penalty 0",
                                   "--xtc-threshold 7", "--dry-base 0.5",
                                   "--dynatemp-exp -1", "--frequency-penalty nan",
                                   "--threads -3",      "--threads 100000",
                                   "--context -1",      "--context 99999999999",
                                   "--gpu-layers -7",   "--tokens -2",
                                   "--seed -1",         "--seed 4294967296",
                                   "--mirostat 3",      "--mirostat-lr nan"}) {
    const Outcome outcome = run_command(formatted(
        "timeout 60 {} run -m {} -p x -n 1 --device cpu {}", WEFT_PROGRAM, model.string(), option));
    EXPECT_NE(outcome.status, 0) << option;
    EXPECT_TRUE(outcome.text.contains(option.substr(0, option.find(' ')))) << outcome.text;
  }
}

/// No further back than the context goes, for which there is memory.
TEST_F(GgmlRun, LooksBackAsFarAsThereAreTokens) {
  const auto text = [this](const std::string& last) {
    const Outcome outcome = run_command(
        formatted("{{ ulimit -v 6000000; timeout 60 {0} run -m {1} -p Hello -n 8 --temp 0 -t 1 "
                  "--device cpu --repeat-penalty 1.5 --repeat-last {2} --dry-multiplier 1 "
                  "--dry-last {2} 2>/dev/null; }}",
                  WEFT_PROGRAM, model.string(), last));
    EXPECT_EQ(outcome.status, 0) << last;
    return outcome.text;
  };
  EXPECT_EQ(text("2147483647"), text("-1"));
}

/// Views of one tensor that lie in one another are read while a result goes elsewhere into the same
/// buffer.
TEST_F(GgmlRun, GeneratesTheSameInSafeMode) {
  for (const char* architecture : {"qwen3moe", "mamba", "lfm2"}) {
    ASSERT_TRUE(write_random_model(model, {.architecture = architecture, .layers = 3}));
    const std::string options = "-p Hello -n 6 --temp 0";
    EXPECT_EQ(text_of(options, "WEFT_MODE=safe"), on_cpu(options)) << architecture;
  }
}

TEST_F(GgmlRun, ExplainsWhatItRuns) {
  const std::string options = "-p Hello -n 6 --temp 0";
  const std::string wanted = text_of(options);
  EXPECT_EQ(text_of(options, "WEFT_EXPLAIN=1"), wanted);
  const Outcome told = run_command(
      formatted("WEFT_EXPLAIN=1 {} run -m {} {}", WEFT_PROGRAM, model.string(), options));
  EXPECT_TRUE(told.text.contains("weft: WEFT0 takes MUL_MAT: ")) << told.text;
}

TEST_F(GgmlRun, JoinsNothingWhereThatIsSwitchedOff) {
  const std::string options = "-p Hello -n 6 --temp 0";
  EXPECT_EQ(text_of(options, "WEFT_FUSE=off"), text_of(options));
  const auto profile = [&](const char* fuse) {
    return run_command(formatted("WEFT_FUSE={} WEFT_PROFILE=graphs {} run -m {} {}", fuse,
                                 WEFT_PROGRAM, model.string(), options))
        .text;
  };
  EXPECT_TRUE(profile("off").contains("with 0 nodes fused")) << profile("off");
  EXPECT_FALSE(profile("on").contains("with 0 nodes fused")) << profile("on");
}

}  // namespace
}  // namespace weft::test
