// What tests find in the plug-in whose calls of WebGPU, and whose allocations, can be made to fail.
#include <cstdint>
#include <cstdlib>
#include <new>

#include "gpu/fault.hpp"

namespace {

thread_local bool counting = false;
thread_local std::uint64_t counted = 0;
thread_local std::uint64_t fail_at = 0;

}  // namespace

// The plug-in alone comes here (-Bsymbolic): not ggml, nor Dawn, nor the driver.
void* operator new(std::size_t bytes) {
  if (counting && ++counted == fail_at) throw std::bad_alloc();
  void* memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }

extern "C" [[gnu::visibility("default")]] void weft_test_set_faults(const char* kind,
                                                                    std::uint64_t number,
                                                                    bool lose) {
  weft::gpu::set_faults({.kind = kind, .number = number, .lose = lose});
}

extern "C" [[gnu::visibility("default")]] std::uint64_t weft_test_counted_calls() {
  return weft::gpu::counted_calls();
}

/// From now on the allocations of this thread are counted, and one of them fails (0: none).
extern "C" [[gnu::visibility("default")]] void weft_test_count_allocations(std::uint64_t number) {
  counting = true;
  counted = 0;
  fail_at = number;
}

/// Ends that, and gives their number.
extern "C" [[gnu::visibility("default")]] std::uint64_t weft_test_counted_allocations() {
  counting = false;
  return counted;
}
