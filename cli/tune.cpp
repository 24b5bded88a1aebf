// `weft tune` times the tiles of every family of kernels and the traits of the device, and keeps
// for all programs what is faster.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>

#include "base/format.hpp"
#include "commands.hpp"
#include "device/profile_text.hpp"
#include "device/traits_text.hpp"
#include "gpu/disk_cache.hpp"
#include "gpu/tuned.hpp"
#include "late_notice.hpp"
#include "tuner.hpp"

namespace weft::cli {
namespace {

struct Options {
  std::string adapter;
  std::string file;
  bool show = false;
  TuneOptions tune;
};

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
  const Traits before = device.caps().traits;
  const Tuned tuned = [&] {
    const LateNotice notice(
        formatted("timing kernels, for {:.0f} seconds at most", options.tune.seconds));
    return Tuner(device, options.tune).run();
  }();
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
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  command->add_option("--cases", options->tune.cases, "Benchmarks for each change at most")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--processor-time", options->tune.processor_time,
                    "Count what processors do, for software adapters beside other work");
  command->add_option("--file", options->file, "Where to keep the result, for WEFT_TUNE=FILE");
  command->add_flag("--export", options->show,
                    "Print what is known, as a row for the table of devices");
  command->callback([options] { run_tune(*options); });
}

}  // namespace weft::cli
