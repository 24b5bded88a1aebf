// What tests find in the plug-in whose calls of WebGPU can be made to fail.
#include "gpu/fault.hpp"

extern "C" [[gnu::visibility("default")]] void weft_test_set_faults(const char* kind,
                                                                    std::uint64_t number,
                                                                    bool lose) {
  weft::gpu::set_faults({.kind = kind, .number = number, .lose = lose});
}

extern "C" [[gnu::visibility("default")]] std::uint64_t weft_test_counted_calls() {
  return weft::gpu::counted_calls();
}
