#include "transfer.hpp"

#include "base/format.hpp"

namespace weft::ort {
namespace {

const void* address_of(const Api& api, const OrtValue* value) {
  return api.get<const void*>(api.ort->GetTensorData, value);
}

bool is_host(const Api& api, const OrtMemoryDevice* device) {
  return api.ep->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_CPU;
}

}  // namespace

bool is_ours(const Api& api, const OrtMemoryDevice* device) {
  return device != nullptr &&
         api.ep->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_GPU &&
         api.ep->MemoryDevice_GetVendorId(device) == memory_vendor;
}

bool is_ours(const Api& api, const OrtValue* value) {
  return is_ours(api, api.ep->Value_GetMemoryDevice(value));
}

std::shared_ptr<Stored> stored_in(const Api& api, const Memory& memory, const OrtValue* value) {
  const Described described = describe(api, value);
  if (described.bytes == 0)
    return std::make_shared<Stored>(onnx::Array{
        .type = described.type, .shape = described.shape, .bytes = {}, .keep = {}, .strings = {}});
  return memory.at(address_of(api, value));
}

void store(const Api& api, Memory& memory, OrtValue* to, std::shared_ptr<Stored> stored) {
  memory.put(address_of(api, to), describe(api, to).bytes, std::move(stored));
}

Allocator::Allocator(Memory& memory, const OrtMemoryInfo* described)
    : OrtAllocator{}, memory_(&memory), info_(described) {
  version = ORT_API_VERSION;
  Alloc = alloc;
  Free = free;
  Info = info;
  Reserve = alloc;
}

void* Allocator::alloc(OrtAllocator* self, std::size_t size) noexcept {
  try {
    return static_cast<Allocator*>(self)->memory_->reserve(size);
  } catch (const std::exception&) {
    return nullptr;  // ONNX Runtime says that there is no memory.
  }
}

void Allocator::free(OrtAllocator* self, void* address) noexcept {
  static_cast<Allocator*>(self)->memory_->release(address);
}

const OrtMemoryInfo* Allocator::info(const OrtAllocator* self) noexcept {
  return static_cast<const Allocator*>(self)->info_;
}

Transfer::Transfer(const Api& api, Memory& memory)
    : OrtDataTransferImpl{}, api_(&api), memory_(&memory) {
  ort_version_supported = ORT_API_VERSION;
  Release = release;
  CanCopy = can_copy;
  CopyTensors = copy;
}

void Transfer::release(OrtDataTransferImpl* self) noexcept { delete static_cast<Transfer*>(self); }

bool Transfer::can_copy(const OrtDataTransferImpl* self, const OrtMemoryDevice* from,
                        const OrtMemoryDevice* to) noexcept {
  const Api& api = *static_cast<const Transfer*>(self)->api_;
  const bool from_us = is_ours(api, from);
  const bool to_us = is_ours(api, to);
  return (from_us && to_us) || (from_us && is_host(api, to)) || (to_us && is_host(api, from));
}

OrtStatus* Transfer::copy(OrtDataTransferImpl* self, const OrtValue** from, OrtValue** to,
                          OrtSyncStream** /*streams*/, std::size_t count) noexcept {
  const Transfer& me = *static_cast<Transfer*>(self);
  const Api& api = *me.api_;
  return api.guarded([&] {
    for (std::size_t i = 0; i < count; ++i) {
      const auto stored = is_ours(api, from[i]) ? stored_in(api, *me.memory_, from[i])
                                                : std::make_shared<Stored>(api, from[i]);
      if (is_ours(api, to[i]))
        store(api, *me.memory_, to[i], stored);
      else
        write_host(api, to[i], stored->read(describe(api, to[i])));
    }
  });
}

}  // namespace weft::ort
