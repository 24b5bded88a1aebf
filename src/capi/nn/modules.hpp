#pragma once

#include <memory>

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

}  // namespace weft::capi
