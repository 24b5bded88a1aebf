#pragma once

// Dawn's header for programs that emscripten compiles. It refuses __EMSCRIPTEN__ in favour of
// emscripten's own port of WebGPU; src/web takes the place of that port. The standard headers come
// first, because they need the macro.

#pragma GCC system_header

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#pragma push_macro("__EMSCRIPTEN__")
#undef __EMSCRIPTEN__
#include_next <webgpu/webgpu_cpp.h>
#pragma pop_macro("__EMSCRIPTEN__")
