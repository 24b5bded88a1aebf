#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace weft::capi {

/// What a handle stands for.
enum class Kind : std::uint8_t {
  none,
  device,
  buffer,
  tensor,
  kernel,
  compiled,
  model,
  init,
  module,
  optimizer,
  ema,
  step,
  loader,
  upload,
};
inline constexpr Kind last_kind = Kind::upload;

/// "device", "buffer", …
std::string_view name(Kind kind);

/// A handle as a number: kind, generation and index of a place in the table, side by side. A place
/// that is used again gets a new generation, and is given up when there is none left, so that a
/// freed handle is never valid again.
using Handle = std::uintptr_t;

/// What the C API's handles stand for. Thread-safe; objects stay alive while a call uses them.
class HandleTable {
 public:
  /// A new handle for an object; fails when there are too many.
  Result<Handle> add(Kind kind, std::shared_ptr<void> object);

  /// The object behind a handle of that kind. `argument` names it in messages. Fails with not_found
  /// when there is none, which the C API reports as WEFT_INVALID_HANDLE.
  Result<std::shared_ptr<void>> find(Handle handle, Kind kind, std::string_view argument) const;

  /// Makes the handle invalid. The object goes with its last user.
  Status remove(Handle handle, Kind kind, std::string_view argument);

 private:
  struct Place {
    std::shared_ptr<void> object;
    Kind kind = Kind::none;
    Handle generation = 1;
  };

  [[nodiscard]] Status check(Handle handle, Kind kind, std::string_view argument) const;

  mutable std::shared_mutex mutex_;
  std::vector<Place> places_;
  std::vector<std::size_t> free_;
};

/// The table of this process.
HandleTable& handles();

/// Scopes of the calling thread: the handles of tensors and buffers that it makes in one are
/// removed with it. begin_scope() begins one in the present one; keep_from_scope() hands a handle
/// to the scope around; both others fail where there is no scope.
void begin_scope();
Status keep_from_scope(Handle handle);
Status end_scope();

}  // namespace weft::capi
