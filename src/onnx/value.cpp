#include "onnx/value.hpp"

#include <cstring>
#include <optional>

#include "onnx/array_file.hpp"
#include "weft/recover.hpp"

namespace weft::onnx {

struct Value::State {
  std::optional<Array> array;
  Tensor tensor;
  Type type = Type::none;
  Shape shape;
  bool is_sequence = false;
  std::vector<Value> values;
};

Value::Value(Array array) : state_(std::make_shared<State>()) {
  state_->type = array.type;
  state_->shape = array.shape;
  state_->array = std::move(array);
}

Value::Value(const Tensor& tensor) : state_(std::make_shared<State>()) {
  state_->tensor = tensor;
  state_->type = type_of(tensor.dtype());
  state_->shape = tensor.shape();
}

Value Value::sequence(std::vector<Value> values) {
  Value out;
  out.state_ = std::make_shared<State>();
  out.state_->is_sequence = true;
  out.state_->values = std::move(values);
  return out;
}

bool Value::is_sequence() const { return state_ && state_->is_sequence; }

const std::vector<Value>& Value::values() const {
  if (!is_sequence())
    throw Error(ErrorCode::invalid_argument, formatted("{} is not a sequence.", describe(*this)));
  return state_->values;
}

const Shape& Value::shape() const {
  if (!exists() || is_sequence())
    throw Error(ErrorCode::invalid_argument, formatted("{} has no shape.", describe(*this)));
  return state_->shape;
}

Type Value::type() const {
  if (!exists() || is_sequence())
    throw Error(ErrorCode::invalid_argument, formatted("{} has no element type.", describe(*this)));
  return state_->type;
}

std::uint64_t Value::size() const {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape()) count *= extent;
  return count;
}

const Array* Value::known() const { return exists() && state_->array ? &*state_->array : nullptr; }

namespace {

template <class T>
Array read_as(const Tensor& tensor, Type type) {
  const auto values = std::make_shared<std::vector<T>>(tensor.to_vector<T>());
  return {.type = type,
          .shape = tensor.shape(),
          .bytes = std::as_bytes(std::span(*values)),
          .keep = values,
          .strings = {}};
}

Array elements_of(const Tensor& tensor, Type type) {
  switch (type) {
    case Type::f32: return read_as<float>(tensor, type);
    case Type::i32: return read_as<std::int32_t>(tensor, type);
    case Type::u32: return read_as<std::uint32_t>(tensor, type);
    case Type::i64: return read_as<std::int64_t>(tensor, type);
    case Type::i16: return read_as<std::int16_t>(tensor, type);
    case Type::i8: return read_as<std::int8_t>(tensor, type);
    case Type::u8:
    case Type::boolean: return read_as<std::uint8_t>(tensor, type);
    default: return converted(read_as<float>(tensor, Type::f32), type);
  }
}

}  // namespace

const Array& Value::read() const {
  if (!exists() || is_sequence())
    throw Error(ErrorCode::invalid_argument, formatted("{} has no elements.", describe(*this)));
  if (!state_->array) state_->array = elements_of(state_->tensor, state_->type);
  return *state_->array;
}

Tensor Value::on(const Device& device) const {
  if (!exists() || is_sequence())
    throw Error(ErrorCode::invalid_argument, formatted("{} is not a tensor.", describe(*this)));
  if (!state_->tensor) {
    const auto dtype = dtype_of(state_->type);
    const auto& array = state_->array;
    if (!dtype || !array)
      throw Error(
          ErrorCode::unsupported,
          formatted("Elements of {} are known to the host alone; devices have no such type.",
                    name(state_->type)));
    const auto check = [](const Array& elements) {
      if (const Status ok = check_unchanged(elements); !ok)
        throw Error(ok.error().code, ok.error().message);
    };
    check(*array);
    state_->tensor = device.tensor(*dtype, state_->shape, array->bytes);
    // The host has the elements in any case, so they come back when the device is lost.
    keep(state_->tensor, [elements = *array, check] {
      check(elements);
      std::vector<std::byte> bytes(elements.bytes.begin(), elements.bytes.end());
      if (elements.type == Type::boolean) {
        for (std::byte& byte : bytes) byte = byte == std::byte{0} ? byte : std::byte{1};
      }
      return bytes;
    });
  }
  return state_->tensor;
}

std::string describe(const Value& value) {
  if (!value.exists()) return "nothing";
  if (value.is_sequence()) return formatted("a sequence of {}", value.values().size());
  return name(value.type()) + text_of(value.shape());
}

}  // namespace weft::onnx
