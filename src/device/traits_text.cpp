#include "device/traits_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <variant>

#include "base/format.hpp"
#include "base/number.hpp"

namespace weft {
namespace {

using Member = std::variant<bool Traits::*, std::uint32_t Traits::*, std::uint64_t Traits::*,
                            double Traits::*>;

/// A trait and the most that a file may say about it: more than any device has, and not so much
/// that plans would ask for what nobody can give.
struct Row {
  std::string_view name;
  Member member;
  double most = std::numeric_limits<std::uint32_t>::max();
};

constexpr std::array<Row, 22> rows{{
    {"processors", &Traits::processors, 0x1p16},
    {"overlaps", &Traits::overlaps},
    {"slow_barriers", &Traits::slow_barriers},
    {"slow_compile", &Traits::slow_compile},
    {"slow_scatter", &Traits::slow_scatter},
    {"near_memory", &Traits::near_memory},
    {"matrix_units", &Traits::matrix_units},
    {"items", &Traits::items, 16},
    {"launch_bytes", &Traits::launch_bytes, 0x1p48},
    {"memory_rate", &Traits::memory_rate, 1e6},
    {"cache_bytes", &Traits::cache_bytes, 0x1p48},
    {"f16_rate", &Traits::f16_rate, 1000},
    {"matrix_rate", &Traits::matrix_rate, 1e6},
    {"registers", &Traits::registers, 0x1p16},
    {"gemm_tile", &Traits::gemm_tile},
    {"matrix_tile", &Traits::matrix_tile},
    {"vector_tile", &Traits::vector_tile},
    {"quantized_tile", &Traits::quantized_tile},
    {"few_tile", &Traits::few_tile},
    {"attention_tile", &Traits::attention_tile},
    {"reduce_tile", &Traits::reduce_tile},
    {"conv_tile", &Traits::conv_tile},
}};

/// Sets a member if `value` is a number that it can hold.
struct Set {
  Traits& traits;
  double value;
  bool operator()(bool Traits::* member) const {
    traits.*member = value != 0;
    return value == 0 || value == 1;
  }
  bool operator()(double Traits::* member) const {
    traits.*member = value;
    return std::isfinite(value) && value > 0;
  }
  template <class T>
  bool operator()(T Traits::* member) const {
    if (!(value >= 0)) return false;
    traits.*member = static_cast<T>(value);
    return static_cast<double>(traits.*member) == value;
  }
};

}  // namespace

std::vector<std::pair<std::string_view, double>> values_of(const Traits& traits) {
  std::vector<std::pair<std::string_view, double>> values;
  for (const auto& [name, member, most] : rows) {
    values.emplace_back(
        name, std::visit([&traits](auto m) { return static_cast<double>(traits.*m); }, member));
  }
  return values;
}

std::string text_of(const Traits& traits) {
  std::string text;
  for (const auto& [name, value] : values_of(traits)) {
    text += formatted("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

Result<Traits> parse_traits(std::string_view text, Traits traits) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::optional<double> value =
        parse_number(word.substr(std::min(equals + 1, word.size())));
    bool known = false;
    bool good = equals < word.size() && value;
    for (const auto& [name, member, most] : rows) {
      if (name != word.substr(0, equals)) continue;
      known = true;
      if (good && value && *value > most) {
        return fail(ErrorCode::invalid_argument, "\"{}\" is more than any device has: {} at most.",
                    word, most);
      }
      good = good && value && std::visit(Set{traits, *value}, member);
    }
    if (!known || !good) {
      return fail(ErrorCode::invalid_argument,
                  "\"{}\" is no trait of a device with its value, as in \"{}\".", word,
                  text_of(Traits{}));
    }
  }
  if (traits.processors == 0 || traits.items == 0) {
    return fail(ErrorCode::invalid_argument,
                "A device has at least one processor and one item per invocation; given were {} "
                "and {}.",
                traits.processors, traits.items);
  }
  return traits;
}

}  // namespace weft
