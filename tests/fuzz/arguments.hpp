#pragma once

#include <weft/weft.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <type_traits>
#include <vector>

namespace weft::fuzz {

/// Most elements of an array that a call is given; no count is larger.
constexpr std::size_t most_elements = 64;
/// Bytes behind every pointer to bytes; no size beside one is larger.
constexpr std::size_t most_bytes = 65536;

/// Bytes that decide what is called with which arguments; 0 once they are used up.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  [[nodiscard]] bool done() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::size_t below(std::size_t limit) {
    const std::size_t high = byte();
    return (high << 8U | byte()) % limit;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

/// The handles that a sequence of calls got, of all kinds; some of them were freed since.
using Handles = std::vector<void*>;

/// Whether a type is a handle: a pointer to a structure that nobody has seen.
template <class T>
constexpr bool is_handle = false;
#define WEFT_HANDLE(name) \
  template <>             \
  inline constexpr bool is_handle<weft_##name> = true;
WEFT_HANDLE(device)
WEFT_HANDLE(buffer)
WEFT_HANDLE(tensor)
WEFT_HANDLE(kernel)
WEFT_HANDLE(compiled)
WEFT_HANDLE(model)
WEFT_HANDLE(init)
WEFT_HANDLE(module)
WEFT_HANDLE(optimizer)
WEFT_HANDLE(ema)
WEFT_HANDLE(step)
WEFT_HANDLE(loader)
#undef WEFT_HANDLE

/// Makes arguments of any type that the C API has. What pointers point to lives as long as this.
class Arguments {
 public:
  Arguments(Choices& choices, Handles& handles, bool sizes_are_room)
      : choices_(choices), handles_(handles), sizes_are_room_(sizes_are_room) {}

  template <class T>
  void give(T& value) {
    if constexpr (std::is_array_v<T>) {
      for (auto& element : value) give(element);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = (choices_.byte() & 1U) != 0;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(choices_.byte() % 24);  // more than there are
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(real());
    } else if constexpr (std::is_integral_v<T>) {
      value = whole<T>();
    } else if constexpr (is_handle<T>) {
      value = static_cast<T>(handle());
    } else if constexpr (std::is_class_v<T>) {
      fill(value);
    } else {
      static_assert(std::is_pointer_v<T>);
      pointer(value);
    }
  }

  /// Handles that a call put into arrays of results.
  [[nodiscard]] std::vector<void*> results() const;

#define WEFT_STRUCTURES
#define STRUCTURE(name) void fill(name& value);
#include "c_functions.inc"
#undef STRUCTURE
#undef WEFT_STRUCTURES

 private:
  double real();
  void* handle();
  const char* text();
  std::byte* block();

  template <class T>
  T whole() {
    constexpr std::uint64_t extremes[] = {~0ULL, 1ULL << 31U, 1ULL << 32U, 1ULL << 63U,
                                          ~0ULL >> 1U};
    const std::uint8_t kind = choices_.byte();
    if (sizeof(T) < 8) return static_cast<T>(kind % (most_elements + 1));
    if (sizes_are_room_ && std::is_unsigned_v<T>) {
      return static_cast<T>(kind < 128 ? kind : choices_.below(most_bytes));
    }
    if (kind < 8) return static_cast<T>(extremes[kind % std::size(extremes)]);
    if (kind < 32) return static_cast<T>(~std::uint64_t{kind});  // small and negative
    return static_cast<T>(kind % 17);
  }

  template <class R, class... P>
  void pointer(R (*&function)(P...)) {
    function = choices_.byte() % 4 == 0 ? nullptr : [](P...) -> R { return R(); };
  }
  void pointer(weft_part& part);
  void pointer(const char*& value) { value = text(); }
  void pointer(char*& value) { value = reinterpret_cast<char*>(block()); }
  void pointer(const void*& value) { value = block(); }
  void pointer(void*& value) { value = block(); }
  void pointer(const char* const*& value) {
    value = nullptr;
    if (choices_.byte() % 16 == 0) return;
    auto& list = texts_.emplace_back();
    for (std::size_t i = 0; i < 4; ++i) list.push_back(text());
    for (std::size_t i = 4; i < most_elements; ++i) list.push_back(list[i % 4]);
    value = list.data();
  }

  /// An array with as many elements as any count says; the first few are different.
  template <class T>
  void pointer(T*& value) {
    using Element = std::remove_const_t<T>;
    value = nullptr;
    if (choices_.byte() % 16 == 0) return;
    auto& bytes = arrays_.emplace_back(sizeof(Element) * most_elements);
    value = reinterpret_cast<T*>(bytes.data());
    constexpr bool is_result = is_handle<Element> && !std::is_const_v<T>;
    if constexpr (is_result) {
      results_.push_back(reinterpret_cast<void**>(bytes.data()));
    } else {
      for (std::size_t i = 0; i < most_elements; ++i) {
        Element element{};
        if (i >= 4) {
          std::memcpy(&element, bytes.data() + (i % 4) * sizeof(Element), sizeof(Element));
        } else if constexpr (std::is_class_v<Element>) {
          const bool outer = sizes_are_room_;
          sizes_are_room_ = true;
          fill(element);
          sizes_are_room_ = outer;
        } else {
          give(element);
        }
        std::memcpy(bytes.data() + i * sizeof(Element), &element, sizeof(Element));
      }
    }
  }

  Choices& choices_;
  Handles& handles_;
  bool sizes_are_room_;  ///< Numbers of 64 bits without sign may say how many bytes there are.
  std::deque<std::vector<std::byte>> arrays_;
  std::deque<std::vector<const char*>> texts_;
  std::vector<void**> results_;
};

}  // namespace weft::fuzz
