#pragma once

#include <expected>
#include <string>

#include "gpu/error_sink.hpp"
#include "gpu/native.hpp"

namespace weft::gpu {

/// Makes a buffer, or says why it cannot be made. The reason goes to no other place; `errors` only
/// learns that there was one. Where the host cannot wait for an answer (see Host::blocking), the
/// device's own error record gets what goes wrong.
std::expected<wgpu::Buffer, std::string> make_buffer(const wgpu::Instance& instance,
                                                     const wgpu::Device& device, bool blocking,
                                                     wgpu::BufferDescriptor descriptor,
                                                     ErrorSink& errors);

/// Hands commands to the queue.
void submit(const wgpu::Device& device, const wgpu::Queue& queue,
            const wgpu::CommandBuffer& commands);

}  // namespace weft::gpu
