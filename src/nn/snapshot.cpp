#include "nn/snapshot.hpp"

namespace weft::nn {

Snapshot take_snapshot(const Trainer& trainer) {
  Snapshot snapshot;
  for (const auto& [name, tensor] : trainer.state()) {
    snapshot.emplace_back(name, tensor.to_vector());
  }
  return snapshot;
}

Trainer trainer_from(const Snapshot& snapshot, const Device& device, const TrainerConfig& config) {
  Trainer trainer(device, config);
  for (const auto& [name, values] : snapshot) trainer.restore(name, values);
  return trainer;
}

}  // namespace weft::nn
