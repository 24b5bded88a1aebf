#include "onnx/proto.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "onnx/wire.hpp"

namespace weft::onnx {
namespace {

constexpr int deepest = 48;  // graphs inside of graphs, types inside of types

std::string text_of(Wire& wire, const Field& field, const char* what) {
  if (!wire.expect(field, 2, what)) return {};
  std::string text(field.bytes.size(), '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(field.bytes[i]);
  return text;
}

/// The same for what messages and other interfaces show: a text that ends at its first byte 0 would
/// be another one there.
std::string name_in(Wire& wire, const Field& field, const char* what) {
  std::string text = text_of(wire, field, what);
  if (text.contains('\0')) wire.fail_at(field.at, formatted("{} has a byte 0.", what));
  return text;
}

/// Adds numbers of a field that may be packed; `add` takes the 64 bits of each.
template <class Add>
void numbers(Wire& wire, const Field& field, std::uint32_t width, const char* what, Add add) {
  if (field.wire == width) {
    add(field.value);
    return;
  }
  if (!wire.expect(field, 2, what)) return;
  std::span<const std::byte> rest = field.bytes;
  if (width == 0) {
    while (!rest.empty()) {
      const auto value = Wire::varint(rest);
      if (!value)
        return wire.fail_at(field.at + (field.bytes.size() - rest.size()),
                            formatted("a number of {} does not end.", what));
      add(*value);
    }
    return;
  }
  const std::size_t size = width == 1 ? 8 : 4;
  if (rest.size() % size != 0)
    return wire.fail_at(
        field.at, formatted("{} has {} bytes, not a multiple of {}.", what, rest.size(), size));
  for (std::size_t at = 0; at < rest.size(); at += size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value |= std::to_integer<std::uint64_t>(rest[at + i]) << (8 * i);
    add(value);
  }
}

/// Numbers of a tensor, kept as bytes of one width.
void elements(Wire& wire, const Field& field, std::uint32_t from, std::uint32_t width,
              const char* what, TensorProto& tensor) {
  if (tensor.packed_width != 0 && tensor.packed_width != width)
    return wire.fail_at(field.at, formatted("{} follows numbers of another width.", what));
  tensor.packed_width = width;
  numbers(wire, field, from, what, [&](std::uint64_t value) {
    for (std::uint32_t i = 0; i < width; ++i)
      tensor.packed.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xffU));
  });
}

void read(Wire wire, TensorProto& out) {
  while (const auto field = wire.next()) {
    switch (field->number) {
      case 1:
        numbers(wire, *field, 0, "dims",
                [&](std::uint64_t v) { out.dims.push_back(std::bit_cast<std::int64_t>(v)); });
        break;
      case 2:
        if (!wire.expect(*field, 0, "data_type")) return;
        if (field->value > 255)
          return wire.fail_at(field->at, formatted("there is no element type {}.", field->value));
        out.type = static_cast<Type>(field->value);
        break;
      case 4: elements(wire, *field, 5, 4, "float_data", out); break;
      case 5: elements(wire, *field, 0, 4, "int32_data", out); break;
      case 6: out.strings.push_back(text_of(wire, *field, "string_data")); break;
      case 7: elements(wire, *field, 0, 8, "int64_data", out); break;
      case 8: out.name = name_in(wire, *field, "name"); break;
      case 9:
        if (!wire.expect(*field, 2, "raw_data")) return;
        out.raw = field->bytes;
        out.has_raw = true;
        break;
      case 10: elements(wire, *field, 1, 8, "double_data", out); break;
      case 11: elements(wire, *field, 0, 8, "uint64_data", out); break;
      case 13: {
        if (!wire.expect(*field, 2, "external_data")) return;
        Wire entry = wire.inside(*field);
        std::string key;
        std::string value;
        while (const auto part = entry.next()) {
          if (part->number == 1) key = name_in(entry, *part, "key");
          if (part->number == 2) value = name_in(entry, *part, "value");
        }
        out.external[key] = value;
        break;
      }
      case 14:
        if (!wire.expect(*field, 0, "data_location")) return;
        out.is_external = field->value == 1;
        break;
      default: break;
    }
  }
}

std::shared_ptr<const TensorProto> tensor_in(Wire& wire, const Field& field, const char* what) {
  auto tensor = std::make_shared<TensorProto>();
  if (wire.expect(field, 2, what)) {
    tensor->at = field.at;
    read(wire.inside(field), *tensor);
  }
  return tensor;
}

void read_type(Wire wire, ValueInfo& out, int depth) {
  if (depth > deepest) return wire.fail_at(0, "types lie in types without end.");
  while (const auto field = wire.next()) {
    if (field->number == 6 || field->number == 7) continue;
    if (!wire.expect(*field, 2, "a type")) return;
    const bool outermost = out.kind.empty();
    if (field->number == 1) {
      if (outermost) out.kind = "tensor";
      Wire inner = wire.inside(*field);
      while (const auto part = inner.next()) {
        if (part->number == 1 && inner.expect(*part, 0, "elem_type"))
          out.type = static_cast<Type>(part->value & 0xffU);
        if (part->number != 2 || !inner.expect(*part, 2, "shape")) continue;
        out.shape.emplace();
        Wire dims = inner.inside(*part);
        while (const auto dim = dims.next()) {
          if (dim->number != 1 || !dims.expect(*dim, 2, "dim")) continue;
          Dimension& one = out.shape->emplace_back();
          Wire fields = dims.inside(*dim);
          while (const auto f = fields.next()) {
            if (f->number == 1 && fields.expect(*f, 0, "dim_value"))
              one.value = std::bit_cast<std::int64_t>(f->value);
            if (f->number == 2) one.symbol = name_in(fields, *f, "dim_param");
          }
        }
      }
    } else if (field->number == 4 || field->number == 9) {
      if (outermost)
        out.kind = field->number == 4 ? "sequence" : "optional";
      else
        out.kind += field->number == 4 ? " sequence" : " optional";
      Wire inner = wire.inside(*field);
      while (const auto part = inner.next()) {
        if (part->number == 1 && inner.expect(*part, 2, "elem_type"))
          read_type(inner.inside(*part), out, depth + 1);
      }
    } else {
      out.kind = field->number == 5 ? "map" : "sparse tensor";
    }
  }
}

ValueInfo value_info(Wire wire) {
  ValueInfo out;
  while (const auto field = wire.next()) {
    if (field->number == 1) out.name = name_in(wire, *field, "name");
    if (field->number == 2 && wire.expect(*field, 2, "type"))
      read_type(wire.inside(*field), out, 0);
  }
  return out;
}

void read(Wire wire, GraphProto& out, int depth);

Attribute attribute(Wire wire, int depth) {
  Attribute out;
  while (const auto field = wire.next()) {
    switch (field->number) {
      case 1: out.name = name_in(wire, *field, "name"); break;
      case 2:
        if (wire.expect(*field, 5, "f"))
          out.f = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
        break;
      case 3:
        if (wire.expect(*field, 0, "i")) out.i = std::bit_cast<std::int64_t>(field->value);
        break;
      case 4: out.s = text_of(wire, *field, "s"); break;
      case 5: out.t = tensor_in(wire, *field, "t"); break;
      case 6: {
        if (!wire.expect(*field, 2, "g")) break;
        auto graph = std::make_shared<GraphProto>();
        read(wire.inside(*field), *graph, depth + 1);
        out.g = graph;
        break;
      }
      case 7:
        numbers(wire, *field, 5, "floats", [&](std::uint64_t v) {
          out.floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(v)));
        });
        break;
      case 8:
        numbers(wire, *field, 0, "ints",
                [&](std::uint64_t v) { out.ints.push_back(std::bit_cast<std::int64_t>(v)); });
        break;
      case 9: out.strings.push_back(text_of(wire, *field, "strings")); break;
      case 14:
        if (wire.expect(*field, 2, "tp")) read_type(wire.inside(*field), out.type_proto, 0);
        out.has_type_proto = true;
        break;
      case 20:
        if (wire.expect(*field, 0, "type")) out.type = static_cast<std::uint32_t>(field->value);
        break;
      case 21: out.reference = name_in(wire, *field, "ref_attr_name"); break;
      case 22:
      case 23: out.is_sparse = true; break;
      default: break;
    }
  }
  return out;
}

Node node_in(Wire wire, int depth) {
  Node out;
  while (const auto field = wire.next()) {
    switch (field->number) {
      case 1: out.inputs.push_back(name_in(wire, *field, "input")); break;
      case 2: out.outputs.push_back(name_in(wire, *field, "output")); break;
      case 3: out.name = name_in(wire, *field, "name"); break;
      case 4: out.op = name_in(wire, *field, "op_type"); break;
      case 5:
        if (wire.expect(*field, 2, "attribute"))
          out.attributes.push_back(attribute(wire.inside(*field), depth));
        break;
      case 7: out.domain = name_in(wire, *field, "domain"); break;
      case 8: out.overload = name_in(wire, *field, "overload"); break;
      default: break;
    }
  }
  if (out.domain == "ai.onnx") out.domain.clear();
  return out;
}

void read(Wire wire, GraphProto& out, int depth) {
  if (depth > deepest) return wire.fail_at(0, "graphs lie in graphs without end.");
  while (const auto field = wire.next()) {
    switch (field->number) {
      case 1:
        if (wire.expect(*field, 2, "node"))
          out.nodes.push_back(node_in(wire.inside(*field), depth));
        break;
      case 2: out.name = name_in(wire, *field, "name"); break;
      case 5: out.initializers.push_back(tensor_in(wire, *field, "initializer")); break;
      case 11:
        if (wire.expect(*field, 2, "input")) out.inputs.push_back(value_info(wire.inside(*field)));
        break;
      case 12:
        if (wire.expect(*field, 2, "output"))
          out.outputs.push_back(value_info(wire.inside(*field)));
        break;
      case 15: out.has_sparse = true; break;
      default: break;
    }
  }
}

std::pair<std::string, std::int64_t> opset(Wire wire) {
  std::pair<std::string, std::int64_t> out;
  while (const auto field = wire.next()) {
    if (field->number == 1) out.first = name_in(wire, *field, "domain");
    if (field->number == 2 && wire.expect(*field, 0, "version"))
      out.second = std::bit_cast<std::int64_t>(field->value);
  }
  if (out.first == "ai.onnx") out.first.clear();
  return out;
}

Function function_in(Wire wire) {
  Function out;
  while (const auto field = wire.next()) {
    switch (field->number) {
      case 1: out.name = name_in(wire, *field, "name"); break;
      case 4: out.inputs.push_back(name_in(wire, *field, "input")); break;
      case 5: out.outputs.push_back(name_in(wire, *field, "output")); break;
      case 6: out.attributes.push_back(name_in(wire, *field, "attribute")); break;
      case 7:
        if (wire.expect(*field, 2, "node")) out.nodes.push_back(node_in(wire.inside(*field), 0));
        break;
      case 9:
        if (wire.expect(*field, 2, "opset_import")) out.opsets.insert(opset(wire.inside(*field)));
        break;
      case 10: out.domain = name_in(wire, *field, "domain"); break;
      case 11:
        if (wire.expect(*field, 2, "attribute_proto"))
          out.defaults.push_back(attribute(wire.inside(*field), 0));
        break;
      case 13: out.overload = name_in(wire, *field, "overload"); break;
      default: break;
    }
  }
  if (out.domain == "ai.onnx") out.domain.clear();
  return out;
}

void read_sequence(Wire wire, DataProto& out) {
  while (const auto field = wire.next()) {
    if (field->number == 3) out.tensors.push_back(*tensor_in(wire, *field, "tensor_values"));
    if (field->number > 3)
      wire.fail_at(field->at, "sequences of anything but tensors are not read.");
  }
}

}  // namespace

std::string name(Type type) {
  static constexpr std::array names{
      "no type",    "f32",    "u8",         "i8",  "u16", "i16",    "i32",    "i64",  "string",
      "bool",       "f16",    "f64",        "u32", "u64", "c64",    "c128",   "bf16", "f8e4m3fn",
      "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "u4",  "i4",  "f4e2m1", "f8e8m0", "u2",   "i2"};
  const auto number = static_cast<std::size_t>(type);
  return number < names.size() ? names.at(number) : formatted("type {}", number);
}

namespace {

/// What files that are often taken for models begin with; "" for anything else.
std::string_view other_format(std::span<const std::byte> bytes) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> known{
      {{"version https://git-lfs", "a pointer of Git LFS (git lfs pull gets the file itself)"},
       {"<", "a page of the web, or another text in XML"},
       {"{", "a text in JSON"},
       {"PK\x03\x04", "a ZIP archive, as PyTorch's checkpoints are"},
       {"GGUF", "a GGUF file"},
       {"\x89HDF", "an HDF5 file, as those of Keras are"}}};
  for (const auto& [start, what] : known) {
    const bool same = bytes.size() >= start.size() &&
                      std::ranges::equal(start, bytes.first(start.size()), {},
                                         [](char c) { return static_cast<std::byte>(c); });
    if (same) return what;
  }
  return {};
}

}  // namespace

Result<ModelProto> read_model(std::span<const std::byte> bytes) {
  if (const std::string_view what = other_format(bytes); !what.empty())
    return fail(ErrorCode::invalid_argument, "This is {}, not an ONNX model.", what);
  std::optional<Failure> failure;
  Wire wire(bytes, 0, failure);
  ModelProto out;
  while (const auto field = wire.next()) {
    switch (field->number) {
      case 1:
        if (wire.expect(*field, 0, "ir_version"))
          out.ir_version = std::bit_cast<std::int64_t>(field->value);
        break;
      case 2: out.producer = name_in(wire, *field, "producer_name"); break;
      case 7:
        if (wire.expect(*field, 2, "graph")) read(wire.inside(*field), out.graph, 0);
        out.has_graph = true;
        break;
      case 8:
        if (wire.expect(*field, 2, "opset_import")) out.opsets.insert(opset(wire.inside(*field)));
        break;
      case 25:
        if (wire.expect(*field, 2, "functions"))
          out.functions.push_back(function_in(wire.inside(*field)));
        break;
      default: break;
    }
  }
  if (failure) return std::unexpected(*failure);
  if (!out.has_graph)
    return fail(ErrorCode::invalid_argument,
                "There is no graph in these {} bytes: not an ONNX model.", bytes.size());
  return out;
}

Result<TensorProto> read_tensor(std::span<const std::byte> bytes) {
  std::optional<Failure> failure;
  TensorProto out;
  read(Wire(bytes, 0, failure), out);
  if (failure) return std::unexpected(*failure);
  return out;
}

Result<DataProto> read_data(std::span<const std::byte> bytes, std::string_view kind) {
  std::optional<Failure> failure;
  DataProto out;
  Wire wire(bytes, 0, failure);
  if (kind == "sequence") {
    out.is_sequence = true;
    read_sequence(wire, out);
  } else if (kind.starts_with("optional")) {
    out.is_empty = true;
    while (const auto field = wire.next()) {
      if (field->number == 3) out.tensors.push_back(*tensor_in(wire, *field, "tensor_value"));
      if (field->number == 5 && wire.expect(*field, 2, "sequence_value")) {
        out.is_sequence = true;
        read_sequence(wire.inside(*field), out);
      }
      if (field->number >= 3) out.is_empty = false;
    }
  } else {
    read(wire, out.tensors.emplace_back());
  }
  if (failure) return std::unexpected(*failure);
  return out;
}

}  // namespace weft::onnx
