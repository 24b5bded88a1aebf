#include "nn/checkpoint.hpp"

#include <cmath>
#include <cstring>
#include <span>

#include "base/format.hpp"
#include "formats/ggml_type.hpp"
#include "formats/gguf.hpp"
#include "nn/result.hpp"

namespace weft::nn {
namespace {

constexpr std::uint32_t f32_type = *gguf::id_of(DType::f32);

void put_points(gguf::Metadata& metadata, const std::string& key, std::span<const Point> points) {
  std::vector<std::uint64_t> steps;
  std::vector<float> losses;
  for (const Point& point : points) {
    steps.push_back(point.step);
    losses.push_back(point.loss);
  }
  metadata.emplace_back(key + ".steps", gguf::Array(std::move(steps)));
  metadata.emplace_back(key + ".losses", gguf::Array(std::move(losses)));
}

/// The losses of a training that has done `last` steps.
std::vector<Point> get_points(const gguf::File& file, const std::string& key, std::uint64_t last) {
  const auto steps = value_or_throw(file.get_array<std::uint64_t>(key + ".steps"));
  const auto losses = value_or_throw(file.get_array<float>(key + ".losses"));
  if (steps.size() != losses.size()) {
    throw Error(ErrorCode::io, formatted("The checkpoint has {} steps but {} losses of '{}'.",
                                         steps.size(), losses.size(), key));
  }
  std::vector<Point> points;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] > last || (i > 0 && steps[i] < steps[i - 1])) {
      throw Error(
          ErrorCode::io,
          formatted("The checkpoint was saved after step {}, but loss {} of '{}' is that of "
                    "step {}, and the one before of step {}.",
                    last, i, key, steps[i], i > 0 ? steps[i - 1] : 0));
    }
    points.push_back({steps[i], losses[i]});
  }
  return points;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Progress& progress,
                     const Tokenizer& tokenizer, const Trainer& trainer) {
  gguf::Metadata metadata{{"general.architecture", std::string("weft-checkpoint")},
                          {"weft.settings", progress.settings},
                          {"weft.step", progress.step},
                          {"weft.seconds", progress.seconds}};
  put_points(metadata, "weft.training", progress.training);
  put_points(metadata, "weft.validation", progress.validation);
  tokenizer.add_to(metadata);
  const auto state = trainer.state();
  std::vector<std::vector<float>> values;
  std::vector<gguf::TensorView> tensors;
  values.reserve(state.size());
  for (const auto& [name, tensor] : state) {
    values.push_back(tensor.to_vector());
    tensors.push_back(
        {name, {values.back().size()}, f32_type, std::as_bytes(std::span(values.back()))});
  }
  gguf::add_hashes(metadata, tensors);
  value_or_throw(gguf::write(path, metadata, tensors));
}

namespace {

/// A checkpoint that is what was saved: the training would go on with a damaged one as if nothing
/// had happened.
gguf::File open_checked(const std::filesystem::path& path) {
  gguf::File file = value_or_throw(gguf::File::open(path));
  if (const Status whole = gguf::check_hashes(file); !whole) {
    throw Error(ErrorCode::io, formatted("The checkpoint {} cannot be used. {}", path.string(),
                                         whole.error().message));
  }
  return file;
}

}  // namespace

CheckpointHead load_checkpoint_head(const std::filesystem::path& path) {
  const gguf::File file = open_checked(path);
  const auto step = value_or_throw(file.get<std::uint64_t>("weft.step"));
  Progress progress{.settings = value_or_throw(file.get<std::string>("weft.settings")),
                    .step = step,
                    .seconds = value_or_throw(file.get<double>("weft.seconds")),
                    .training = get_points(file, "weft.training", step),
                    .validation = get_points(file, "weft.validation", step)};
  if (!(progress.seconds >= 0) || !std::isfinite(progress.seconds)) {
    throw Error(ErrorCode::io,
                formatted("The checkpoint {} says that its {} steps took {} seconds.",
                          path.string(), step, progress.seconds));
  }
  return {std::move(progress), value_or_throw(Tokenizer::from_metadata(file.metadata()))};
}

void load_checkpoint(const std::filesystem::path& path, Trainer& trainer) {
  const gguf::File file = open_checked(path);
  for (const auto& [name, tensor] : trainer.state()) {
    const gguf::TensorView* saved = file.tensor(name);
    if (saved == nullptr || saved->type != f32_type) {
      throw Error(ErrorCode::io,
                  formatted("The checkpoint {} lacks '{}' in f32.", path.string(), name));
    }
    std::vector<float> values(saved->bytes.size() / sizeof(float));
    std::memcpy(values.data(), saved->bytes.data(), saved->bytes.size());
    trainer.restore(name, values);
  }
}

}  // namespace weft::nn
