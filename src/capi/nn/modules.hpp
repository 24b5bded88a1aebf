#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capi/tensors.hpp"
#include "weft/c/nn.h"
#include "weft/nn.hpp"

namespace weft::capi {

struct InitObject {
  using Handle = weft_init;
  static constexpr Kind kind = Kind::init;
  std::shared_ptr<nn::Init> init;
};

struct ModuleObject {
  using Handle = weft_module;
  static constexpr Kind kind = Kind::module;
  std::shared_ptr<nn::Layer> layer;
};

/// Gives named tensors to the caller: all of them, or none.
void give(const std::vector<nn::Named>& tensors, weft_receiver receiver, void* context);

/// Named tensors that the caller gave.
std::map<std::string, Tensor> named_tensors(const char* const* names, const weft_tensor* tensors,
                                            std::uint32_t count);

}  // namespace weft::capi
