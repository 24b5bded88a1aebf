#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "bench_eager.hpp"
#include "bench_programs.hpp"
#include "bench_run.hpp"
#include "commands.hpp"
#include "files.hpp"
#include "gpu/gpu.hpp"
#include "late_notice.hpp"
#include "number_range.hpp"

namespace weft::cli {
namespace {

using nlohmann::json;

struct Options {
  std::vector<std::string> patterns;
  std::string json_file;
  std::string compare_file;
  std::string adapter;
  std::string trace_file;
  double seconds = 0.1;
  bool full = false;
  bool list = false;
};

bool matches(const Options& options, const std::string& title) {
  if (options.patterns.empty()) return !title.contains("sweep");
  return std::ranges::any_of(options.patterns,
                             [&](const std::string& p) { return title.contains(p); });
}

/// The earlier time of each benchmark in a file that --json wrote.
std::map<std::string, double> read_earlier(const std::string& file) {
  std::map<std::string, double> earlier;
  try {
    for (const json& row : json::parse(read_whole(file)).at("results")) {
      earlier[row.at("name").get<std::string>()] = row.at("seconds").get<double>();
    }
  } catch (const json::exception& error) {
    throw CommandError(
        formatted("{} is not a file that `weft bench --json` wrote: {}", file, error.what()));
  }
  return earlier;
}

std::string human_time(double seconds) {
  if (seconds < 1e-3) return formatted("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return formatted("{:.2f} ms", seconds * 1e3);
  return formatted("{:.2f} s", seconds);
}

std::string human_rate(double flops_per_second) {
  return flops_per_second < 1e12 ? formatted("{:.1f} GFLOP/s", flops_per_second * 1e-9)
                                 : formatted("{:.1f} TFLOP/s", flops_per_second * 1e-12);
}

/// What the rates of this device are compared with.
struct Reference {
  double copy_bytes_per_second = 0;
  double best_flops = 0;
};

struct Job {
  const ops::Op* op;
  ops::Case test;
  std::string title;
};

struct Jobs {
  std::vector<Job> chosen;
  std::vector<Job> references;  ///< A copy and products.
  std::vector<ProgramBench> programs;
  int skipped = 0;
};

/// The benchmarks whose rates are the measure of the others. A CPU is fastest in f32.
bool is_reference(std::string_view title, bool software) {
  if (title == "map/copy_16M_f32") return true;
  return software ? title == "gemm/f32_1024"
                  : title == "gemm/f16_f32_4096" || title == "gemm/f32_4096";
}

Jobs find_jobs(const Options& options, bool software) {
  Jobs jobs;
  for (const ops::Op& op : ops::all_ops()) {
    for (ops::Case& test : op.cases(1)) {
      if (!test.bench) continue;
      const std::string title = title_of(op, test);
      if (is_reference(title, software)) jobs.references.push_back({&op, test, title});
      if (!matches(options, title)) continue;
      if (software && !options.full && too_large_for_software(test)) {
        ++jobs.skipped;
      } else {
        jobs.chosen.push_back({&op, std::move(test), title});
      }
    }
  }
  for (ProgramBench& program : program_benches()) {
    if (!matches(options, program.title)) continue;
    if (software && !options.full) {
      ++jobs.skipped;
    } else {
      jobs.programs.push_back(std::move(program));
    }
  }
  return jobs;
}

/// Times the copy, and the products if there is something to compare with them.
Reference measure_reference(graph::Executor& executor, const Jobs& jobs, double seconds) {
  const bool products =
      std::ranges::any_of(jobs.chosen,
                          [](const Job& job) {
                            return Measurement{.bytes = bytes_of(job.test), .flops = job.test.flops}
                                .is_arithmetic();
                          }) ||
      !jobs.programs.empty();
  Reference reference;
  for (const Job& job : jobs.references) {
    if (job.test.flops > 0 && !products) continue;
    const Measurement m = value_or_exit(measure(executor, *job.op, job.test, seconds));
    double& best = m.flops > 0 ? reference.best_flops : reference.copy_bytes_per_second;
    best = std::max(best, (m.flops > 0 ? m.flops : m.bytes) / m.seconds);
  }
  return reference;
}

/// The share of the device's own best that a benchmark reaches.
double share_of(const Measurement& m, const Reference& reference) {
  return m.is_arithmetic() ? m.flops / m.seconds / reference.best_flops
                           : m.bytes / m.seconds / reference.copy_bytes_per_second;
}

std::string heading(bool compared) {
  return formatted("{:<52} {:>10} {:>14} {:>15} {:>6} of{}", "benchmark", "time", "bandwidth",
                   "arithmetic", "share", compared ? "            change" : "");
}

std::string row_of(const Measurement& m, const Reference& reference,
                   const std::map<std::string, double>& earlier, const std::string& title) {
  const bool arithmetic = m.is_arithmetic();
  std::string line =
      formatted("{:<52} {:>10} {:>9.1f} GB/s {:>15} {:>5.0f}% of {}", title, human_time(m.seconds),
                m.gigabytes_per_second(), m.flops > 0 ? human_rate(m.flops / m.seconds) : "",
                share_of(m, reference) * 100, arithmetic ? "best GEMM" : "copy");
  const auto before = earlier.find(title);
  if (before != earlier.end()) {
    line += formatted("  {:+.1f}%", (m.seconds / before->second - 1) * 100);
  }
  return line;
}

void trace(const gpu::Device& device, graph::Executor& executor, const std::vector<Job>& jobs,
           const std::string& file) {
  {
    const LateNotice notice(LateNotice::compiling);
    for (const Job& job : jobs) value_or_exit(run_traced(executor, job.test));
  }
  gpu::Device handle = device;
  const gpu::Profile profile = value_or_exit(handle.profile());
  std::printf("%s", gpu::profile_table(profile).c_str());
  value_or_exit(gpu::write_trace(profile, file));
}

json json_of(const std::string& title, const Measurement& m) {
  return {{"name", title},
          {"seconds", m.seconds},
          {"spread", m.spread},
          {"bytes", m.bytes},
          {"flops", m.flops}};
}

/// Measures the jobs one after another and prints a row for each to `out`.
json measure_all(gpu::Device& device, graph::Executor& executor, double seconds,
                 const std::vector<Job>& jobs, Reference& reference,
                 const std::map<std::string, double>& earlier, std::FILE* out) {
  const bool progress = ::isatty(STDERR_FILENO) != 0;
  json results = json::array();
  int above = 0;  // benchmarks that beat what they are compared with
  std::fprintf(out, "%s\n", heading(!earlier.empty()).c_str());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string& title = jobs[i].title;
    if (progress) std::fprintf(stderr, "[%zu/%zu] %s\r", i + 1, jobs.size(), title.c_str());
    std::optional<LateNotice> notice;
    if (!progress && i == 0) notice.emplace(LateNotice::compiling);  // then rows are the progress
    const auto measured = measure(executor, *jobs[i].op, jobs[i].test, seconds);
    notice.reset();
    if (progress) std::fprintf(stderr, "\033[K");
    if (!measured) {
      std::fprintf(out, "%-52s %s\n", title.c_str(), measured.error().message.c_str());
      continue;
    }
    reference.best_flops = std::max(reference.best_flops, measured->flops / measured->seconds);
    if (share_of(*measured, reference) > 1.1) ++above;
    std::fprintf(out, "%s\n", row_of(*measured, reference, earlier, title).c_str());
    std::fflush(out);
    results.push_back(json_of(title, *measured));
    device.trim();
  }
  if (above > 0) {
    std::fprintf(
        stderr,
        "%d shares are above 110%%: what they are compared with ran slower than the device "
        "can (a busy machine), or their data fits its caches.\n",
        above);
  }
  return results;
}

void write_json(const json& document, const std::string& file) {
  if (file == "-") {
    std::printf("%s\n", document.dump(1).c_str());
    return;
  }
  write_whole(file, document.dump(1) + "\n");
}

/// The benchmarks by name; with --json also what each of them moves and computes.
void list(const Jobs& jobs, const Options& options) {
  json rows = json::array();
  const auto add = [&rows](const std::string& title, double bytes, double flops) {
    rows.push_back({{"name", title}, {"bytes", bytes}, {"flops", flops}});
  };
  for (const Job& job : jobs.chosen) add(job.title, bytes_of(job.test), job.test.flops);
  for (const ProgramBench& each : jobs.programs) add(each.title, each.bytes, each.flops);
  if (options.json_file != "-") {
    for (const json& row : rows) std::printf("%s\n", row["name"].get<std::string>().c_str());
  }
  if (!options.json_file.empty()) write_json(rows, options.json_file);
}

void run_bench(const Options& options) {
  if (options.json_file != "-" && !options.json_file.empty() &&
      !options.json_file.ends_with(".json")) {
    throw CommandError(
        formatted("--json is followed by \"{}\", which does not end in .json: name "
                  "benchmarks before the options.",
                  options.json_file));
  }
  const std::map<std::string, double> earlier = options.compare_file.empty()
                                                    ? std::map<std::string, double>{}
                                                    : read_earlier(options.compare_file);
  const bool tracing = !options.trace_file.empty();
  gpu::Device device =
      value_or_exit(gpu::Device::create({.adapter = options.adapter, .profile = tracing}));
  graph::Executor executor(device);
  std::fprintf(stderr, "%s (%s)\n", device.info().name.c_str(), device.info().backend.c_str());
  const Jobs jobs = find_jobs(options, device.info().is_software());
  if (options.list) return list(jobs, options);
  if (jobs.chosen.empty() && jobs.programs.empty() && jobs.skipped == 0) {
    throw CommandError("No benchmark matches; `weft bench --list` shows them all.");
  }
  if (tracing) return trace(device, executor, jobs.chosen, options.trace_file);

  // JSON on standard output stands there alone.
  std::FILE* const out = options.json_file == "-" ? stderr : stdout;
  std::optional<LateNotice> notice("measuring what this device can do at best");
  Reference reference = measure_reference(executor, jobs, options.seconds);
  const DispatchCost cost = value_or_exit(measure_dispatch(device));
  const std::string product =
      reference.best_flops > 0 ? "best GEMM " + human_rate(reference.best_flops) + "; " : "";
  std::fprintf(out, "copy %.1f GB/s; %sa replayed launch: %.2f us GPU, %.2f us host\n",
               reference.copy_bytes_per_second * 1e-9, product.c_str(), cost.gpu * 1e6,
               cost.host * 1e6);
  const StepCost step = measure_step(options.adapter);
  std::fprintf(out,
               "a training step of a small network: %.0f us host, %zu launches; compiled %.0f us "
               "host, %zu launches\n",
               step.eager * 1e6, step.eager_launches, step.compiled * 1e6, step.compiled_launches);
  const PlanningCost planning = measure_planning(options.adapter);
  notice.reset();
  std::fprintf(out,
               "planning a training step of 12 transformer blocks: %.1f ms host, %zu launches\n",
               planning.seconds * 1e3, planning.launches);
  json results =
      measure_all(device, executor, options.seconds, jobs.chosen, reference, earlier, out);
  for (const ProgramBench& each : jobs.programs) {
    const Measurement m = measure(Device({.adapter = options.adapter}), each, options.seconds);
    std::fprintf(out, "%s\n", row_of(m, reference, earlier, each.title).c_str());
    results.push_back(json_of(each.title, m));
  }
  if (jobs.skipped > 0) {
    std::fprintf(stderr, "%d large benchmarks left out on a software adapter; --full runs them.\n",
                 jobs.skipped);
  }
  if (options.json_file.empty()) return;
  write_json({{"device", device.info().name},
              {"driver", device.info().driver},
              {"copy_bytes_per_second", reference.copy_bytes_per_second},
              {"best_flops", reference.best_flops},
              {"dispatch", {{"gpu", cost.gpu}, {"host", cost.host}}},
              {"step",
               {{"eager", step.eager},
                {"compiled", step.compiled},
                {"eager_launches", step.eager_launches},
                {"compiled_launches", step.compiled_launches}}},
              {"planning", {{"seconds", planning.seconds}, {"launches", planning.launches}}},
              {"results", results}},
             options.json_file);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "bench", "Time, bandwidth and arithmetic rate of each operation on this machine");
  command->add_option("patterns", options->patterns,
                      "Only benchmarks whose op/name contains one of these words");
  command
      ->add_option("--json", options->json_file,
                   "Also write the results to this file; without a file to standard output, and "
                   "the table to standard error")
      ->expected(0, 1)
      ->default_str("-");
  command->add_option("--compare", options->compare_file,
                      "Show the change against a file that --json wrote");
  command->add_option(
      "--trace", options->trace_file,
      "Instead of benchmarks: time every kernel, print a table and write a trace for Perfetto");
  command->add_option("--adapter", options->adapter,
                      "Adapter: index, part of its name, high-performance or low-power");
  command->add_option("--seconds", options->seconds, "Time to spend on each benchmark")
      ->check(number_range(0, 3600))
      ->capture_default_str();
  command->add_flag("--full", options->full, "Run the largest cases on software adapters too");
  command->add_flag("--list", options->list,
                    "List the benchmarks and stop; with --json, with their bytes and operations");
  command->callback([options] { run_bench(*options); });
}

}  // namespace weft::cli
