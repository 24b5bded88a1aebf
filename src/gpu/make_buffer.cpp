#include "gpu/make_buffer.hpp"

#include <optional>
#include <utility>

#include "base/format.hpp"
#include "gpu/address_space.hpp"
#include "gpu/fault.hpp"

namespace weft::gpu {
namespace {

/// Pops one error scope; the message of the error it caught, if any.
std::optional<std::string> pop_scope(const wgpu::Instance& instance, const wgpu::Device& device) {
  std::optional<std::string> caught;
  const wgpu::Future future = device.PopErrorScope(
      wgpu::CallbackMode::WaitAnyOnly,
      [&caught](wgpu::PopErrorScopeStatus status, wgpu::ErrorType type, wgpu::StringView message) {
        if (status != wgpu::PopErrorScopeStatus::Success) {
          caught = "the device did not answer";
        } else if (type != wgpu::ErrorType::NoError) {
          caught = text(message);
        }
      });
  if (Status status = wait_for(instance, future, "an error scope"); !status) {
    caught = status.error().message;
  }
  if (fails_now(Call::scope, device)) caught = "the device did not answer (by order of a test)";
  return caught;
}

}  // namespace

std::expected<wgpu::Buffer, std::string> make_buffer(const wgpu::Instance& instance,
                                                     const wgpu::Device& device, bool blocking,
                                                     wgpu::BufferDescriptor descriptor,
                                                     ErrorSink& errors) {
  if (Status room = check_address_space(descriptor.size + space_beside_a_buffer, "A buffer");
      !room) {
    return std::unexpected(room.error().message);
  }
  if (Status room = check_file_size(descriptor.size, "A buffer"); !room) {
    return std::unexpected(room.error().message);
  }
  if (!blocking) {
    // What goes wrong is reported with the label.
    const std::string label = formatted("{} ({} bytes)", text(descriptor.label), descriptor.size);
    descriptor.label = std::string_view(label);
    return device.CreateBuffer(&descriptor);
  }
#ifdef WEFT_FAULTS
  wgpu::DawnFakeBufferOOMForTesting full;
  if (fails_now(Call::buffer, device)) {
    full.fakeOOMAtDevice = true;
    full.nextInChain = descriptor.nextInChain;
    descriptor.nextInChain = &full;
  }
#endif
  device.PushErrorScope(wgpu::ErrorFilter::Validation);
  device.PushErrorScope(wgpu::ErrorFilter::Internal);
  device.PushErrorScope(wgpu::ErrorFilter::OutOfMemory);
  wgpu::Buffer buffer = device.CreateBuffer(&descriptor);
  const std::optional<std::string> memory = pop_scope(instance, device);
  const std::optional<std::string> internal = pop_scope(instance, device);
  const std::optional<std::string> validation = pop_scope(instance, device);
  const std::optional<std::string>& reason = memory ? memory : internal ? internal : validation;
  if (!reason && buffer != nullptr) return buffer;
  errors.note_refusal();
  return std::unexpected(reason.value_or("the device gave none."));
}

void submit(const wgpu::Device& device, const wgpu::Queue& queue,
            const wgpu::CommandBuffer& commands) {
#ifdef WEFT_FAULTS
  if (fails_now(Call::submit, device)) {
    device.InjectError(wgpu::ErrorType::OutOfMemory,
                       "The queue took no commands (by order of a test).");
    return;
  }
#else
  static_cast<void>(device);
#endif
  queue.Submit(1, &commands);
}

}  // namespace weft::gpu
