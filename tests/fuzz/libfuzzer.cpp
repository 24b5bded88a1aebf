// The targets for libFuzzer: WEFT_FUZZ_TARGET names the one to run. With WEFT_FUZZ_SEEDS, as many
// of its good inputs as WEFT_FUZZ_SEED_COUNT says are written to that folder first.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "coverage.hpp"
#include "targets.hpp"

namespace {

// libFuzzer looks at this section besides its own counters, and clears it in front of every input.
constexpr std::size_t places = 1 << 16;
[[gnu::section("__libfuzzer_extra_counters"),
  gnu::used]] std::array<std::uint8_t, places> counters{};

void count(std::uint64_t place) {
  std::uint8_t& times = counters[(place * 0x9e3779b97f4a7c15ULL) >> 48U];
  if (times < 255) ++times;
}

const weft::fuzz::Target* chosen = nullptr;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void write_seeds(const std::filesystem::path& folder, std::size_t count) {
  std::vector<std::string> seeds = chosen->seeds();
  std::mt19937_64 random(std::strtoull(variable("WEFT_SEED").c_str(), nullptr, 10));
  std::ranges::shuffle(seeds, random);
  if (seeds.size() > count) seeds.resize(count);
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream(folder / ("seed" + std::to_string(i)), std::ios::binary) << seeds[i];
  }
}

}  // namespace

namespace weft::fuzz {

void note(std::uint64_t feature) { count(~feature); }

}  // namespace weft::fuzz

// What GCC's objects call at every branch; the linker leads calls of __sanitizer_cov_trace_pc here
// (--wrap), because libFuzzer has one of its own, for clang's objects alone. Of comparisons it
// takes those of integers.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void __wrap___sanitizer_cov_trace_pc();
void __wrap___sanitizer_cov_trace_pc() {
  count(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}
void __sanitizer_cov_trace_cmpf(float a, float b);
void __sanitizer_cov_trace_cmpf(float /*a*/, float /*b*/) {}
void __sanitizer_cov_trace_cmpd(double a, double b);
void __sanitizer_cov_trace_cmpd(double /*a*/, double /*b*/) {}
// NOLINTEND(bugprone-reserved-identifier)
int LLVMFuzzerInitialize(int* argc, char*** argv);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const std::string name = variable("WEFT_FUZZ_TARGET");
  std::string names;
  for (const weft::fuzz::Target& target : weft::fuzz::targets()) {
    if (target.name == name) chosen = &target;
    names += " " + std::string(target.name);
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "WEFT_FUZZ_TARGET is '%s'; it can be one of:%s\n", name.c_str(),
                 names.c_str());
    std::exit(2);
  }
  if (const std::string folder = variable("WEFT_FUZZ_SEEDS"); !folder.empty()) {
    write_seeds(folder, std::strtoull(variable("WEFT_FUZZ_SEED_COUNT").c_str(), nullptr, 10));
  }
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return chosen->run(data, size);
}
}
