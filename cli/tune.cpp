#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "bench_run.hpp"
#include "choices.hpp"
#include "commands.hpp"
#include "device/traits_text.hpp"
#include "gpu/disk_cache.hpp"
#include "gpu/tuned.hpp"
#include "progress_line.hpp"

// `weft tune` changes one trait of the device after the other and times the benchmarks whose plans that changes. A change is kept if
// they are faster together and none of them is slower; what is kept is used by every program on this machine from then on.

namespace weft::cli {
namespace {

/// A benchmark may lose so much, which is less than timings differ by themselves.
constexpr double least_share = 0.97;
/// What a change must gain to be kept.
constexpr double least_gain = 1.01;
constexpr double seconds_each = 0.01;

struct Options {
  std::string adapter;
  std::string file;
  double seconds = 150;
  std::size_t cases = 16;
  bool show = false;
};

struct Bench {
  const ops::Op* op = nullptr;
  ops::Case test;
};

/// A change of one trait that may suit the device better.
struct Change {
  std::string name;
  std::function<void(Traits&)> make;
};

std::vector<Change> changes() {
  std::vector<Change> out;
  for (const auto& [name, factor] : std::vector<std::pair<std::string, double>>{
           {"half", 0.5}, {"twice", 2}, {"a quarter of", 0.25}, {"four times", 4}}) {
    out.push_back({name + " the processors", [factor](Traits& t) {
                     t.processors = std::max(1U, static_cast<std::uint32_t>(t.processors * factor));
                   }});
    out.push_back({name + " the bytes of a launch", [factor](Traits& t) {
                     t.launch_bytes =
                         static_cast<std::uint64_t>(static_cast<double>(t.launch_bytes) * factor);
                   }});
  }
  const std::vector<std::pair<std::string, bool Traits::*>> facts{
      {"other barriers", &Traits::slow_barriers},
      {"other compiling", &Traits::slow_compile},
      {"other stores", &Traits::slow_scatter},
      {"other workgroup memory", &Traits::near_memory},
      {"other matrix units", &Traits::matrix_units},
      {"other overlapping", &Traits::overlaps}};
  for (const auto& [name, member] : facts) {
    out.push_back({name, [member](Traits& t) { t.*member = !(t.*member); }});
  }
  out.push_back({"other items", [](Traits& t) { t.items = t.items > 1 ? 1 : 4; }});
  return out;
}

class Tuner {
 public:
  Tuner(gpu::Device device, const Options& options)
      : executor_(std::move(device)), options_(options), caps_(executor_.device().caps()) {
    for (const ops::Op& op : ops::all_ops()) {
      for (ops::Case& test : op.cases(1)) {
        const bool fits = !executor_.device().info().is_software() || !too_large_for_software(test);
        if (test.bench && fits && !test.name.contains("sweep"))
          benches_.push_back({&op, std::move(test)});
      }
    }
  }

  /// Tries all changes; the traits that are left are the best that were found.
  Traits run() {
    const std::vector<Change> all = changes();
    for (std::size_t i = 0; i < all.size() && !late(); ++i) {
      Traits traits = caps_.traits;
      all[i].make(traits);
      if (traits == caps_.traits) continue;
      const double gain =
          gain_of(traits, all[i].name, static_cast<double>(i) / static_cast<double>(all.size()));
      if (gain < least_gain) continue;
      line_.print(formatted("{}: {:.1f}% faster, kept\n", all[i].name, (gain - 1) * 100));
      caps_.traits = traits;
    }
    line_.show(1, formatted("{} timings", times_.size()), true);
    return caps_.traits;
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  [[nodiscard]] bool late() const { return elapsed() > options_.seconds; }

  /// The benchmarks that choose otherwise with these traits, at most as many as were asked for, from all over the list.
  std::vector<const Bench*> affected(const Caps& other) const {
    std::vector<const Bench*> found;
    for (const Bench& bench : benches_) {
      const auto views = views_of(bench.test);
      const auto before = bench.test.plan(views, caps_);
      const auto after = bench.test.plan(views, other);
      if (before && after && choice_of(*before) != choice_of(*after)) found.push_back(&bench);
    }
    std::vector<const Bench*> sample;
    const std::size_t wanted = std::min(found.size(), options_.cases);
    for (std::size_t i = 0; i < wanted; ++i) sample.push_back(found[i * found.size() / wanted]);
    return sample;
  }

  /// How long a benchmark takes with these traits; the same choices are timed once. Nothing where it cannot run.
  std::optional<double> time_of(const Bench& bench, const Caps& caps) {
    const auto plan = bench.test.plan(views_of(bench.test), caps);
    if (!plan) return std::nullopt;
    const std::string key =
        formatted("{} {} {}", bench.op->name, bench.test.name, choice_of(*plan));
    const auto known = times_.find(key);
    if (known != times_.end()) return known->second;
    const auto measured = measure(executor_, *bench.op, bench.test, seconds_each, caps);
    const auto seconds = measured ? std::optional(measured->seconds) : std::nullopt;
    times_.emplace(key, seconds);
    return seconds;
  }

  /// How many times as fast a change makes what it touches; 0 where something gets slower.
  double gain_of(const Traits& traits, const std::string& name, double share) {
    Caps other = caps_;
    other.traits = traits;
    const std::vector<const Bench*> touched = affected(other);
    double sum = 0;
    std::size_t count = 0;
    for (const Bench* bench : touched) {
      line_.show(share, formatted("{}: {} {} ({} of {})", name, bench->op->name, bench->test.name,
                                  count + 1, touched.size()));
      if (late()) return 0;
      const auto before = time_of(*bench, caps_);
      const auto after = time_of(*bench, other);
      if (!before || !after) continue;
      if (*before / *after < least_share) return 0;
      sum += std::log(*before / *after);
      ++count;
    }
    return count == 0 ? 0 : std::exp(sum / static_cast<double>(count));
  }

  graph::Executor executor_;
  Options options_;
  Caps caps_;
  std::vector<Bench> benches_;
  std::map<std::string, std::optional<double>> times_;
  ProgressLine line_;
  Clock::time_point start_ = Clock::now();
};

void run_tune(const Options& options) {
  gpu::Device device = value_or_exit(gpu::Device::create({.adapter = options.adapter}));
  const std::filesystem::path file = options.file.empty()
                                         ? gpu::tuned_file(device.info(), gpu::cache_directory({}))
                                         : std::filesystem::path(options.file);
  if (options.show) {  // as a row of src/device/profiles.cpp needs it
    const gpu::AdapterInfo& info = device.info();
    std::fputs(
        formatted("kind \"{}\", vendor \"{}\", architecture \"{}\", device \"{}\"\n{}\n", info.kind,
                  info.vendor, info.architecture, info.name, text_of(device.caps().traits))
            .c_str(),
        stdout);
    return;
  }
  if (file.empty())
    throw CommandError("There is no folder to keep the result in; --file names one.");
  const Traits before = device.caps().traits;
  const Traits after = Tuner(device, options).run();
  value_or_exit(gpu::store_tuned(device.info(), after, file));
  std::fputs(
      formatted("{}: {}\n{} {}\n", device.info().name,
                after == before ? "nothing was faster than what is known about it" : text_of(after),
                "kept in", file.string())
          .c_str(),
      stdout);
}

}  // namespace

void add_tune(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "tune", "Finds out by timing what this device is good at, and keeps it for all programs");
  command->add_option("--adapter", options->adapter, "The adapter, as WEFT_ADAPTER");
  command->add_option("--seconds", options->seconds, "When to stop at the latest")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  command->add_option("--cases", options->cases, "Benchmarks for each change at most")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--file", options->file, "Where to keep the result, for WEFT_TUNE=FILE");
  command->add_flag("--export", options->show,
                    "Print what is known, as a row for the table of devices");
  command->callback([options] { run_tune(*options); });
}

}  // namespace weft::cli
