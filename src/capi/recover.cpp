#include "weft/c/recover.h"

#include "capi/tensors.hpp"
#include "weft/recover.hpp"

using namespace weft;
using namespace weft::capi;

weft_status weft_device_is_lost(weft_device device, bool* lost) {
  return call(__func__, [&] {
    const auto object = get<DeviceObject>(device, "device");
    *required(lost, "lost") = is_lost(object->device);
  });
}

weft_status weft_device_recover(weft_device device) {
  return call(__func__, [&] { recover(get<DeviceObject>(device, "device")->device); });
}

weft_status weft_device_recover_automatically(weft_device device) {
  return call(__func__,
              [&] { recover_automatically(get<DeviceObject>(device, "device")->device); });
}

weft_status weft_device_set_watchdog(weft_device device, double seconds) {
  return call(__func__,
              [&] { set_watchdog(get<DeviceObject>(device, "device")->device, seconds); });
}

weft_status weft_tensor_keep(weft_tensor tensor, weft_elements_source source, void* context) {
  return call(__func__, [&] {
    const Tensor kept = get<TensorObject>(tensor, "tensor")->tensor;
    if (source == nullptr) {
      keep(kept);
      return;
    }
    const std::uint64_t size = ops::View::dense(kept.dtype(), kept.shape()).bytes().size();
    keep(kept, [=] {
      std::vector<std::byte> bytes(size);
      if (const weft_status status = source(context, bytes.data(), size); status != WEFT_OK) {
        raise(ErrorCode::io, "The source of a kept tensor of {} bytes answered with status {}.",
              size, static_cast<int>(status));
      }
      return bytes;
    });
  });
}
