#include "convert.hpp"

#include <nanobind/stl/string.h>
#include <pthread.h>

#include <cmath>
#include <limits>
#include <string_view>

namespace weft::python {
namespace {

std::string text(const std::string_view& piece) { return std::string(piece); }

/// "axis of sum()".
std::string name_of(Place place) {
  return text("`") + place.argument + "` of " + place.function + "()";
}

std::string kind_name(nb::handle value) {
  return nb::cast<std::string>(nb::str(nb::handle(value.type()).attr("__name__")));
}

std::string shown(nb::handle value) { return nb::cast<std::string>(nb::repr(value)); }

/// The items of a tuple, a list or anything else that can be gone through, but not the characters
/// of a text.
nb::object items_of(nb::handle value, Place place) {
  if (nb::isinstance<nb::str>(value)) raise_type(name_of(place) + " is a str; a list is needed.");
  PyObject* items = PySequence_Tuple(value.ptr());
  if (items == nullptr) {
    PyErr_Clear();
    raise_type(name_of(place) + " is a " + kind_name(value) + "; a tuple or a list is needed.");
  }
  return nb::steal(items);
}

/// What a function of the Python part makes of a value. What it does not take is an error that
/// names the argument, too.
nb::object made_by(const nb::object& hook, nb::handle value, Place place,
                   const Device* device = nullptr) {
  try {
    return device != nullptr ? hook(value, nb::arg("device") = *device) : hook(value);
  } catch (nb::python_error& error) {
    for (PyObject* kind : {PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError}) {
      if (nb::handle(error.type()).ptr() != kind) continue;
      const std::string said = nb::cast<std::string>(nb::str(error.value()));
      PyErr_SetString(kind, (name_of(place) + ": " + said).c_str());
      throw nb::python_error();
    }
    throw;
  }
}

template <class Item, class Convert>
std::vector<Item> list_of(nb::handle value, Place place, const Convert& convert) {
  std::vector<Item> out;
  const nb::object items = items_of(value, place);
  for (const nb::handle item : items) out.push_back(static_cast<Item>(convert(item, place)));
  return out;
}

constexpr std::int64_t most_i64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least_i64 = std::numeric_limits<std::int64_t>::min();

/// The range of an integer type.
std::pair<std::int64_t, std::int64_t> range_of(DType type) {
  switch (type) {
    case DType::boolean: return {0, 1};
    case DType::u8: return {0, 255};
    case DType::i8: return {-128, 127};
    case DType::i16: return {-32768, 32767};
    case DType::i32: return {-2147483648LL, 2147483647};
    case DType::u32: return {0, 4294967295LL};
    default: return {least_i64, most_i64};
  }
}

/// The largest number of a float type, and what rounds to it at most.
double most_of(DType type) {
  if (type == DType::f16) return 65519.99;
  return type == DType::bf16 ? 0x1.fefffp127 : 0x1.fffffefp127;
}

}  // namespace

void raise_type(const std::string& sentence) { throw nb::type_error(sentence.c_str()); }
void raise_value(const std::string& sentence) { throw nb::value_error(sentence.c_str()); }
void raise_overflow(const std::string& sentence) {
  PyErr_SetString(PyExc_OverflowError, sentence.c_str());
  throw nb::python_error();
}

Call::Call() {
  if (torn_by_fork) {
    throw Error(ErrorCode::invalid_argument,
                "This process is a fork of one in which another thread was using Weft at that "
                "moment, so that nothing can be computed here; "
                "multiprocessing.set_start_method('spawn') makes processes without a fork.");
  }
  ++under_way;
}

void Call::watch_forks() {
  ::pthread_atfork(nullptr, nullptr, [] { torn_by_fork = under_way > 0; });
}

std::recursive_mutex& Building::mutex() {
  static auto* one = new std::recursive_mutex;  // never freed: threads may outlive the module
  return *one;
}

Hooks& hooks() {
  static auto* one = new Hooks;  // never freed: the interpreter is gone before
  return *one;
}

bool is_number(nb::handle value) {
  return PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr());  // bool is a kind of int
}

Tensor tensor_beside(nb::handle value, const Device* device, Place place) {
  if (Array* array = nullptr; nb::try_cast(value, array, false) && array != nullptr)
    return array->now;
  if (value.is_none()) raise_type(name_of(place) + " is None; a tensor is needed.");
  if (nb::isinstance<nb::str>(value) || nb::isinstance<nb::bytes>(value)) {
    raise_type(name_of(place) + " is " + shown(value) +
               "; a tensor is needed, or numbers that one can be made of.");
  }
  const nb::object made = made_by(hooks().array, value, place, device);
  return nb::cast<Array&>(made).now;
}

Tensor tensor_of(nb::handle value, Place place) { return tensor_beside(value, nullptr, place); }

Tensor tensor_or_none(nb::handle value, Place place) {
  return value.is_none() ? Tensor() : tensor_of(value, place);
}

std::vector<Tensor> tensors_of(nb::handle value, Place place) {
  return list_of<Tensor>(value, place, tensor_of);
}

Device device_of(nb::handle value, Place place) {
  const nb::object given = value.is_none() ? hooks().default_device() : nb::borrow(value);
  if (Device* device = nullptr; nb::try_cast(given, device, false) && device != nullptr)
    return *device;
  raise_type(name_of(place) + " is a " + kind_name(value) + "; a weft.Device is needed.");
}

DType dtype_of(nb::handle value, Place place) {
  if (Dtype* type = nullptr; nb::try_cast(value, type, false) && type != nullptr)
    return type->value;
  return nb::cast<Dtype&>(made_by(hooks().dtype, value, place)).value;
}

std::int64_t whole_of(nb::handle value, Place place, std::int64_t least, std::int64_t most) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    raise_type(name_of(place) + " is " + shown(value) + "; a whole number is needed.");
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || number < least || number > most) {
    raise_value(name_of(place) + " is " + shown(value) + "; it must lie between " +
                std::to_string(least) + " and " + std::to_string(most) + ".");
  }
  return number;
}

int int_of(nb::handle value, Place place) {
  return static_cast<int>(
      whole_of(value, place, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

std::uint64_t count_of(nb::handle value, Place place) {
  return static_cast<std::uint64_t>(whole_of(value, place, 0, most_i64));
}

std::uint64_t word_of(nb::handle value, Place place) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  const unsigned long long number =
      index.is_valid() ? PyLong_AsUnsignedLongLong(index.ptr()) : ~0ULL;
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise_value(name_of(place) + " is " + shown(value) +
                "; a whole number from 0 to 18446744073709551615 is needed.");
  }
  return number;
}

double number_of(nb::handle value, Place place) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise_type(name_of(place) + " is " + shown(value) + "; a number is needed.");
  }
  return number;
}

bool bool_of(nb::handle value, Place place) {
  const int truth = PyObject_IsTrue(value.ptr());
  if (truth < 0) {
    PyErr_Clear();
    raise_type(name_of(place) + " is " + shown(value) + "; True or False is needed.");
  }
  return truth != 0;
}

nb::str text_from_file(std::string_view bytes) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(
      bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

std::string text_of(nb::handle value, Place place) {
  if (!nb::isinstance<nb::str>(value)) {
    raise_type(name_of(place) + " is a " + kind_name(value) + "; a str is needed.");
  }
  return nb::cast<std::string>(value);
}

namespace {

/// Whether something is asked as one whole number: arrays and tensors can be asked that too, but
/// those with dimensions are lists.
bool is_one_number(nb::handle value) {
  if (PyIndex_Check(value.ptr()) == 0) return false;
  const nb::object dimensions = nb::getattr(value, "ndim", nb::none());
  return dimensions.is_none() || nb::cast<int>(dimensions) == 0;
}

}  // namespace

Shape shape_of(nb::handle value, Place place) {
  if (is_one_number(value)) return {count_of(value, place)};
  return list_of<std::uint64_t>(value, place, count_of);
}

std::vector<int> axes_of(nb::handle value, Place place) {
  if (value.is_none()) return {};
  if (is_one_number(value)) return {int_of(value, place)};
  std::vector<int> axes = list_of<int>(value, place, int_of);
  if (axes.empty())
    raise_value(name_of(place) + " is empty; leave it out, or say None, for all axes.");
  return axes;
}

std::vector<std::int64_t> wholes_of(nb::handle value, Place place) {
  if (is_one_number(value)) return {whole_of(value, place, least_i64, most_i64)};
  return list_of<std::int64_t>(value, place, [](nb::handle item, Place where) {
    return whole_of(item, where, least_i64, most_i64);
  });
}

std::vector<std::uint64_t> counts_of(nb::handle value, Place place) {
  return shape_of(value, place);
}

std::vector<std::uint32_t> words_of(nb::handle value, Place place) {
  return list_of<std::uint32_t>(value, place, [](nb::handle item, Place where) {
    return whole_of(item, where, 0, 4294967295LL);
  });
}

namespace {

template <class T, class Convert>
std::array<T, 4> four_of(nb::handle value, Place place, const Convert& convert) {
  std::array<T, 4> out{};
  if (value.is_none()) return out;
  const std::vector<T> given = list_of<T>(value, place, convert);
  if (given.size() > out.size()) {
    raise_value(name_of(place) + " has " + std::to_string(given.size()) +
                " numbers; there are at most 4.");
  }
  for (std::size_t i = 0; i < given.size(); ++i) out[i] = given[i];
  return out;
}

}  // namespace

std::array<double, 4> numbers4_of(nb::handle value, Place place) {
  return four_of<double>(value, place, number_of);
}

std::array<std::uint32_t, 4> words4_of(nb::handle value, Place place) {
  return four_of<std::uint32_t>(value, place, [](nb::handle item, Place where) {
    return whole_of(item, where, 0, 4294967295LL);
  });
}

namespace {

/// The number of a word among `words`.
int find_word(const std::string& given, Place place, std::initializer_list<const char*> words) {
  int number = 0;
  std::string all;
  for (const char* word : words) {
    if (given == word) return number;
    all += (number == 0 ? "'" : ", '") + text(word) + "'";
    ++number;
  }
  raise_value(name_of(place) + " is '" + given + "'; there are " + all + ".");
}

}  // namespace

int choice_of(nb::handle value, Place place, std::initializer_list<const char*> names) {
  return find_word(text_of(value, place), place, names);
}

std::string one_of(std::string value, Place place, std::initializer_list<const char*> words) {
  find_word(value, place, words);
  return value;
}

void raise_outside(nb::object value, Place place, const Range& range) {
  raise_value(name_of(place) + " is " + shown(value) + "; it must be in " + range.text + ".");
}

double float_beside(nb::handle value, const char* function) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise_overflow(text(function) + "(): a whole number is too large for every float.");
  }
  return number;
}

Tensor number_beside(nb::handle value, const Device& device, DType beside, Place place) {
  if (PyBool_Check(value.ptr())) {
    return device.full({}, value.ptr() == Py_True ? 1 : 0, beside, nowhere);
  }
  if (PyFloat_Check(value.ptr()) || is_float(beside) || is_quantized(beside)) {
    double number = float_beside(value, place.function);
    const DType type = is_float(beside) ? beside : DType::f32;
    if (std::isfinite(number) && std::abs(number) > most_of(type)) {
      number = std::copysign(std::numeric_limits<double>::infinity(), number);
    }
    return device.full({}, number, type, nowhere);
  }
  const DType type = beside == DType::boolean ? DType::i32 : beside;
  const auto [least, most] = range_of(type);
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0 || number < least || number > most) {
    raise_overflow(text(place.function) + "(): the number " + shown(value) +
                   " is out of the range of " + text(name(type)) + ".");
  }
  constexpr std::int64_t exact = 1LL << 53;  // of doubles
  if (number > -exact && number < exact) {
    return device.full({}, static_cast<double>(number), type, nowhere);
  }
  const std::int64_t wide = number;
  return device.tensor(DType::i64, {}, std::as_bytes(std::span(&wide, 1)));
}

namespace {

/// Where the first tensor among some values lies: what becomes a tensor beside it goes there.
std::optional<Device> device_of_tensors(std::initializer_list<nb::handle> values) {
  for (const nb::handle value : values) {
    if (Array* array = nullptr; nb::try_cast(value, array, false) && array != nullptr)
      return array->now.device();
  }
  return std::nullopt;
}

Tensor operand_of(nb::handle value, std::initializer_list<nb::handle> values,
                  const char* function) {
  if (Array* array = nullptr; nb::try_cast(value, array, false) && array != nullptr)
    return array->now;
  const std::optional<Device> device = device_of_tensors(values);
  return tensor_beside(value, device ? &*device : nullptr, {function, "x"});
}

}  // namespace

std::vector<Tensor> operands_of(std::initializer_list<nb::handle> values, const char* function) {
  std::vector<Tensor> out(values.size());
  bool any = false;
  DType common = DType::boolean;
  std::size_t first = 0;
  std::size_t i = 0;
  for (const nb::handle value : values) {
    if (!is_number(value)) {
      out[i] = operand_of(value, values, function);
      common = any ? promote(common, out[i].dtype()) : out[i].dtype();
      first = any ? first : i;
      any = true;
    }
    ++i;
  }
  i = 0;
  for (const nb::handle value : values) {
    if (!out[i]) {
      out[i] = any ? number_beside(value, out[first].device(), common, {function, "x"})
                   : tensor_of(value, {function, "x"});
    }
    ++i;
  }
  return out;
}

nb::object wrap_or_none(Tensor tensor) {
  return tensor ? nb::cast(wrap(std::move(tensor))) : nb::none();
}

nb::list wrap_all(const std::vector<Tensor>& tensors) {
  nb::list out;
  for (const Tensor& tensor : tensors) out.append(wrap(tensor));
  return out;
}

}  // namespace weft::python
