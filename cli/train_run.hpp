#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "nn/trainer.hpp"

namespace weft::cli {

/// What `weft train` was asked to do.
struct TrainOptions {
  std::filesystem::path text;
  std::filesystem::path output = "weft-model";
  /// Its vocabulary is what is asked for; the text may give fewer tokens. Its batch is that of all
  /// processes together.
  nn::TrainerConfig trainer;
  std::uint64_t steps = 300;
  double rate = 2e-3;
  double floor = 0.1;
  std::uint64_t warmup = 0;
  std::string schedule = "cosine";
  double validation = 0.02;          ///< Share of the text that is held out.
  std::uint64_t validate_every = 0;  ///< Steps; 0: ten times in all.
  std::uint64_t sample_every = 0;    ///< Steps; 0: five times in all.
  std::uint64_t sample_length = 60;
  std::string prompt;
  double checkpoint_every = 60;  ///< Seconds.
  double snapshot_every = 10;    ///< Seconds; what a training goes on from when its device is lost.
  std::string export_type = "q8_0";
  std::string name = "weft";
  bool restart = false;
};

/// The sizes of a model as options.
void add_model_options(CLI::App& command, nn::LlamaConfig& model);

/// Trains on a device, together with the other processes that mpirun started, and leaves
/// checkpoint.gguf, model.gguf, loss.svg and loss.csv in the output folder. Goes on from a
/// checkpoint that is there. Ends with 0, or after SIGINT or SIGTERM, which leave a checkpoint,
/// with 128 and the signal's number.
int run_training(const TrainOptions& options, const Device& device);

}  // namespace weft::cli
