#pragma once

#include <onnxruntime_c_api.h>

#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/error.hpp"

namespace weft::ort {

/// The functions that ONNX Runtime gives to a provider, with its errors as exceptions.
struct Api {
  const OrtApi* ort = nullptr;
  const OrtEpApi* ep = nullptr;

  /// Throws what a status says; nothing for success.
  void check(OrtStatus* status) const;

  /// What a function writes to its last parameter.
  template <class Out, class Function, class... Args>
  [[nodiscard]] Out get(Function function, Args... args) const {
    Out out{};
    check(function(args..., &out));
    return out;
  }

  /// All members of an object, by the function that counts them and the one that lists them.
  template <class Out, class Count, class List, class Object>
  [[nodiscard]] std::vector<Out> list(Count count, List list_all, Object object) const {
    std::vector<Out> out(get<std::size_t>(count, object));
    if (!out.empty()) check(list_all(object, out.data(), out.size()));
    return out;
  }

  /// Runs `body`; what it throws becomes a status.
  template <class Body>
  [[nodiscard]] OrtStatus* guarded(Body body) const noexcept {
    try {
      body();
      return nullptr;
    } catch (const Error& error) {
      return status_of(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      return status_of(ErrorCode::out_of_memory, "The host has not enough memory.");
    } catch (const std::exception& error) {
      return status_of(ErrorCode::internal, error.what());
    }
  }

  [[nodiscard]] OrtStatus* status_of(ErrorCode code, const char* message) const noexcept;
};

/// Frees an object of ONNX Runtime at the end of a scope.
template <class Object>
class Owned {
 public:
  using Release = void(ORT_API_CALL*)(Object*);
  Owned(Object* object, Release release) : object_(object), release_(release) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { release_(object_); }
  [[nodiscard]] Object* get() const { return object_; }

 private:
  Object* object_;
  Release release_;
};

}  // namespace weft::ort
