#include <cmath>
#include <memory>
#include <string>

#include "commands.hpp"
#include "graph/node.hpp"
#include "nn/export.hpp"
#include "number_range.hpp"
#include "train_run.hpp"

// `weft train`: options only; train_run.cpp does the work.

namespace weft::cli {
namespace {

/// What is left at 0 on the command line follows from the rest.
void fill_in(TrainOptions& options, const std::string& dtype, const Device& device) {
  nn::LlamaConfig& model = options.trainer.model;
  // A software adapter shall show within a minute that the model learns.
  if (model.context == 0) model.context = device.is_software() ? 64 : 256;
  if (options.trainer.batch == 0) options.trainer.batch = device.is_software() ? 4 : 32;
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.hidden == 0) {
    // As many parameters as an MLP of four times the width, in three matrices instead of two; whole
    // blocks of 32.
    model.hidden = (model.width * 8 / 3 + 31) / 32 * 32;
  }
  if (options.warmup == 0) options.warmup = std::min<std::uint64_t>(options.steps / 20, 500);
  // Matrix units multiply f16 alone: WebGPU offers them no bf16, and f32 goes without them.
  const bool units = weft::Access::data(device)->device.caps().subgroup_matrix;
  options.trainer.dtype = dtype_from_name(dtype).value_or(units ? DType::f16 : DType::f32);
}

}  // namespace

void add_model_options(CLI::App& command, nn::LlamaConfig& model) {
  command.add_option("--vocab", model.vocabulary, "Tokens, learnt from the text")
      ->check(CLI::Range(257, 1 << 20));
  command.add_option("--layers", model.layers, "Layers")->check(CLI::Range(1, 1024));
  command.add_option("--dim", model.width, "Width of the model")->check(CLI::Range(1, 1 << 16));
  command.add_option("--heads", model.heads, "Heads of attention")->check(CLI::Range(1, 1024));
  command.add_option("--kv-heads", model.kv_heads, "Heads of keys and values; 0: as many as heads")
      ->check(CLI::Range(0, 1024));
  command.add_option("--hidden", model.hidden, "Width inside the MLPs; 0: 8/3 of the width")
      ->check(CLI::Range(0, 1 << 18));
  command.add_option("--context", model.context, "Tokens per sequence; 0: 256, or 64 in software")
      ->check(CLI::Range(0, 1 << 20));
  command.add_flag("!--untied", model.tied, "An output matrix of its own, beside the embedding");
}

namespace {

void add_training_options(CLI::App& command, TrainOptions& options) {
  nn::TrainerConfig& trainer = options.trainer;
  command
      .add_option("--batch", trainer.batch,
                  "Sequences that are computed at once (by all processes of mpirun\n"
                  "together); 0: 32, or 4 in software")
      ->check(CLI::Range(0, 1 << 16));
  command.add_option("--accumulate", trainer.accumulate, "Batches per step")
      ->check(CLI::Range(1, 1 << 16));
  command.add_option("--steps", options.steps, "Steps")->check(CLI::PositiveNumber);
  command.add_option("--lr", options.rate, "Largest learning rate")->check(number_range(0, 1000));
  command.add_option("--min-lr", options.floor, "Its last value, as a share of the largest")
      ->check(number_range(0, 1));
  command.add_option("--warmup", options.warmup, "Steps until it is reached; 0: a twentieth");
  command.add_option("--schedule", options.schedule, "How it falls after that")
      ->check(CLI::IsMember({"cosine", "linear", "constant"}));
  command.add_option("--beta2", trainer.optimizer.beta2, "AdamW: memory of squared gradients")
      ->check(number_range(0, 1, true));
  command.add_option("--decay", trainer.optimizer.weight_decay, "AdamW: weight decay of matrices")
      ->check(number_range(0, 1000));
  command.add_option("--clip", trainer.clip, "Largest norm of the gradients")
      ->check(number_range(0, 1e30, true));
  command.add_option("--dropout", trainer.dropout, "Share of what layers add that is left out")
      ->check(number_range(0, 0.9));
  command.add_flag("--recompute", trainer.recompute,
                   "Keep less memory: compute layers again for gradients");
  command.add_option("--seed", trainer.seed, "Of parameters, order of the data and samples");
}

void add_output_options(CLI::App& command, TrainOptions& options) {
  command.add_option("-o,--output", options.output, "Folder for checkpoint, model and loss curve");
  command.add_option("--validation", options.validation, "Share of the text (its end) to hold out")
      ->check(number_range(0, 0.9));
  command.add_option("--validate-every", options.validate_every, "Steps; 0: ten times in all");
  command.add_option("--sample-every", options.sample_every, "Steps; 0: five times in all");
  command.add_option("--sample-length", options.sample_length, "Tokens of a sample");
  command.add_option("--prompt", options.prompt, "What samples start with");
  command.add_option("--checkpoint", options.checkpoint_every, "Seconds between checkpoints")
      ->check(number_range(0, 1e9));
  command
      .add_option("--snapshot", options.snapshot_every,
                  "Seconds between copies of the state in memory, from which\n"
                  "the training goes on when the device is lost")
      ->check(number_range(0, 1e9));
  command.add_option("--export", options.export_type, "Type of the matrices of model.gguf")
      ->check(CLI::IsMember({"f32", "f16", "q8_0"}));
  command.add_option("--name", options.name, "Name of the model");
  command.add_flag("--restart", options.restart, "Start anew even where there is a checkpoint");
}

}  // namespace

void add_train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  auto dtype = std::make_shared<std::string>("auto");
  options->trainer.model.vocabulary = 1024;
  options->trainer.model.kv_heads = 0;
  options->trainer.model.hidden = 0;
  options->trainer.model.context = 0;
  options->trainer.batch = 0;
  CLI::App* command = app.add_subcommand(
      "train", "Train a language model (Llama architecture) on a text, and write it as GGUF");
  command->option_defaults()->always_capture_default();
  command->add_option("text", options->text, "Text file; <|endoftext|> separates documents")
      ->required()
      ->check(CLI::ExistingFile);
  add_model_options(*command, options->trainer.model);
  add_training_options(*command, *options);
  command
      ->add_option("--dtype", *dtype,
                   "Type that products are computed in; parameters stay f32.\n"
                   "auto: f16 where there are matrix units, else f32. bf16 is\n"
                   "several times slower: matrix units multiply f16 alone")
      ->check(CLI::IsMember({"auto", "f32", "f16", "bf16"}));
  add_output_options(*command, *options);
  command->callback([options, dtype] {
    const Device device;
    fill_in(*options, *dtype, device);
    if (const int status = run_training(*options, device); status != 0) {
      throw CLI::RuntimeError(status);
    }
  });
}

}  // namespace weft::cli
