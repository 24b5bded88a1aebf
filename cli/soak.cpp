#include "soak.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/format.hpp"
#include "commands.hpp"
#include "formats/ggml_type.hpp"
#include "formats/gguf.hpp"
#include "graph/node.hpp"
#include "number_range.hpp"
#include "weft/weft.hpp"

#ifdef WEFT_WITH_LLAMA
#include "llm/llama_api.hpp"
#include "llm/session.hpp"
#endif

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// What a process holds at one moment of a run.
struct Sample {
  double at = 0;  ///< Steps done.
  double host = 0;
  double device = 0;
  double descriptors = 0;
  double threads = 0;
  double seconds = 0;    ///< Per step, since the sample before.
  double processor = 0;  ///< Seconds of a processor per step, which other work changes little.
};

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double entries_of(const char* folder) {
  double count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

Sample look(const Device& device, double at) {
  // What is in use counts, not what the allocator keeps of what a driver has freed (tens of MB for
  // each device).
  ::malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return {.at = at,
          .host = resident * static_cast<double>(::sysconf(_SC_PAGESIZE)),
          .device = static_cast<double>(Access::data(device)->device.memory().in_use),
          .descriptors = entries_of("/proc/self/fd"),
          .threads = entries_of("/proc/self/task")};
}

/// The slope of a line through the last three quarters of the samples (what comes before fills
/// caches), per step.
double slope(const std::vector<Sample>& samples, double Sample::* what) {
  const std::size_t first = samples.size() / 4;
  const double count = static_cast<double>(samples.size() - first);
  double x = 0;
  double y = 0;
  for (std::size_t i = first; i < samples.size(); ++i) {
    x += samples[i].at / count;
    y += samples[i].*what / count;
  }
  double above = 0;
  double below = 0;
  for (std::size_t i = first; i < samples.size(); ++i) {
    above += (samples[i].at - x) * (samples[i].*what - y);
    below += (samples[i].at - x) * (samples[i].at - x);
  }
  return below > 0 ? above / below : 0;
}

/// How much more processor time the cheapest step of the last quarter takes than that of the second
/// (what comes before fills caches), as a share. Other work on the machine makes single samples up
/// to twice as dear.
double growth_of_time(const std::vector<Sample>& samples) {
  const auto cheapest = [&](std::size_t quarter) {
    const std::size_t first = quarter * samples.size() / 4;
    const std::size_t end = (quarter + 1) * samples.size() / 4;
    return std::ranges::min(samples | std::views::drop(first) | std::views::take(end - first) |
                            std::views::transform(&Sample::processor));
  };
  const double before = cheapest(1);
  return before > 0 ? cheapest(3) / before - 1 : 0;
}

/// Runs a step many times and prints a row; whether everything stayed flat.
bool run_phase(const std::string& name, std::uint64_t steps, const Device& device,
               const std::function<void(std::uint64_t)>& step) {
  constexpr std::uint64_t most_samples = 80;
  const std::uint64_t every = std::max<std::uint64_t>(1, steps / most_samples);
  std::vector<Sample> samples;
  Clock::time_point last = Clock::now();
  double last_processor = processor_seconds();
  for (std::uint64_t i = 0; i < steps; ++i) {
    step(i);
    if ((i + 1) % every != 0) continue;
    device.synchronize();
    const double seconds = std::chrono::duration<double>(Clock::now() - last).count();
    const double processor = processor_seconds() - last_processor;
    samples.push_back(look(device, static_cast<double>(i + 1)));
    samples.back().seconds = seconds / static_cast<double>(every);
    samples.back().processor = processor / static_cast<double>(every);
    last = Clock::now();
    last_processor = processor_seconds();
  }
  const double count = static_cast<double>(steps);
  const double host = slope(samples, &Sample::host);
  const double on_device = slope(samples, &Sample::device);
  const double descriptors = slope(samples, &Sample::descriptors);
  const double threads = slope(samples, &Sample::threads);
  const double slower = growth_of_time(samples);
  // Three quarters of the run may add so much: the allocator's own scatter, or a thread that is
  // just ending.
  constexpr double most_bytes = 8e6;
  constexpr double most_slower = 0.5;
  constexpr std::size_t samples_for_time = 40;  // Fewer scatter too much.
  const bool flat = host * count < most_bytes && std::abs(on_device * count) < most_bytes &&
                    std::abs(descriptors * count) < 1 && std::abs(threads * count) < 1 &&
                    (slower < most_slower || samples.size() < samples_for_time);
  std::fputs(formatted("{:<28} {:>8} {:>10.3f} {:>12.2f} {:>12.2f} {:>12.2f} {:>11.2g} {:>11.2g} "
                       "{:>11.1f}%  {}\n",
                       name, steps, 1e3 * samples.back().seconds, samples.back().host / 1e6, host,
                       on_device, descriptors, threads, 100 * slower, flat ? "flat" : "GROWS")
                 .c_str(),
             stdout);
  std::fflush(stdout);
  return flat;
}

/// A file in a folder for such, removed with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view ending)
      : path(std::filesystem::temp_directory_path() /
             formatted("weft-soak-{}{}", ::getpid(), ending)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  const std::filesystem::path path;
};

/// Loads of a GGUF file whose matrices are blocks of several types, and a product with each.
bool soak_quantized(const Device& device, std::uint64_t steps) {
  constexpr std::uint64_t rows = 256;
  constexpr std::uint64_t columns = 512;
  const TemporaryFile file(".gguf");
  std::map<std::string, std::vector<std::byte>> blocks;
  std::vector<gguf::TensorView> views;
  for (const std::string name : {"q4_0", "q8_0", "q4_k", "q6_k"}) {
    const gguf::TypeInfo& type = *gguf::find_type(name);
    const std::vector<std::uint64_t> shape{rows, columns};
    // Zeroes are blocks of every type: what is computed does not matter here.
    blocks[name].resize(value_or_exit(gguf::tensor_bytes(type, shape)));
    views.push_back({name, shape, type.id, blocks[name]});
  }
  value_or_exit(gguf::write(file.path, {{"general.name", std::string("soak")}}, views));
  const Tensor x = device.full({2, columns}, 0.5);
  return run_phase("loads of quantized blocks", steps, device, [&](std::uint64_t /*i*/) {
    const NamedTensors loaded = load(device, file.path);
    Tensor all = device.full({2, rows}, 0);
    for (const auto& [name, matrix] : loaded.tensors) all = all + linear(x, matrix);
    (void)sum(all).item();
  });
}

#ifdef WEFT_WITH_LLAMA
/// Loads of the built-in model by llama.cpp through the plug-in, which writes a few tokens.
bool soak_llama(const Device& device, std::uint64_t steps) {
  const auto model = llm::find_builtin_model();
  if (!model || !llm::find_libraries()) return true;  // Programs work without llama.cpp.
  const std::atomic<bool> stop = false;
  return run_phase("loads by llama.cpp", steps, device, [&](std::uint64_t /*i*/) {
    auto session = value_or_exit(
        llm::Session::open({.model = *model, .context = 256, .progress = {}}, {.temperature = 0}));
    value_or_exit(session.generate("The captain", 2, [](std::string_view) {}, stop));
  });
}
#endif

struct SoakOptions {
  double scale = 1;
  std::uint64_t threads = 8;
};

bool soak(const SoakOptions& options) {
  const auto scaled = [&](double steps) {
    return std::max<std::uint64_t>(8, static_cast<std::uint64_t>(steps * options.scale));
  };
  const Device device;
  std::fputs(formatted("{:<28} {:>8} {:>10} {:>12} {:>12} {:>12} {:>11} {:>11} {:>12}\n", "",
                       "steps", "ms/step", "host MB", "host B/step", "device B/st", "files/step",
                       "threads/st", "time grows")
                 .c_str(),
             stdout);
  bool flat = true;
  const Compiled function = compile(
      [](const std::vector<Tensor>& in) -> Outputs { return softmax(gelu(matmul(in[0], in[1]))); });
  const Tensor a = device.full({16, 64}, 0.5);
  const Tensor b = device.full({64, 32}, 0.25);
  flat &= run_phase("replays", scaled(100'000), device,
                    [&](std::uint64_t /*i*/) { (void)function({a, b}); });
  flat &= run_phase("eager steps, new shapes", scaled(20'000), device, [&](std::uint64_t i) {
    const Tensor x = device.full({1 + i % 37, 8 + i % 5}, 0.5);
    (void)sum(exp(x) * x + 1).item();
  });
  const TemporaryFile file(".safetensors");
  save(file.path, {.tensors = {{"a", a}, {"b", b}, {"c", device.full({300'000}, 1)}}, .texts = {}});
  flat &= run_phase("loads of a file", scaled(2'000), device, [&](std::uint64_t /*i*/) {
    const NamedTensors loaded = load(device, file.path);
    (void)sum(loaded.tensors.at("c")).item();
  });
  flat &= soak_quantized(device, scaled(2'000));
#ifdef WEFT_WITH_LLAMA
  flat &= soak_llama(device, scaled(2'000));
#endif
  flat &= run_phase("devices opened and closed", scaled(100), device,
                    [&](std::uint64_t /*i*/) { (void)Device().full({4}, 1).to_vector(); });
  flat &= run_phase(formatted("{} threads at once", options.threads), scaled(500), device,
                    [&](std::uint64_t /*i*/) {
                      std::vector<std::jthread> threads;
                      for (std::uint64_t t = 0; t < options.threads; ++t) {
                        threads.emplace_back([&] { (void)sum(function.one({a, b})).item(); });
                      }
                    });
  return flat;
}

}  // namespace

void add_soak(CLI::App& app) {
  auto options = std::make_shared<SoakOptions>();
  CLI::App* command = app.add_subcommand(
      "soak", "Run for long, and tell whether memory, files, threads or time per step grow");
  command->option_defaults()->always_capture_default();
  command->add_option("--scale", options->scale, "Share of the steps (100,000 replays and so on)")
      ->check(number_range(0.0001, 1000));
  command->add_option("--threads", options->threads, "Threads that work at once")
      ->check(CLI::Range(1, 256));
  command->callback([options] {
    if (!soak(*options)) throw CommandError("Something grows while it runs (see the table).");
  });
}

}  // namespace weft::cli
