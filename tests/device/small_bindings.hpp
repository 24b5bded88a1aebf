#pragma once

#include <memory>
#include <string>
#include <weft/weft.hpp>

#include "graph/node.hpp"
#include "shared.hpp"

namespace weft::test {

/// A device that binds no more than so many bytes at once, so that small tensors are split as large
/// ones are.
inline Device with_binding(const std::string& bytes) {
  gpu::DeviceOptions options;
  options.caps_mask = "binding=" + bytes;
  return Access::device(std::make_shared<DeviceData>(unwrap(gpu::Device::create(options))));
}

}  // namespace weft::test
