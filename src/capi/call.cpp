#include "capi/call.hpp"

#include <array>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/dtype.hpp"
#include "base/format.hpp"
#include "base/utf8.hpp"
#include "weft/version.hpp"

namespace weft::capi {
namespace {

/// The message of this thread's last failure.
std::string& last_error() {
  thread_local std::string message;
  return message;
}

weft_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return WEFT_INVALID_ARGUMENT;
    case ErrorCode::unsupported: return WEFT_UNSUPPORTED;
    case ErrorCode::out_of_memory: return WEFT_OUT_OF_MEMORY;
    case ErrorCode::not_found: return WEFT_NOT_FOUND;
    case ErrorCode::shader: return WEFT_SHADER;
    case ErrorCode::device_lost: return WEFT_DEVICE_LOST;
    case ErrorCode::io: return WEFT_IO;
    case ErrorCode::internal: return WEFT_INTERNAL;
  }
  return WEFT_INTERNAL;
}

}  // namespace

weft_status report(std::string_view function, weft_status status,
                   std::string_view message) noexcept {
  try {
    std::string text = formatted("{}: {}", function, message);
    repair_utf8(text);
    last_error() = std::move(text);
  } catch (...) {
    last_error().clear();  // no memory for a message: the status says enough
  }
  return status;
}

weft_status report(std::string_view function, ErrorCode code, std::string_view message) noexcept {
  return report(function, status_of(code), message);
}

weft_status call_body(std::string_view function, void (*run)(const void* body),
                      const void* body) noexcept {
  try {
    run(body);
    return WEFT_OK;
  } catch (const HandleError& error) {
    return report(function, WEFT_INVALID_HANDLE, error.message);
  } catch (const Error& error) {
    return report(function, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(function, WEFT_OUT_OF_MEMORY, "The host has no memory left.");
  } catch (const std::exception& error) {
    return report(function, WEFT_INTERNAL, error.what());
  } catch (...) {
    return report(function, WEFT_INTERNAL, "An unknown exception was thrown.");
  }
}

}  // namespace weft::capi

using weft::DType;

static_assert(
    WEFT_F32 == static_cast<int>(DType::f32) && WEFT_F16 == static_cast<int>(DType::f16) &&
    WEFT_BF16 == static_cast<int>(DType::bf16) && WEFT_I32 == static_cast<int>(DType::i32) &&
    WEFT_U32 == static_cast<int>(DType::u32) && WEFT_I64 == static_cast<int>(DType::i64) &&
    WEFT_I16 == static_cast<int>(DType::i16) && WEFT_I8 == static_cast<int>(DType::i8) &&
    WEFT_U8 == static_cast<int>(DType::u8) && WEFT_BOOL == static_cast<int>(DType::boolean) &&
    WEFT_Q1_0 == static_cast<int>(DType::q1_0) && WEFT_NVFP4 == static_cast<int>(DType::nvfp4));

const char* weft_version() { return weft::version().data(); }

const char* weft_last_error() { return weft::capi::last_error().c_str(); }

const char* weft_status_name(weft_status status) {
  constexpr std::array names{"ok",        "invalid_argument", "unsupported", "out_of_memory",
                             "not_found", "shader",           "device_lost", "io",
                             "internal",  "invalid_handle"};
  const auto index = static_cast<std::size_t>(status);
  return index < names.size() ? names[index] : "unknown";
}

const char* weft_dtype_name(weft_dtype dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  const std::size_t all = weft::all_dtypes.size() + weft::quantized_dtypes.size();
  return index < all ? weft::name(static_cast<DType>(index)).data() : "unknown";
}

size_t weft_dtype_size(weft_dtype dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < weft::all_dtypes.size() ? weft::size_of(static_cast<DType>(index)) : 0;
}
