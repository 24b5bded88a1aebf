// The C API as a sequence of calls with any arguments: handles that are null, freed or of another
// kind, counts that do not fit, numbers at their ends. No call may crash, a call that fails has a
// sentence, and "internal" never happens.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>

#include "arguments.hpp"
#include "coverage.hpp"
#include "targets.hpp"

namespace weft::fuzz {
namespace {

constexpr std::size_t most_calls = 40;
/// Larger tensors are given back at once, or a few calls later they would be more than this machine
/// has.
constexpr std::int64_t most_size = 1 << 14;
/// Of a device, in bytes: a sequence may ask for more than this machine has, in one piece or in
/// many, and is to be told so by the library and not by the system.
constexpr std::uint64_t most_memory = 256 << 20;

struct Entry {
  std::string_view name;
  weft_status (*call)(Choices&, Handles&, std::vector<void*>& results);
};

template <class T>
constexpr bool is_bytes =
    std::is_same_v<T, void*> || std::is_same_v<T, const void*> || std::is_same_v<T, char*>;

template <auto function, class... P>
weft_status call(Choices& choices, Handles& handles, std::vector<void*>& results,
                 weft_status (* /*type*/)(P...)) {
  Arguments arguments(choices, handles, (is_bytes<P> || ...));
  std::tuple<P...> values{};
  std::apply([&](auto&... each) { (arguments.give(each), ...); }, values);
  const weft_status status = std::apply(function, values);
  results = arguments.results();
  return status;
}

template <auto function>
constexpr Entry entry(std::string_view name) {
  return {name, [](Choices& choices, Handles& handles, std::vector<void*>& results) {
            return call<function>(choices, handles, results, function);
          }};
}

#define WEFT_FUNCTIONS
#define FUNCTION(name) entry<name>(#name),
constexpr std::array table{
#include "c_functions.inc"
};
#undef FUNCTION
#undef WEFT_FUNCTIONS

/// Ends the process as a crash would, and says why.
void require(bool held, std::string_view name, const char* why) {
  if (held) return;
  std::fprintf(stderr, "%s: %s: %s\n", std::string(name).c_str(), why, weft_last_error());
  std::abort();
}

void free_handle(void* handle) {
  // A handle is of one kind; the others refuse it.
  (void)weft_tensor_free(static_cast<weft_tensor>(handle));
  (void)weft_buffer_free(static_cast<weft_buffer>(handle));
  (void)weft_kernel_free(static_cast<weft_kernel>(handle));
  (void)weft_compiled_free(static_cast<weft_compiled>(handle));
  (void)weft_model_free(static_cast<weft_model>(handle));
  (void)weft_init_free(static_cast<weft_init>(handle));
  (void)weft_module_free(static_cast<weft_module>(handle));
  (void)weft_optimizer_free(static_cast<weft_optimizer>(handle));
  (void)weft_ema_free(static_cast<weft_ema>(handle));
  (void)weft_step_free(static_cast<weft_step>(handle));
  (void)weft_loader_free(static_cast<weft_loader>(handle));
  (void)weft_device_close(static_cast<weft_device>(handle));
}

void limit_memory(weft_device device) {
  require(weft_device_set_memory_limit(device, most_memory, 1, nullptr, nullptr) == WEFT_OK,
          "weft_device_set_memory_limit", "fails");
}

/// The device of all sequences; one of them may close it.
weft_device device() {
  static weft_device open = nullptr;
  weft_memory_info memory;
  if (open == nullptr || weft_device_get_memory(open, &memory) != WEFT_OK) {
    require(weft_device_open(nullptr, &open) == WEFT_OK, "weft_device_open", "does not open");
    limit_memory(open);
  }
  return open;
}

/// Takes a new handle, unless it is a tensor that is too large to go on with.
void take(Handles& handles, void* handle) {
  weft_tensor_info info{};
  if (weft_tensor_get_info(static_cast<weft_tensor>(handle), &info) == WEFT_OK &&
      info.size > most_size) {
    (void)weft_tensor_free(static_cast<weft_tensor>(handle));
    return;
  }
  weft_memory_info memory;
  if (weft_device_get_memory(static_cast<weft_device>(handle), &memory) == WEFT_OK) {
    limit_memory(static_cast<weft_device>(handle));
  }
  handles.push_back(handle);
}

/// Things to begin with, so that calls get further than to their first check.
void add_first(Handles& handles) {
  handles.push_back(device());
  const std::array<float, 6> values{1, -2, 3, 0.5F, 0, 4};
  const std::array<std::int64_t, 2> shape{2, 3};
  const std::array<std::int32_t, 6> integers{0, 1, 2, 1, 0, -7};
  const auto made = [&](weft_dtype dtype, std::uint32_t rank, const void* data) {
    weft_tensor tensor = nullptr;
    require(weft_tensor_from_data(device(), dtype, rank, shape.data(), data, rank == 2 ? 24 : 8,
                                  &tensor) == WEFT_OK,
            "weft_tensor_from_data", "fails");
    handles.push_back(tensor);
  };
  made(WEFT_F32, 2, values.data());
  made(WEFT_F32, 1, values.data());
  made(WEFT_I32, 2, integers.data());
  weft_init init = nullptr;
  if (weft_init_create(device(), 1, &init) == WEFT_OK) handles.push_back(init);
}

}  // namespace

int c_calls_run(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  Handles handles;
  add_first(handles);
  const bool show = std::getenv("WEFT_FUZZ_SHOW") != nullptr;
  for (std::size_t i = 0; i < most_calls && !choices.done(); ++i) {
    const Entry& chosen = table[choices.below(table.size())];
    if (chosen.name == "weft_device_open" && handles.size() > 12) continue;
    std::vector<void*> results;
    const weft_status status = chosen.call(choices, handles, results);
    note(std::hash<std::string_view>()(chosen.name) + static_cast<std::uint64_t>(status));
    if (show) {
      std::fprintf(stderr, "%s: %s %s\n", std::string(chosen.name).c_str(),
                   weft_status_name(status), status == WEFT_OK ? "" : weft_last_error());
    }
    require(status >= WEFT_OK && status <= WEFT_INVALID_HANDLE, chosen.name, "unknown status");
    require(status != WEFT_INTERNAL, chosen.name, "a bug in Weft");
    require(status == WEFT_OK || std::string_view(weft_last_error()).size() > 15, chosen.name,
            "no sentence");
    require(status == WEFT_OK || results.empty(), chosen.name, "an error with results");
    for (void* handle : results) take(handles, handle);
  }
  void* open = device();
  // In any order.
  while (!handles.empty()) {
    const std::size_t at = choices.below(handles.size());
    void* handle = handles[at];
    handles.erase(handles.begin() + static_cast<std::ptrdiff_t>(at));
    if (handle != open) free_handle(handle);
  }
  return 0;
}

std::vector<std::string> c_calls_seeds() {
  std::vector<std::string> seeds;
  // A few calls of functions from all over the table with middling arguments.
  for (std::size_t i = 0; i < 24; ++i) {
    std::string seed;
    for (std::size_t call = 0; call < 12; ++call) {
      const std::size_t function = (i * 131 + call * 37) % table.size();
      seed += static_cast<char>(function >> 8U);
      seed += static_cast<char>(function & 255U);
      for (std::size_t k = 0; k < 24; ++k)
        seed += static_cast<char>(40 + (i * 7 + call * 5 + k * 11) % 200);
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace weft::fuzz
