#include "soak.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/format.hpp"
#include "commands.hpp"
#include "graph/node.hpp"
#include "weft/weft.hpp"

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
  double seconds = 0;  ///< Per step, since the sample before.
};

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

/// Runs a step many times and prints a row; whether everything stayed flat.
bool run_phase(const std::string& name, std::uint64_t steps, const Device& device,
               const std::function<void(std::uint64_t)>& step) {
  constexpr std::uint64_t most_samples = 80;
  const std::uint64_t every = std::max<std::uint64_t>(1, steps / most_samples);
  std::vector<Sample> samples;
  Clock::time_point last = Clock::now();
  for (std::uint64_t i = 0; i < steps; ++i) {
    step(i);
    if ((i + 1) % every != 0) continue;
    device.synchronize();
    samples.push_back(look(device, static_cast<double>(i + 1)));
    samples.back().seconds =
        std::chrono::duration<double>(Clock::now() - last).count() / static_cast<double>(every);
    last = Clock::now();
  }
  const double count = static_cast<double>(steps);
  const double host = slope(samples, &Sample::host);
  const double on_device = slope(samples, &Sample::device);
  const double descriptors = slope(samples, &Sample::descriptors);
  const double threads = slope(samples, &Sample::threads);
  const double time = slope(samples, &Sample::seconds);
  // Three quarters of the run may add so much: the allocator's own scatter, or a thread that is
  // just ending.
  constexpr double most_bytes = 8e6;
  const bool flat = host * count < most_bytes && std::abs(on_device * count) < most_bytes &&
                    std::abs(descriptors * count) < 1 && std::abs(threads * count) < 1;
  std::fputs(formatted("{:<28} {:>8} {:>10.3f} {:>12.2f} {:>12.2f} {:>12.2f} {:>11.2g} {:>11.2g} "
                       "{:>12.2g}  {}\n",
                       name, steps, 1e3 * samples.back().seconds, samples.back().host / 1e6, host,
                       on_device, descriptors, threads, 1e6 * time, flat ? "flat" : "GROWS")
                 .c_str(),
             stdout);
  std::fflush(stdout);
  return flat;
}

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
                       "threads/st", "us/step^2")
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
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / formatted("weft-soak-{}.safetensors", ::getpid());
  save(file, {.tensors = {{"a", a}, {"b", b}, {"c", device.full({300'000}, 1)}}, .texts = {}});
  flat &= run_phase("loads of a file", scaled(2'000), device, [&](std::uint64_t /*i*/) {
    const NamedTensors loaded = load(device, file);
    (void)sum(loaded.tensors.at("c")).item();
  });
  std::filesystem::remove(file);
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
      ->check(CLI::Range(0.0001, 1000.0));
  command->add_option("--threads", options->threads, "Threads that work at once")
      ->check(CLI::Range(1, 256));
  command->callback([options] {
    if (!soak(*options)) throw CommandError("Something grows while it runs (see the table).");
  });
}

}  // namespace weft::cli
