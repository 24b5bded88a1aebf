#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "targets.hpp"

// fuzz_tests [--seconds N] [--seed S] [TARGET…] [--input FILE]: runs each target on inputs that are changed at random. An input is
// written to a file before it runs, so that one that ends the process is there afterwards; --input runs it again.
// The inputs that found something once lie in tests/fuzz/found and are run first.

namespace {

using weft::fuzz::Target;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

void run(const Target& target, const std::string& input) {
  target.run(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

/// Changes an input in one of the ways that files and texts go bad; `other` is a second one to take parts from.
std::string changed(std::string input, const std::string& other, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t i = 0, count = 1 + below(4); i < count; ++i) {
    const std::size_t at = below(input.size() + 1);
    switch (below(8)) {
      case 0: input.resize(at); break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1U << below(8)));
        break;
      case 2:
        if (at < input.size()) input[at] = static_cast<char>(random());
        break;
      case 3: input.insert(at, 1 + below(8), static_cast<char>(random())); break;
      case 4: input.erase(at, 1 + below(16)); break;
      case 5: {
        constexpr std::uint64_t extremes[] = {0,          1,         0x7fffffff, 0xffffffff, ~0ULL,
                                              1ULL << 63, ~0ULL / 8, 1ULL << 32, ~0ULL - 31, 0x80};
        const std::uint64_t value = extremes[below(std::size(extremes))];
        for (std::size_t k = 0; k < 8 && at + k < input.size(); ++k) {
          input[at + k] = static_cast<char>(value >> (8 * k));
        }
        break;
      }
      case 6: {
        const std::size_t from = below(input.size());
        input.insert(at, input.substr(from, below(64)));
        break;
      }
      default: {
        const std::size_t from = below(other.size());
        input.insert(at, other.substr(from, below(64)));
      }
    }
    if (input.size() > 1 << 16) input.resize(1 << 16);
  }
  return input;
}

std::uint64_t fuzz(const Target& target, double seconds, std::uint64_t seed,
                   const std::filesystem::path& last) {
  std::mt19937_64 random(seed);
  std::vector<std::string> seeds = target.seeds();
  const std::filesystem::path found = std::filesystem::path(WEFT_FOUND) / target.name;
  if (std::filesystem::exists(found)) {
    for (const auto& entry : std::filesystem::directory_iterator(found)) {
      seeds.push_back(read_file(entry.path()));
    }
  }
  for (const std::string& good : seeds) run(target, good);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::FILE* note = std::fopen(last.c_str(), "wb");
  std::uint64_t count = 0;
  std::string input = seeds.front();
  while (std::chrono::steady_clock::now() < end) {
    // Changes pile up for a while, then it starts from a good one again.
    if (count % 16 == 0) input = seeds[random() % seeds.size()];
    input = changed(std::move(input), seeds[random() % seeds.size()], random);
    if (note != nullptr) {
      std::rewind(note);
      std::fwrite(input.data(), 1, input.size(), note);
      if (std::fflush(note) == 0) std::filesystem::resize_file(last, input.size());
    }
    run(target, input);
    ++count;
  }
  if (note != nullptr) std::fclose(note);
  std::filesystem::remove(last);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 1;
  std::uint64_t seed = 1;
  std::string input;
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (word == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--input" && i + 1 < argc) {
      input = argv[++i];
    } else {
      names.push_back(word);
    }
  }
  int passed = 0;
  for (const Target& target : weft::fuzz::targets()) {
    if (!names.empty() && std::ranges::find(names, target.name) == names.end()) continue;
    if (!input.empty()) {
      run(target, read_file(input));
      continue;
    }
    const std::filesystem::path last =
        std::filesystem::temp_directory_path() / ("weft-fuzz-last-" + std::string(target.name));
    std::printf("%s: an input that ends this process is in %s\n", std::string(target.name).c_str(),
                last.c_str());
    std::fflush(stdout);
    const std::uint64_t count = fuzz(target, seconds, seed, last);
    std::printf("%s: %llu inputs\n", std::string(target.name).c_str(),
                static_cast<unsigned long long>(count));
    ++passed;
  }
  std::printf("%d passed, 0 failed\n", passed);
  return 0;
}
