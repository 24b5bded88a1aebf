#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace weft::onnx {

/// The element types of ONNX, by their numbers in files.
enum class Type : std::uint8_t {
  none = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,
  c128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
};
constexpr unsigned last_type = 26;
/// "f32", "u16", "string" …; a number where there is no such type.
std::string name(Type type);

/// A tensor as a file has it; the elements stay where they are.
struct TensorProto {
  std::string name;
  std::vector<std::int64_t> dims;
  Type type = Type::none;
  bool is_external = false;
  bool has_raw = false;
  std::span<const std::byte> raw;
  std::vector<std::byte> packed;  ///< Elements that lie in a list of numbers, as 4 or 8 bytes each.
  std::uint32_t packed_width = 0;
  std::vector<std::string> strings;
  std::map<std::string, std::string> external;
  std::uint64_t at = 0;  ///< Where it begins in the file.
};

struct Dimension {
  std::optional<std::int64_t> value;
  std::string symbol;
};
struct ValueInfo {
  std::string name;
  std::string kind;  ///< "tensor", "sequence", "optional", "map", "sparse tensor" or empty.
  Type type = Type::none;
  std::optional<std::vector<Dimension>> shape;
};

struct GraphProto;
struct Attribute {
  std::string name;
  std::string reference;  ///< The attribute of the surrounding function whose value it has.
  std::uint32_t type = 0;
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::shared_ptr<const TensorProto> t;
  std::shared_ptr<const GraphProto> g;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  bool is_sparse = false;
  bool has_type_proto = false;
  ValueInfo type_proto;
};
struct Node {
  std::string name;
  std::string op;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes;
};
struct GraphProto {
  std::string name;
  std::vector<Node> nodes;
  std::vector<std::shared_ptr<const TensorProto>> initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  bool has_sparse = false;
  std::string sparse_name;
};
struct Function {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  std::map<std::string, std::int64_t> opsets;
};
struct ModelProto {
  std::int64_t ir_version = 0;
  std::string producer;
  std::map<std::string, std::int64_t> opsets;
  GraphProto graph;
  bool has_graph = false;
  std::vector<Function> functions;
};

/// A tensor, a sequence of tensors or an optional one, as test data has them.
struct DataProto {
  bool is_sequence = false;
  bool is_empty = false;  ///< An optional without a value.
  std::vector<TensorProto> tensors;
};

/// Reads a model from bytes that must stay where they are. Errors name the byte.
Result<ModelProto> read_model(std::span<const std::byte> bytes);
Result<TensorProto> read_tensor(std::span<const std::byte> bytes);
/// Reads a file of test data of a graph's value of some kind.
Result<DataProto> read_data(std::span<const std::byte> bytes, std::string_view kind);

}  // namespace weft::onnx
