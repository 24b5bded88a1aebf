#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

// LD_PRELOAD: of the allocations that Weft's own code asks for, in any thread, number FAIL_AT
// fails. FAIL_IN is a part of the names of the files that this code is in. tools/test_hostile runs
// all doors with it.

namespace {

std::atomic<std::uint64_t> counted = 0;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The name of the library that some code is in, or of the program.
std::string_view file_of(void* code) {
  dl_find_object found{};
  if (::_dl_find_object(code, &found) != 0) return "";
  const std::string_view path = found.dlfo_link_map->l_name;
  return path.empty() ? program_invocation_short_name : path.substr(path.rfind('/') + 1);
}

/// Whether Dawn or the driver asks, which end the process when they get nothing: they may use
/// Weft's copies of the standard library's templates.
bool asked_by_others() {
  thread_local bool asking = false;  // What is called here allocates too.
  if (asking) return false;
  asking = true;
  std::array<void*, 12> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  bool found = false;
  for (int i = 2; i < count; ++i) {
    const std::string_view file = file_of(frames[static_cast<std::size_t>(i)]);
    for (const char* other : {"webgpu_dawn", "vulkan", "libggml.", "libggml-base.", "libllama"}) {
      found = found || file.contains(other);
    }
  }
  asking = false;
  return found;
}

bool fails(void* caller) {
  static const std::string_view in = variable("FAIL_IN");
  static const std::uint64_t at = std::strtoull(variable("FAIL_AT").data(), nullptr, 10);
  static std::atomic<bool> failed = false;
  if (in.empty() || !file_of(caller).contains(in) || ++counted < at || failed) return false;
  return !asked_by_others() && !failed.exchange(true);
}

void* allocate(std::size_t bytes, void* caller) {
  return fails(caller) ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* memory = allocate(bytes, __builtin_return_address(0));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(bytes, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
