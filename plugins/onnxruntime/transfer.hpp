#pragma once

#include "memory.hpp"

namespace weft::ort {

/// The memory of devices as ONNX Runtime names it; the same name for every device, because a value
/// finds its device by itself.
constexpr std::uint32_t memory_vendor = 0x5745;  // no PCI vendor has it
constexpr const char* memory_name = "Weft";

/// Whether a value of ONNX Runtime lies in Memory.
[[nodiscard]] bool is_ours(const Api& api, const OrtMemoryDevice* device);
[[nodiscard]] bool is_ours(const Api& api, const OrtValue* value);

/// What a value in Memory stands for.
[[nodiscard]] std::shared_ptr<Stored> stored_in(const Api& api, const Memory& memory,
                                                const OrtValue* value);
/// Writes something to a value in Memory.
void store(const Api& api, Memory& memory, OrtValue* to, std::shared_ptr<Stored> stored);

/// An allocator that ONNX Runtime takes addresses of Memory from. The memory must outlive it.
class Allocator : public OrtAllocator {
 public:
  Allocator(Memory& memory, const OrtMemoryInfo* info);

 private:
  static void* ORT_API_CALL alloc(OrtAllocator* self, std::size_t size) noexcept;
  static void ORT_API_CALL free(OrtAllocator* self, void* address) noexcept;
  static const OrtMemoryInfo* ORT_API_CALL info(const OrtAllocator* self) noexcept;

  Memory* memory_;
  const OrtMemoryInfo* info_;
};

/// Copies tensors between the host and Memory.
class Transfer : public OrtDataTransferImpl {
 public:
  Transfer(const Api& api, Memory& memory);

 private:
  static void ORT_API_CALL release(OrtDataTransferImpl* self) noexcept;
  static bool ORT_API_CALL can_copy(const OrtDataTransferImpl* self, const OrtMemoryDevice* from,
                                    const OrtMemoryDevice* to) noexcept;
  static OrtStatus* ORT_API_CALL copy(OrtDataTransferImpl* self, const OrtValue** from,
                                      OrtValue** to, OrtSyncStream** streams,
                                      std::size_t count) noexcept;

  const Api* api_;
  Memory* memory_;
};

}  // namespace weft::ort
