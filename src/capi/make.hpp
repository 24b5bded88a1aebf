#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "capi/tensors.hpp"

namespace weft::capi {

// What the entry points that tools/describe writes are made of.

/// Runs an entry point that makes one tensor from several.
template <class Body>
weft_status make(std::string_view function, weft_tensor* y, const weft_tensor* inputs,
                 std::uint32_t count, std::string_view argument, const Body& body) noexcept {
  return call(function, [&] {
    weft_tensor& out = result(y, "y");
    const std::vector<Tensor> from = tensors_of(inputs, count, argument);
    const auto lock = lock_of(from);
    out = put(TensorObject{body(from)});
  });
}

/// The options that the caller gave, or the usual ones. A structure that was made for an older
/// library is shorter: what it does not have keeps its usual value. No structure ends within a
/// word: half of a pointer would be none.
template <class Options>
Options options_of(const Options* given, Options usual) {
  if (given == nullptr) return usual;
  if (given->size < sizeof(given->size) || given->size > 4096 ||
      given->size % alignof(Options) != 0) {
    raise(ErrorCode::invalid_argument,
          "`size` of the options is {}; start from the initializer of their type, which sets it.",
          given->size);
  }
  const std::size_t known = std::min(given->size, sizeof(Options));
  std::memcpy(&usual, given, known);
  return usual;
}

/// A count, an extent or a step that must not be negative.
inline std::uint64_t positive(std::int64_t value, std::string_view argument) {
  if (value < 0) {
    raise(ErrorCode::invalid_argument, "`{}` is {}; it cannot be negative.", argument, value);
  }
  return static_cast<std::uint64_t>(value);
}

/// Numbers that the caller gave; there are never more than a few.
template <std::integral T>
std::vector<T> list_of(const T* values, std::uint32_t count, std::string_view argument) {
  constexpr std::uint32_t most = 65536;
  if (count > most) {
    raise(ErrorCode::invalid_argument, "`{}` has {} numbers; at most {} are possible.", argument,
          count, most);
  }
  if (count == 0) return {};
  required(values, argument);
  return {values, values + count};
}

/// The same for numbers that must not be negative.
inline std::vector<std::uint64_t> counts_of(const std::int64_t* values, std::uint32_t count,
                                            std::string_view argument) {
  std::vector<std::uint64_t> out;
  for (const std::int64_t value : list_of(values, count, argument)) {
    out.push_back(positive(value, argument));
  }
  return out;
}

/// The numbers that an option may be, as description/*.toml has them. `above` and `below` leave out
/// the ends themselves.
struct Range {
  double low = 0;
  double high = 0;
  bool above = false;
  bool below = false;
  std::string_view text{};
};
inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// A number of the range; NaN is in none.
template <class T>
T in_range(T value, std::string_view argument, const Range& range) {
  const auto number = static_cast<double>(value);
  const bool low = range.above ? number > range.low : number >= range.low;
  const bool high = range.below ? number < range.high : number <= range.high;
  if (!low || !high) {
    raise(ErrorCode::invalid_argument, "`{}` is {}; it must be in {}.", argument, value,
          range.text);
  }
  return value;
}

/// One of the words that a text may be.
inline std::string_view one_of(std::string_view value, std::string_view argument,
                               std::initializer_list<std::string_view> words) {
  if (std::ranges::contains(words, value)) return value;
  std::string all;
  for (const std::string_view word : words) {
    all += formatted("{}\"{}\"", all.empty() ? "" : ", ", word);
  }
  raise(ErrorCode::invalid_argument, "`{}` is \"{}\"; it must be one of {}.", argument, value, all);
}

/// An option whose numbers are 0 to `last`.
template <class To, class From>
To choice(From value, int last, std::string_view argument) {
  const auto number = static_cast<int>(value);
  if (number < 0 || number > last) {
    raise(ErrorCode::invalid_argument, "`{}` is {}; it must be one of 0 to {}.", argument, number,
          last);
  }
  return static_cast<To>(number);
}

/// Where one of several results goes, if it is wanted: NULL until there is one.
inline void clear(weft_tensor* place) {
  if (place != nullptr) *place = nullptr;
}

/// Gives those results to the caller that exist and are wanted: all of them, or none.
inline void give(std::initializer_list<std::pair<Tensor, weft_tensor*>> results) {
  std::vector<Tensor> tensors;
  std::vector<weft_tensor*> places;
  for (const auto& [tensor, place] : results) {
    if (!tensor || place == nullptr) continue;
    tensors.push_back(tensor);
    places.push_back(place);
  }
  std::vector<weft_tensor> handles(tensors.size());
  put_all(tensors, handles.data());
  for (std::size_t i = 0; i < places.size(); ++i) *places[i] = handles[i];
}

/// The same for a list: `capacity` is the room at `parts`, and `count` gets how many there are,
/// also when they do not fit.
inline void give_none(std::uint32_t capacity, weft_tensor* parts, std::uint32_t* count) {
  *required(count, "count") = 0;
  if (capacity > 0) std::fill_n(required(parts, "parts"), capacity, nullptr);
}
inline void give_list(const std::vector<Tensor>& tensors, std::uint32_t capacity,
                      weft_tensor* parts, std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(tensors.size());
  if (tensors.size() > capacity) {
    raise(ErrorCode::invalid_argument, "There are {} parts, and `parts` has room for {}.",
          tensors.size(), capacity);
  }
  put_all(tensors, parts);
}

}  // namespace weft::capi
