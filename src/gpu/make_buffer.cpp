#include "gpu/make_buffer.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "gpu/address_space.hpp"
#include "gpu/fault.hpp"

namespace weft::gpu {
namespace {

/// What an error scope caught.
struct Caught {
  bool error = false;
  std::string message;  ///< Empty where the host had no memory for it.

  void note(std::string_view text) noexcept {
    error = true;
    try {
      message = text;
    } catch (...) {  // NOLINT(bugprone-empty-catch): that there was one counts
    }
  }
};

/// Pops one error scope. Whatever the host's memory is, since a scope that stayed open would keep
/// all later errors of the device to itself.
Caught pop_scope(const wgpu::Instance& instance, const wgpu::Device& device) noexcept {
  Caught caught;
  const wgpu::Future future = device.PopErrorScope(
      wgpu::CallbackMode::WaitAnyOnly,
      [](wgpu::PopErrorScopeStatus status, wgpu::ErrorType type, wgpu::StringView message,
         Caught* to) {
        if (status != wgpu::PopErrorScopeStatus::Success) {
          to->note("the device did not answer");
        } else if (type != wgpu::ErrorType::NoError) {
          to->note(text(message));
        }
      },
      &caught);
  try {
    if (Status status = wait_for(instance, future, "an error scope"); !status) {
      caught.note(status.error().message);
    }
  } catch (...) {
    caught.note("the device did not answer");
  }
  if (fails_now(Call::scope, device)) caught.note("the device did not answer (by order of a test)");
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
  Caught memory = pop_scope(instance, device);
  Caught internal = pop_scope(instance, device);
  Caught validation = pop_scope(instance, device);
  Caught& first = memory.error ? memory : internal.error ? internal : validation;
  if (!first.error && buffer != nullptr) return buffer;
  errors.note_refusal();
  if (first.message.empty()) first.message = "the device gave none.";
  return std::unexpected(std::move(first.message));
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
