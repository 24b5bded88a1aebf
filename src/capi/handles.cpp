#include "capi/handles.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace weft::capi {
namespace {

constexpr bool wide = sizeof(Handle) == 8;
constexpr unsigned index_bits = wide ? 28 : 16;
constexpr unsigned generation_bits = wide ? 28 : 12;
constexpr Handle max_index = (Handle{1} << index_bits) - 1;
constexpr Handle max_generation = (Handle{1} << generation_bits) - 1;

constexpr Handle encode(Kind kind, Handle generation, Handle index) {
  return (Handle{std::to_underlying(kind)} << (index_bits + generation_bits)) |
         (generation << index_bits) | index;
}
constexpr Handle index_of(Handle handle) { return handle & max_index; }
constexpr Handle generation_of(Handle handle) { return (handle >> index_bits) & max_generation; }
constexpr Handle kind_of(Handle handle) { return handle >> (index_bits + generation_bits); }

/// What was made in each of the scopes of this thread, the innermost last.
thread_local std::vector<std::vector<Handle>> scopes;

Failure no_scope() {
  return {ErrorCode::invalid_argument, "This thread has no scope; weft_scope_begin() begins one."};
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::none: return "nothing";
    case Kind::device: return "device";
    case Kind::buffer: return "buffer";
    case Kind::tensor: return "tensor";
    case Kind::kernel: return "kernel";
    case Kind::compiled: return "compiled function";
    case Kind::model: return "model";
    case Kind::init: return "start of modules";
    case Kind::module: return "module";
    case Kind::optimizer: return "optimizer";
    case Kind::ema: return "moving average";
    case Kind::step: return "training step";
    case Kind::loader: return "loader";
    case Kind::upload: return "upload";
  }
  return "unknown";
}

Result<Handle> HandleTable::add(Kind kind, std::shared_ptr<void> object) {
  const std::unique_lock lock(mutex_);
  if (free_.empty()) {
    if (places_.size() > max_index) {
      return fail(ErrorCode::out_of_memory,
                  "There are {} handles already, and no more can be made.", places_.size());
    }
    places_.emplace_back();
    free_.reserve(places_.capacity());  // so that remove() needs no memory
    free_.push_back(places_.size() - 1);
  }
  const bool scoped = !scopes.empty() && (kind == Kind::tensor || kind == Kind::buffer);
  if (scoped && scopes.back().size() == scopes.back().capacity()) {
    scopes.back().reserve(2 * scopes.back().size() + 16);  // so that the rest needs no memory
  }
  const std::size_t index = free_.back();
  free_.pop_back();
  Place& place = places_[index];
  place.object = std::move(object);
  place.kind = kind;
  const Handle handle = encode(kind, place.generation, index);
  if (scoped) scopes.back().push_back(handle);
  return handle;
}

Status HandleTable::check(Handle handle, Kind kind, std::string_view argument) const {
  if (handle == 0) {
    return fail(ErrorCode::not_found, "`{}` is NULL, but a {} is needed.", argument, name(kind));
  }
  const Handle index = index_of(handle);
  const bool possible = index < places_.size() && kind_of(handle) != 0 &&
                        kind_of(handle) <= std::to_underlying(last_kind) &&
                        generation_of(handle) != 0 &&
                        generation_of(handle) <= places_[index].generation;
  if (!possible) {
    return fail(ErrorCode::not_found, "`{}` is {:#x}, which is not a handle of Weft.", argument,
                handle);
  }
  const Place& place = places_[index];
  if (generation_of(handle) != place.generation || place.kind == Kind::none) {
    return fail(ErrorCode::not_found, "`{}` is {:#x}, a handle that was freed before.", argument,
                handle);
  }
  const auto actual = static_cast<Kind>(kind_of(handle));
  if (actual != place.kind) {
    return fail(ErrorCode::not_found, "`{}` is {:#x}, which is not a handle of Weft.", argument,
                handle);
  }
  if (actual != kind) {
    return fail(ErrorCode::not_found, "`{}` is {:#x}, which is a {}, but a {} is needed.", argument,
                handle, name(actual), name(kind));
  }
  return {};
}

Result<std::shared_ptr<void>> HandleTable::find(Handle handle, Kind kind,
                                                std::string_view argument) const {
  const std::shared_lock lock(mutex_);
  if (Status ok = check(handle, kind, argument); !ok) return std::unexpected(std::move(ok.error()));
  return places_[index_of(handle)].object;
}

Status HandleTable::remove(Handle handle, Kind kind, std::string_view argument) {
  std::shared_ptr<void> object;  // goes after the lock: what it frees may take a while
  const std::unique_lock lock(mutex_);
  if (Status ok = check(handle, kind, argument); !ok) return ok;
  Place& place = places_[index_of(handle)];
  object = std::move(place.object);
  place.kind = Kind::none;
  if (place.generation < max_generation) {
    ++place.generation;
    free_.push_back(index_of(handle));
  }
  return {};
}

HandleTable& handles() {
  // Never destroyed: what is still open when the program ends cannot be closed then, because
  // drivers that were loaded later have ended before.
  static HandleTable& table = *new HandleTable;
  return table;
}

void begin_scope() { scopes.emplace_back(); }

Status keep_from_scope(Handle handle) {
  if (scopes.empty()) return std::unexpected(no_scope());
  const auto found = std::ranges::find(scopes.back(), handle);
  if (found == scopes.back().end()) {
    return fail(ErrorCode::invalid_argument,
                "The tensor {:#x} was not made in the present scope of this thread.", handle);
  }
  if (scopes.size() > 1) scopes[scopes.size() - 2].push_back(handle);
  scopes.back().erase(found);
  return {};
}

Status end_scope() {
  if (scopes.empty()) return std::unexpected(no_scope());
  const std::vector<Handle> made = std::move(scopes.back());
  scopes.pop_back();
  for (const Handle handle : made) {
    // What was freed before is none of them any more.
    if (!handles().remove(handle, static_cast<Kind>(kind_of(handle)), "handle")) continue;
  }
  return {};
}

}  // namespace weft::capi
