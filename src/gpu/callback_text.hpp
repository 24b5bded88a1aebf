#pragma once

#include <new>
#include <string>
#include <string_view>

#include "gpu/native.hpp"

// For callbacks: whoever calls them does not expect them to throw, and would end the process.

namespace weft::gpu {

/// What a WebGPU string holds, where it lies.
inline std::string_view view_of(wgpu::StringView text) noexcept {
  return text.data == nullptr ? std::string_view() : std::string_view(text);
}

/// Puts a text into a string, which stays empty where the host has no memory for it.
template <class Text>
void put_text(std::string& to, const Text& make) noexcept {
  try {
    to = make();
  } catch (const std::bad_alloc&) {
    to.clear();
  }
}

}  // namespace weft::gpu
