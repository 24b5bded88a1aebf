#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "commands.hpp"
#include "files.hpp"
#include "gpu/gpu.hpp"
#include "graph/node.hpp"
#include "nn/random.hpp"
#include "nn/trainer.hpp"
#include "train_run.hpp"

// `weft train-bench`: what a step of training costs, without a text. tools/train_report.py puts
// PyTorch beside it.

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  nn::TrainerConfig trainer;
  std::string dtype = "f16";
  std::uint64_t warmup = 3;
  std::uint64_t steps = 20;
  std::string json_file;
  std::string trace_file;
  std::string graph_file;
};

/// Tokens drawn at random: what they are makes no difference to the time.
nn::Batch random_batch(const nn::TrainerConfig& config, std::uint64_t number) {
  nn::Random random(config.seed, "bench", number);
  nn::Batch batch;
  for (std::uint64_t i = 0; i < config.batch * config.model.context; ++i) {
    for (auto* list : {&batch.tokens, &batch.labels}) {
      list->push_back(static_cast<std::int32_t>(random.below(config.model.vocabulary)));
    }
  }
  return batch;
}

/// Seconds of `count` steps, and the loss of the last.
struct Timed {
  double seconds = 0;
  float loss = 0;
};

Timed run_steps(nn::Trainer& trainer, const std::vector<std::vector<nn::Batch>>& batches,
                std::uint64_t count) {
  Timed timed;
  Tensor loss;
  const Clock::time_point start = Clock::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    loss = trainer.step(batches[i % batches.size()], 1e-4, i);
  }
  timed.loss = loss.item();  // waits for all of them
  timed.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return timed;
}

void write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  write_whole(path, text + "\n");
}

void run_train_bench(BenchOptions options) {
  nn::TrainerConfig& config = options.trainer;
  config.dtype = dtype_from_name(options.dtype).value_or(DType::f32);  // One of the names.
  if (config.model.kv_heads == 0) config.model.kv_heads = config.model.heads;
  if (config.model.hidden == 0) config.model.hidden = (config.model.width * 8 / 3 + 31) / 32 * 32;
  const bool tracing = !options.trace_file.empty();
  const gpu::Device gpu_device = value_or_exit(gpu::Device::create({.profile = tracing}));
  const Device device = weft::Access::device(std::make_shared<DeviceData>(gpu_device));

  const Clock::time_point start = Clock::now();
  nn::Trainer trainer(device, config);
  std::vector<std::vector<nn::Batch>> batches(4);
  for (std::uint64_t i = 0; i < batches.size() * config.accumulate; ++i) {
    batches[i / config.accumulate].push_back(random_batch(config, i));
  }
  const Timed warm = run_steps(trainer, batches, std::max<std::uint64_t>(options.warmup, 1));
  const double start_up = std::chrono::duration<double>(Clock::now() - start).count();
  write_file(options.graph_file, trainer.step_text());
  if (tracing) {
    gpu::Device handle = gpu_device;
    (void)value_or_exit(handle.profile());  // the steps so far compiled
    (void)run_steps(trainer, batches, options.steps);
    const gpu::Profile profile = value_or_exit(handle.profile());
    std::printf("%s", gpu::profile_table(profile).c_str());
    return value_or_exit(gpu::write_trace(profile, options.trace_file));
  }
  const Timed timed = run_steps(trainer, batches, options.steps);
  const double seconds = timed.seconds / static_cast<double>(options.steps);
  const double tokens = static_cast<double>(config.batch * config.accumulate) *
                        static_cast<double>(config.model.context);
  const gpu::MemoryStats memory = gpu_device.memory();
  const CompileReport report = trainer.report();
  const double mega = 1e6;
  std::printf(
      "%s parameters, %.0f tokens per step, %s: %.2f ms/step, %.0f tokens/s, peak %.0f MB (arena "
      "%.0f MB, at least %.0f), %zu launches, ready after %.1f s; loss %.4f, then %.4f\n",
      formatted("{}", trainer.model().parameter_count()).c_str(), tokens, options.dtype.c_str(),
      seconds * 1e3, tokens / seconds, static_cast<double>(memory.peak) / mega,
      static_cast<double>(report.arena_bytes) / mega,
      static_cast<double>(report.bound_bytes) / mega, report.dispatches, start_up, warm.loss,
      timed.loss);
  const nlohmann::ordered_json json{{"device", gpu_device.info().name},
                                    {"driver", gpu_device.info().driver},
                                    {"dtype", options.dtype},
                                    {"parameters", trainer.model().parameter_count()},
                                    {"vocabulary", config.model.vocabulary},
                                    {"layers", config.model.layers},
                                    {"dim", config.model.width},
                                    {"heads", config.model.heads},
                                    {"hidden", config.model.hidden},
                                    {"context", config.model.context},
                                    {"batch", config.batch},
                                    {"steps", options.steps},
                                    {"seconds", seconds},
                                    {"tokens_per_second", tokens / seconds},
                                    {"peak_bytes", memory.peak},
                                    {"arena_bytes", report.arena_bytes},
                                    {"arena_bound_bytes", report.bound_bytes},
                                    {"launches", report.dispatches},
                                    {"start_up_seconds", start_up},
                                    {"loss", timed.loss}};
  write_file(options.json_file, json.dump(1));
}

}  // namespace

void add_train_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  nn::TrainerConfig& trainer = options->trainer;
  // A model of the size of GPT-2 small.
  trainer.model = {.vocabulary = 50304,
                   .layers = 12,
                   .width = 768,
                   .heads = 12,
                   .kv_heads = 0,
                   .hidden = 0,
                   .context = 1024};
  trainer.batch = 8;
  CLI::App* command = app.add_subcommand(
      "train-bench", "Time and memory of a step of training, on random tokens (no text needed)");
  command->option_defaults()->always_capture_default();
  add_model_options(*command, trainer.model);
  command->add_option("--batch", trainer.batch, "Sequences that are computed at once")
      ->check(CLI::PositiveNumber);
  command->add_option("--accumulate", trainer.accumulate, "Batches per step")
      ->check(CLI::PositiveNumber);
  command->add_option("--dtype", options->dtype, "Type that products are computed in")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  command->add_flag("--recompute", trainer.recompute,
                    "Keep less memory: compute layers again for gradients");
  command->add_option("--warmup", options->warmup, "Steps before the clock starts");
  command->add_option("--steps", options->steps, "Steps that are timed")
      ->check(CLI::PositiveNumber);
  command->add_option("--json", options->json_file, "Also write the figures to this file");
  command->add_option("--trace", options->trace_file,
                      "Instead: time every kernel, print a table and write a trace for Perfetto");
  command->add_option("--graph", options->graph_file, "Write the graph of the step to this file");
  command->callback([options] { run_train_bench(*options); });
}

}  // namespace weft::cli
