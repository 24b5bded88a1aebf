#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capi/objects.hpp"
#include "weft/c/tensor.h"
#include "weft/weft.hpp"

namespace weft::capi {

/// Calls do not come from a line of C++: messages then name only the operation.
inline constexpr Where nowhere{};

/// The tensor behind a handle.
Tensor tensor_of(weft_tensor handle, std::string_view argument);

/// An argument that may be left out.
Tensor tensor_or_none(weft_tensor handle, std::string_view argument);

/// The tensors behind an array of handles.
std::vector<Tensor> tensors_of(const weft_tensor* handles, std::uint32_t count,
                               std::string_view argument);

/// Elements that the caller gave, as a tensor of their type and shape has them.
struct GivenElements {
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<std::vector<std::byte>> truths;  ///< `bytes` of booleans: any byte but 0 is true.
};

/// Checks what a caller gave, and that there are as many bytes as the tensor takes.
GivenElements elements_of(weft_dtype dtype, std::uint32_t rank, const std::int64_t* shape,
                          const void* data, std::uint64_t bytes);

/// Held while expressions of a tensor's device are built or computed, so that the C API can be used
/// from several threads.
std::unique_lock<std::recursive_mutex> lock_values(const Tensor& tensor);

/// The same for what an operation starts from: some tensors, of which there must be one, or a
/// device.
std::unique_lock<std::recursive_mutex> lock_of(const Tensor& tensor);
std::unique_lock<std::recursive_mutex> lock_of(const std::vector<Tensor>& tensors);
std::unique_lock<std::recursive_mutex> lock_of(const Device& device);

/// Gives new tensors to the caller: all of them, or none.
void put_all(const std::vector<Tensor>& tensors, weft_tensor* results);

/// Gives named tensors to the caller: all of them, or none.
void give(const std::vector<nn::Named>& tensors, weft_receiver receiver, void* context);
void give(const std::map<std::string, Tensor>& tensors, weft_receiver receiver, void* context);

/// Named tensors that the caller gave.
std::map<std::string, Tensor> named_tensors(const char* const* names, const weft_tensor* tensors,
                                            std::uint32_t count);

/// Copies a text, or what fits of it, and gives its whole length.
void give_text(std::string_view whole, char* text, std::size_t capacity, std::size_t* length);

}  // namespace weft::capi
