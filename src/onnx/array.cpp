#include "onnx/array.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.hpp"
#include "onnx/small_floats.hpp"

namespace weft::onnx {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Calls `each` with the elements, as they are for integers and as double for floats. What is read
/// here is used with the places of a shape, so an array that has no numbers must not pass for an
/// empty one.
template <class Each>
void walk(const Array& a, Each each) {
  if (!has_numbers(a.type)) {
    throw Error(ErrorCode::invalid_argument,
                formatted("{}{} has no numbers.", name(a.type), text_of(a.shape)));
  }
  const std::size_t step = size_of(a.type);
  const std::size_t count = a.bytes.size() / step;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* at = a.bytes.data() + i * step;
    switch (a.type) {
      case Type::f32: each(static_cast<double>(load<float>(at))); break;
      case Type::f64: each(load<double>(at)); break;
      case Type::f16: each(static_cast<double>(f32_from_f16(load<std::uint16_t>(at)))); break;
      case Type::bf16: each(static_cast<double>(f32_from_bf16(load<std::uint16_t>(at)))); break;
      case Type::i8: each(static_cast<std::int64_t>(load<std::int8_t>(at))); break;
      case Type::i16: each(static_cast<std::int64_t>(load<std::int16_t>(at))); break;
      case Type::i32: each(static_cast<std::int64_t>(load<std::int32_t>(at))); break;
      case Type::i64:
      case Type::u64: each(load<std::int64_t>(at)); break;
      case Type::u16: each(static_cast<std::int64_t>(load<std::uint16_t>(at))); break;
      case Type::u32: each(static_cast<std::int64_t>(load<std::uint32_t>(at))); break;
      case Type::i4:
      case Type::i2: each(static_cast<std::int64_t>(load<std::int8_t>(at))); break;
      case Type::boolean: each(static_cast<std::int64_t>(load<std::uint8_t>(at) != 0)); break;
      case Type::u8:
      case Type::u4:
      case Type::u2: each(static_cast<std::int64_t>(load<std::uint8_t>(at))); break;
      default: each(small_float(a.type, load<std::uint8_t>(at))); break;
    }
  }
}

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void put_int(Type type, std::byte* at, std::int64_t v) {
  switch (size_of(type)) {
    case 1:
      if (type == Type::boolean) return put(at, static_cast<std::uint8_t>(v != 0));
      if (type == Type::u4) v &= 15;
      if (type == Type::u2) v &= 3;
      if (type == Type::i4) v = ((v & 15) ^ 8) - 8;
      if (type == Type::i2) v = ((v & 3) ^ 2) - 2;
      return put(at, static_cast<std::uint8_t>(static_cast<std::uint64_t>(v)));
    case 2: return put(at, static_cast<std::uint16_t>(static_cast<std::uint64_t>(v)));
    case 4: return put(at, static_cast<std::uint32_t>(static_cast<std::uint64_t>(v)));
    default: return put(at, v);
  }
}

std::int64_t whole(double v) {
  if (std::isnan(v)) return 0;
  if (v >= 9.2233720368547758e18) return std::numeric_limits<std::int64_t>::max();
  if (v <= -9.2233720368547758e18) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(v);
}

void put_float(Type type, std::byte* at, double v, bool saturate) {
  switch (type) {
    case Type::f32: return put(at, static_cast<float>(v));
    case Type::f64: return put(at, v);
    case Type::f16: return put(at, f16_bits(static_cast<float>(v)));
    case Type::bf16: return put(at, bf16_bits(static_cast<float>(v)));
    case Type::u64:
      return put(at, v >= 9.2233720368547758e18
                         ? static_cast<std::uint64_t>(std::min(v, 1.8446744073709550e19))
                         : static_cast<std::uint64_t>(whole(v)));
    default:
      if (is_integer(type) || type == Type::boolean)
        return put_int(type, at,
                       type == Type::boolean ? static_cast<std::int64_t>(v != 0) : whole(v));
      return put(at, small_float_bits(type, static_cast<float>(v), saturate));
  }
}

Array made(Type type, Shape shape, std::size_t count) {
  if (!has_numbers(type)) {
    throw Error(ErrorCode::unsupported, formatted("Numbers cannot be elements of {}.", name(type)));
  }
  std::uint64_t wanted = 1;
  for (const std::uint64_t extent : shape) wanted *= extent;
  if (wanted != count) {
    throw Error(ErrorCode::invalid_argument,
                formatted("{} elements do not fill {}.", count, text_of(shape)));
  }
  const auto owner = std::make_shared<std::vector<std::byte>>(count * size_of(type));
  Array out{.type = type, .shape = std::move(shape), .bytes = *owner, .keep = owner, .strings = {}};
  return out;
}

std::byte* writable(const Array& array) {
  return const_cast<std::byte*>(array.bytes.data());
}  // NOLINT: just made, and not shared yet

}  // namespace

std::uint64_t Array::size() const {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

std::vector<std::int64_t> Array::ints() const {
  std::vector<std::int64_t> out;
  walk(*this, [&](auto value) {
    if constexpr (std::same_as<decltype(value), double>)
      out.push_back(whole(value));
    else
      out.push_back(value);
  });
  return out;
}

std::vector<double> Array::doubles() const {
  std::vector<double> out;
  walk(*this, [&](auto value) {
    if constexpr (std::same_as<decltype(value), double>)
      out.push_back(value);
    else
      out.push_back(type == Type::u64 ? static_cast<double>(static_cast<std::uint64_t>(value))
                                      : static_cast<double>(value));
  });
  return out;
}

std::size_t size_of(Type type) {
  switch (type) {
    case Type::none:
    case Type::string: return 0;
    case Type::f32:
    case Type::i32:
    case Type::u32: return 4;
    case Type::f64:
    case Type::i64:
    case Type::u64:
    case Type::c64: return 8;
    case Type::c128: return 16;
    case Type::u16:
    case Type::i16:
    case Type::f16:
    case Type::bf16: return 2;
    default: return 1;
  }
}

bool has_numbers(Type type) {
  const auto number = static_cast<unsigned>(type);
  return number != 0 && number <= last_type && type != Type::string && type != Type::c64 &&
         type != Type::c128;
}

bool is_float(Type type) {
  return type == Type::f32 || type == Type::f16 || type == Type::bf16 || type == Type::f64;
}

bool is_integer(Type type) {
  switch (type) {
    case Type::u8:
    case Type::i8:
    case Type::u16:
    case Type::i16:
    case Type::i32:
    case Type::i64:
    case Type::u32:
    case Type::u64:
    case Type::u4:
    case Type::i4:
    case Type::u2:
    case Type::i2: return true;
    default: return false;
  }
}

Array array_of(Type type, Shape shape, std::span<const std::int64_t> values) {
  Array out = made(type, std::move(shape), values.size());
  std::byte* at = writable(out);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_integer(type) || type == Type::boolean)
      put_int(type, at + i * size_of(type), values[i]);
    else
      put_float(type, at + i * size_of(type), static_cast<double>(values[i]), true);
  }
  return out;
}

Array array_of(Type type, Shape shape, std::span<const double> values) {
  Array out = made(type, std::move(shape), values.size());
  std::byte* at = writable(out);
  for (std::size_t i = 0; i < values.size(); ++i)
    put_float(type, at + i * size_of(type), values[i], true);
  return out;
}

Array converted(const Array& array, Type type, bool saturate) {
  if (array.type == type) return array;
  const bool whole_numbers = is_integer(array.type) || array.type == Type::boolean;
  if (whole_numbers && array.type != Type::u64) return array_of(type, array.shape, array.ints());
  if (whole_numbers && is_integer(type)) return array_of(type, array.shape, array.ints());
  const std::vector<double> values = array.doubles();
  Array out = made(type, array.shape, values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    put_float(type, writable(out) + i * size_of(type), values[i], saturate);
  return out;
}

std::optional<DType> dtype_of(Type type) {
  switch (type) {
    case Type::f32: return DType::f32;
    case Type::f16: return DType::f16;
    case Type::bf16: return DType::bf16;
    case Type::i32: return DType::i32;
    case Type::u32: return DType::u32;
    case Type::i64: return DType::i64;
    case Type::i16: return DType::i16;
    case Type::i8: return DType::i8;
    case Type::u8: return DType::u8;
    case Type::boolean: return DType::boolean;
    default: return std::nullopt;
  }
}

Type type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return Type::f32;
    case DType::f16: return Type::f16;
    case DType::bf16: return Type::bf16;
    case DType::i32: return Type::i32;
    case DType::u32: return Type::u32;
    case DType::i64: return Type::i64;
    case DType::i16: return Type::i16;
    case DType::i8: return Type::i8;
    case DType::u8: return Type::u8;
    case DType::boolean: return Type::boolean;
    default: return Type::none;
  }
}

std::string text_of(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    out += (i == 0 ? "" : ",") + std::to_string(shape[i]);
  return out + "]";
}

}  // namespace weft::onnx
