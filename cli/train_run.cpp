#include "train_run.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/hash.hpp"
#include "commands.hpp"
#include "formats/file_lock.hpp"
#include "formats/file_writer.hpp"
#include "formats/mapped_file.hpp"
#include "formats/tokenizer.hpp"
#include "nn/checkpoint.hpp"
#include "processes.hpp"
#include "train_loop.hpp"

namespace weft::cli {
namespace {

/// Everything that must be the same for a training to go on, as JSON.
std::string settings_of(const TrainOptions& o, std::string_view text) {
  const std::uint64_t hash = hash_bytes(std::as_bytes(std::span(text)));
  const nn::TrainerConfig& t = o.trainer;
  nlohmann::ordered_json json{{"text", formatted("{:016x}", hash)},
                              {"vocabulary", t.model.vocabulary},
                              {"layers", t.model.layers},
                              {"dim", t.model.width},
                              {"heads", t.model.heads},
                              {"kv-heads", t.model.kv_heads},
                              {"hidden", t.model.hidden},
                              {"context", t.model.context},
                              {"tied", t.model.tied},
                              {"batch", t.batch},
                              {"accumulate", t.accumulate},
                              {"dtype", name(t.dtype)},
                              {"steps", o.steps},
                              {"lr", o.rate},
                              {"min-lr", o.floor},
                              {"warmup", o.warmup},
                              {"schedule", o.schedule},
                              {"beta2", t.optimizer.beta2},
                              {"decay", t.optimizer.weight_decay},
                              {"clip", t.clip},
                              {"validation", o.validation},
                              {"seed", t.seed}};
  if (t.dropout > 0) json["dropout"] = t.dropout;
  return json.dump();
}

/// The names of settings that two trainings do not share.
std::string differences(const std::string& a, const std::string& b) {
  const auto left = nlohmann::json::parse(a, nullptr, false);
  const auto right = nlohmann::json::parse(b, nullptr, false);
  std::string names;
  for (const auto& [key, value] : right.items()) {
    if (!left.contains(key) || left[key] != value) names += (names.empty() ? "" : ", ") + key;
  }
  return names;
}

/// Gives each process its share of every batch.
void divide(nn::TrainerConfig& config, const Processes& processes) {
  if (config.batch % processes.count() != 0) {
    throw CommandError(formatted("A batch of {} sequences cannot be divided among {} processes.",
                                 config.batch, processes.count()));
  }
  config.replicas = processes.count();
  config.rank = processes.rank();
  config.batch /= processes.count();
  config.sum_over_replicas = [&processes](std::span<float> values) { processes.sum(values); };
}

int train(TrainOptions options, const Device& device, const Processes& processes) {
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error) {
    throw CommandError(
        formatted("The folder {} cannot be made: {}.", options.output.string(), error.message()));
  }
  // The first of the processes keeps others from writing there.
  std::optional<FileLock> lock;
  if (processes.rank() == 0) {
    lock = value_or_exit(FileLock::take(options.output));
    for (const char* name : {"checkpoint.gguf", "model.gguf", "loss.svg", "loss.csv"}) {
      FileWriter::remove_leftovers(options.output / name);
    }
  }
  const MappedFile file = value_or_exit(MappedFile::open(options.text));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  const std::string settings = settings_of(options, text);
  const std::filesystem::path checkpoint = options.output / "checkpoint.gguf";
  const bool resume = !options.restart && std::filesystem::exists(checkpoint);

  const auto begin = [&]() -> nn::CheckpointHead {
    if (resume) return nn::load_checkpoint_head(checkpoint);
    const auto vocabulary = static_cast<std::uint32_t>(options.trainer.model.vocabulary);
    // In two steps: an exception in the middle of nested braces would destroy the inner ones twice
    // (GCC does not count what it has built there).
    Tokenizer tokenizer = value_or_exit(Tokenizer::train(text, vocabulary));
    return {{.settings = settings}, std::move(tokenizer)};
  };
  nn::CheckpointHead head = begin();
  if (head.progress.settings != settings) {
    throw CommandError(
        formatted("{} belongs to a training with other settings ({}); use the same ones, another "
                  "--output, or "
                  "--restart.",
                  checkpoint.string(), differences(head.progress.settings, settings)));
  }
  std::vector<std::uint32_t> tokens = head.tokenizer.encode(text, true);
  options.trainer.model.vocabulary = head.tokenizer.size();
  divide(options.trainer, processes);
  return train_loop(options, device, processes, std::move(head), std::move(tokens), resume);
}

}  // namespace

int run_training(const TrainOptions& options, const Device& device) {
  const Processes processes = Processes::join();
  try {
    const int signal = train(options, device, processes);
    return signal == 0 ? 0 : 128 + signal;
  } catch (const std::exception& error) {
    // An error of one process ends all of them, at once: main() would come too late to print it.
    if (processes.count() > 1) std::fprintf(stderr, "weft: %s\n", error.what());
    throw;
  }
}

}  // namespace weft::cli
