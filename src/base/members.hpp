#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <string_view>

namespace weft {

namespace detail {

/// Gives members an address that the compiler can name.
template <class T>
inline constexpr T example{};

/// What the definition of `example`'s type calls the member at this address: both compilers end the description of the
/// argument with it ("… = &example.width]", "… = (& example<Params>.Params::width); …]").
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

}  // namespace detail

/// f(name, member) for each member of a plain struct, in order.
template <class T, class F>
constexpr void for_each_member(const T& object, const F& f) {
  [[maybe_unused]] static constexpr auto names = detail::names_of_members<T>();
  const auto& [... members] = object;
  [[maybe_unused]] std::size_t next = 0;
  (f(names[next++], members), ...);
}

}  // namespace weft
