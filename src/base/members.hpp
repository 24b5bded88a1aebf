#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <type_traits>

namespace weft {

/// A member of a plain struct: its name, its place in bytes, and a function that reads it. A table
/// of them instead of code for each struct, of which there are hundreds: a page loads all of it.
template <class Read>
struct Member {
  std::string_view name;
  std::uint32_t offset = 0;
  Read read = nullptr;
};

namespace detail {

/// Gives members an address that the compiler can name.
template <class T>
inline constexpr T example{};

/// What the definition of `example`'s type calls the member at this address: both compilers end the
/// description of the argument with it ("… = &example.width]", "… = (&
/// example<Params>.Params::width); …]").
template <auto Address>
consteval std::string_view name_at() {
  std::string_view text = std::source_location::current().function_name();
  text = text.substr(text.find("Address = "));
  text = text.substr(0, text.find_first_of(");]"));
  return text.substr(text.find_last_of(".:") + 1);
}

template <class T>
consteval auto names_of_members() {
  const auto& [... members] = example<T>;
  return std::array<std::string_view, sizeof...(members)>{name_at<&members>()...};
}

template <class T>
consteval std::size_t letters_of_members() {
  std::size_t size = 0;
  for (const std::string_view name : names_of_members<T>()) size += name.size();
  return size;
}

/// The names one behind the other: views of the compiler's descriptions would keep all of their
/// text.
template <class T>
inline constexpr auto letters = [] {
  std::array<char, letters_of_members<T>()> out{};
  char* to = out.data();
  for (const std::string_view name : names_of_members<T>()) {
    to = std::ranges::copy(name, to).out;
  }
  return out;
}();

template <class T, class Read, class Reader>
consteval auto make_members() {
  constexpr auto names = names_of_members<T>();
  std::array<Member<Read>, names.size()> out{};
  [[maybe_unused]] std::size_t letter = 0;
  [[maybe_unused]] std::size_t end = 0;
  [[maybe_unused]] std::size_t next = 0;
  [[maybe_unused]] const auto add = [&]<class M>(const M*) {
    // As every compiler lays a plain struct out; checked below.
    const std::size_t offset = (end + alignof(M) - 1) / alignof(M) * alignof(M);
    const std::size_t length = names[next].size();
    out[next] = {.name = std::string_view(letters<T>.data() + letter, length),
                 .offset = static_cast<std::uint32_t>(offset),
                 .read = Reader::template read<M>};
    letter += length;
    end = offset + sizeof(M);
    ++next;
  };
  const auto& [... members] = example<T>;
  (add(static_cast<const std::remove_cvref_t<decltype(members)>*>(nullptr)), ...);
  if (!out.empty() && (end + alignof(T) - 1) / alignof(T) * alignof(T) != sizeof(T)) {
    throw "the members of this struct do not lie behind each other";
  }
  return out;
}

}  // namespace detail

/// The members of a plain struct in their order. Reader::read<M> is the function for members of the
/// type M.
template <class T, class Read, class Reader>
inline constexpr auto members_of = detail::make_members<T, Read, Reader>();

}  // namespace weft
