#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "array.hpp"

// Arguments of Python as those of the library. What does not fit is an exception that names the
// function and the argument.

namespace weft::python {

/// Where an argument stands, for messages.
struct Place {
  const char* function;
  const char* argument;
};

/// Functions of the Python part, which it hands over when it is imported.
struct Hooks {
  nb::object array;           ///< Anything as a Tensor.
  nb::object dtype;           ///< Anything as a dtype.
  nb::object default_device;  ///< The device that is used where none is named.
};
Hooks& hooks();

/// Python's own numbers, which take the type of the tensor beside them.
bool is_number(nb::handle value);

Tensor tensor_of(nb::handle value, Place place);
/// The same, but what is no tensor yet becomes one on a device that is not the default one.
Tensor tensor_beside(nb::handle value, const Device* device, Place place);
Tensor tensor_or_none(nb::handle value, Place place);
std::vector<Tensor> tensors_of(nb::handle value, Place place);
Device device_of(nb::handle value, Place place);
DType dtype_of(nb::handle value, Place place);

std::int64_t whole_of(nb::handle value, Place place, std::int64_t least, std::int64_t most);
int int_of(nb::handle value, Place place);
std::uint64_t count_of(nb::handle value, Place place);
std::uint64_t word_of(nb::handle value, Place place);
double number_of(nb::handle value, Place place);
bool bool_of(nb::handle value, Place place);
std::string text_of(nb::handle value, Place place);
/// A name or a text of a file, which may be any bytes: those that are no UTF-8 become `\\xff`.
nb::str text_from_file(std::string_view bytes);

/// A shape: one number, or several.
Shape shape_of(nb::handle value, Place place);
/// Axes: None is none of them, a number is one.
std::vector<int> axes_of(nb::handle value, Place place);
std::vector<std::int64_t> wholes_of(nb::handle value, Place place);
std::vector<std::uint64_t> counts_of(nb::handle value, Place place);
std::vector<std::uint32_t> words_of(nb::handle value, Place place);
std::array<double, 4> numbers4_of(nb::handle value, Place place);
std::array<std::uint32_t, 4> words4_of(nb::handle value, Place place);

/// An enumerator by its name; `names` in the order of the enum.
int choice_of(nb::handle value, Place place, std::initializer_list<const char*> names);

/// The numbers that an argument may be, as description/*.toml has them. `above` and `below` leave
/// out the ends themselves.
struct Range {
  double low = 0;
  double high = 0;
  bool above = false;
  bool below = false;
  const char* text = "";
};
inline constexpr double infinite = std::numeric_limits<double>::infinity();

[[noreturn]] void raise_outside(nb::object value, Place place, const Range& range);

/// A number of the range; NaN is in none.
template <class T>
T in_range(T value, Place place, const Range& range) {
  const auto number = static_cast<double>(value);
  const bool low = range.above ? number > range.low : number >= range.low;
  const bool high = range.below ? number < range.high : number <= range.high;
  if (!low || !high) raise_outside(nb::cast(value), place, range);
  return value;
}

/// One of the words that a text may be.
std::string one_of(std::string value, Place place, std::initializer_list<const char*> words);

/// A number of Python as a float; one that no float holds is an error in the words of `function`.
double float_beside(nb::handle value, const char* function);

/// A number as a tensor without dimensions, in the type it has beside elements of `beside`
/// (docs/types.md).
Tensor number_beside(nb::handle value, const Device& device, DType beside, Place place);

/// The operands of an elementwise function: Python's numbers take the type of the tensors beside
/// them.
std::vector<Tensor> operands_of(std::initializer_list<nb::handle> values, const char* function);

/// `std::nullopt` for None.
template <class Convert>
auto maybe(nb::handle value, Place place, const Convert& convert)
    -> std::optional<decltype(convert(value, place))> {
  if (value.is_none()) return std::nullopt;
  return convert(value, place);
}

/// What Python gets.
/// Python objects that the library keeps: let go of with the interpreter's lock held, or not at all
/// after it has ended.
std::shared_ptr<nb::object> kept(nb::object function);

inline Array wrap(Tensor tensor) { return {std::move(tensor)}; }
nb::object wrap_or_none(Tensor tensor);
nb::list wrap_all(const std::vector<Tensor>& tensors);

/// Exceptions of Python with a sentence.
[[noreturn]] void raise_type(const std::string& sentence);
[[noreturn]] void raise_value(const std::string& sentence);
[[noreturn]] void raise_overflow(const std::string& sentence);

}  // namespace weft::python
