#include "weft/profile.hpp"

#include <memory>
#include <mutex>

#include "gpu/gpu.hpp"
#include "graph/node.hpp"

namespace weft {

Device profiled_device(const DeviceChoice& choice) {
  gpu::DeviceOptions options;
  options.adapter = choice.adapter;
  options.profile = true;
  if (choice.safe) options.mode = gpu::Mode::safe;
  return Access::device(std::make_shared<DeviceData>(unwrap(gpu::Device::create(options))));
}

ProfileReport take_profile(const Device& device) {
  gpu::Device handle = [&] {
    const std::lock_guard lock(Access::data(device)->mutex);
    return Access::data(device)->device;
  }();
  unwrap(handle.synchronize());
  const gpu::Profile profile = unwrap(handle.profile());
  if (profile.host.empty() && profile.gpu.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "There is no profile: the device does not time what it does, or has done nothing. "
                "profiled_device() opens one that does.");
  }
  return {gpu::profile_table(profile), gpu::profile_trace(profile)};
}

}  // namespace weft
