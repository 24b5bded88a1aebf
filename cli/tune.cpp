// `weft tune` times the tiles of every family of kernels and the traits of the device, and keeps
// for all programs what is faster.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "commands.hpp"
#include "device/profile_text.hpp"
#include "device/profiles.hpp"
#include "device/traits_text.hpp"
#include "files.hpp"
#include "gpu/disk_cache.hpp"
#include "gpu/tuned.hpp"
#include "late_notice.hpp"
#include "number_range.hpp"
#include "tuner.hpp"

namespace weft::cli {
namespace {

struct Options {
  std::string adapter;
  std::string file;
  std::string json_file;
  bool show = false;
  bool check = false;
  TuneOptions tune;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// As src/device/profiles.cpp wants it. Devices of one architecture differ in size, so that the row
/// is for those of this name.
std::string row_of(const gpu::Device& device) {
  const gpu::AdapterInfo& info = device.info();
  const auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  const std::string vendor = lower(info.vendor);
  const std::string architecture = lower(info.architecture);
  const std::string name = lower(info.name);
  return row_text({.name = name,
                   .kind = info.kind,
                   .vendor = vendor,
                   .architecture = architecture,
                   .device = name,
                   .why = "measured with `weft tune`",
                   .caps = device.caps(),
                   .measured = true});
}

std::string summary_of(const Tuned& tuned, const Traits& before) {
  if (tuned.traits == before) return "nothing was faster than what is known about it";
  std::string text = text_of(tuned.traits);
  if (tuned.benchmarks > 0) {
    text += formatted(
        "\n{} benchmarks choose otherwise: {:.2f} ms instead of {:.2f} together, {:.3f} times as "
        "fast; the slowest of them {:.3f} times",
        tuned.benchmarks, tuned.after * 1e3, tuned.before * 1e3, tuned.before / tuned.after,
        tuned.slowest);
  }
  return text;
}

/// What is known about a device without an earlier tuning, so that a second one finds the same.
Traits untuned(const gpu::Device& device) {
  const gpu::AdapterInfo& info = device.info();
  if (!environment("WEFT_TUNE").empty()) return device.caps().traits;
  const auto probed = gpu::load_probed(info, gpu::cache_directory({}));
  Caps caps = device.caps();
  caps.traits =
      probed ? *probed : traits_for({info.kind, info.vendor, info.architecture, info.name}, caps);
  return value_or_exit(apply_caps_mask(caps, environment("WEFT_CAPS"))).traits;
}

/// Ends the command with the status that a shell gives a program which a signal ended.
void end_if(int signal) {
  if (signal == 0) return;
  std::fputs("weft: stopped, and nothing was kept\n", stderr);
  throw CLI::RuntimeError(128 + signal);
}

/// Times what a kept result changes, and says where it is slower.
void check(const gpu::Device& device, const std::filesystem::path& file, const Options& options) {
  const Traits known = untuned(device);
  const Traits traits = value_or_exit(gpu::read_tuned(file, known));
  const Comparison made = [&] {
    const LateNotice notice(
        formatted("timing kernels, for {:.0f} seconds at most", options.tune.seconds));
    return Tuner(device, known, options.tune).compare(traits);
  }();
  end_if(made.signal);
  Compared sum{.title = "together"};
  nlohmann::json list = nlohmann::json::array();
  const auto print = [](const Compared& row) {
    std::printf("%-52s %10.1f us %10.1f us  %6.3f times as fast\n", row.title.c_str(),
                row.before * 1e6, row.after * 1e6, row.before / row.after);
  };
  for (const Compared& row : made.rows) {
    print(row);
    sum.before += row.before;
    sum.after += row.after;
    list.push_back({{"name", row.title}, {"before", row.before}, {"after", row.after}});
  }
  if (!made.rows.empty()) print(sum);
  std::printf("%zu of %zu benchmarks choose otherwise, and %zu of these were timed\n", made.changed,
              made.benchmarks, made.rows.size());
  if (options.json_file.empty()) return;
  const nlohmann::json document{{"device", device.info().name},
                                {"benchmarks", made.benchmarks},
                                {"changed", made.changed},
                                {"traits", text_of(traits)},
                                {"results", list}};
  write_whole(options.json_file, document.dump(1) + "\n");
}

void run_tune(const Options& options) {
  gpu::Device device = value_or_exit(gpu::Device::create({.adapter = options.adapter}));
  const std::filesystem::path file = options.file.empty()
                                         ? gpu::tuned_file(device.info(), gpu::cache_directory({}))
                                         : std::filesystem::path(options.file);
  if (options.show) {
    std::fputs(row_of(device).c_str(), stdout);
    return;
  }
  if (file.empty())
    throw CommandError("There is no folder to keep the result in; --file names one.");
  if (options.check) {
    if (!std::filesystem::exists(file)) {
      throw CommandError(
          formatted("There is no {}; `weft tune` without --check writes it.", file.string()));
    }
    return check(device, file, options);
  }
  if (options.file.empty() && !environment("WEFT_CAPS").empty()) {
    throw CommandError(
        "WEFT_CAPS is set, so what is found out is not about this device as other programs see it; "
        "--file names a file to keep it in.");
  }
  value_or_exit(gpu::can_store(file));
  const Traits before = untuned(device);
  const Tuned tuned = [&] {
    const LateNotice notice(
        formatted("timing kernels, for {:.0f} seconds at most", options.tune.seconds));
    return Tuner(device, before, options.tune).run();
  }();
  end_if(tuned.signal);
  value_or_exit(gpu::store_tuned(device.info(), tuned.traits, file));
  std::fputs(formatted("{}: {}\nkept in {}\n", device.info().name, summary_of(tuned, before),
                       file.string())
                 .c_str(),
             stdout);
}

}  // namespace

void add_tune(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "tune", "Finds out by timing what this device is good at, and keeps it for all programs");
  command->add_option("--adapter", options->adapter, "The adapter, as WEFT_ADAPTER");
  command->add_option("--seconds", options->tune.seconds, "When to stop at the latest")
      ->check(number_range(1, 3600))
      ->capture_default_str();
  command->add_option("--cases", options->tune.cases, "Benchmarks for each change at most")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--processor-time", options->tune.processor_time,
                    "Count what processors do, for software adapters beside other work");
  command->add_option("--file", options->file, "Where to keep the result, for WEFT_TUNE=FILE");
  command->add_flag("--check", options->check,
                    "Time every benchmark that the kept result changes, with it and without");
  command->add_option("--json", options->json_file,
                      "Also write what --check measured to this file");
  command->add_flag("--export", options->show,
                    "Print what is known, as a row for the table of devices");
  command->callback([options] { run_tune(*options); });
}

}  // namespace weft::cli
