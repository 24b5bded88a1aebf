#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/tokenizer.hpp"
#include "nn/curve.hpp"
#include "nn/trainer.hpp"

namespace weft::nn {

/// Where a training stands, beside the state of its Trainer.
struct Progress {
  std::string
      settings;  ///< What the training was started with, as text; it goes on only with the same.
  std::uint64_t step = 0;  ///< Steps done.
  double seconds = 0;      ///< Time spent on them.
  std::vector<Point> training;
  std::vector<Point> validation;
};

/// Writes a checkpoint atomically: a GGUF file with the progress, the tokenizer, all state of the
/// trainer, and hashes of all that. Loading one whose hashes differ is an error.
void save_checkpoint(const std::filesystem::path& path, const Progress& progress,
                     const Tokenizer& tokenizer, const Trainer& trainer);

/// What can be read from a checkpoint before there is a trainer.
struct CheckpointHead {
  Progress progress;
  Tokenizer tokenizer;
};
CheckpointHead load_checkpoint_head(const std::filesystem::path& path);

/// Gives a trainer of the same sizes the state that was saved.
void load_checkpoint(const std::filesystem::path& path, Trainer& trainer);

}  // namespace weft::nn
