#pragma once

#include <span>
#include <utility>
#include <vector>

#include "weft/nn/module.hpp"

namespace weft::nn {

/// Lets other tensors stand for the parameters of a module, in the order of parameters(), as long
/// as it lives: working copies of 16 bits, or the inputs of a part that is computed again for
/// gradients.
class Substitution {
 public:
  Substitution(Module& model, std::span<const Tensor> values);
  ~Substitution();
  Substitution(const Substitution&) = delete;
  Substitution& operator=(const Substitution&) = delete;

  /// What the parameters of a module are computed with now, in the order of parameters().
  static std::vector<Tensor> current(const Module& model);

 private:
  void take(Module& model, std::span<const Tensor>& values);
  std::vector<std::pair<Tensor*, Tensor>> before_;
};

}  // namespace weft::nn
