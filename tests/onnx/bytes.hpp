#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// ONNX models as bytes, for tests: each function gives a field of a message.

namespace weft::test::onnx_bytes {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}
inline std::string number(std::uint32_t field, std::int64_t value) {
  return varint(std::uint64_t{field} << 3) + varint(std::bit_cast<std::uint64_t>(value));
}
inline std::string text(std::uint32_t field, std::string_view value) {
  return varint(std::uint64_t{field} << 3 | 2) + varint(value.size()) + std::string(value);
}

inline std::string floats(const std::vector<float>& values) {
  std::string out;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int i = 0; i < 4; ++i) out += static_cast<char>(bits >> (8 * i) & 0xff);
  }
  return out;
}
inline std::string longs(const std::vector<std::int64_t>& values) {
  std::string out;
  for (const std::int64_t value : values) {
    for (int i = 0; i < 8; ++i)
      out += static_cast<char>(std::bit_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  }
  return out;
}

/// A tensor with its elements as they lie in memory.
inline std::string tensor(std::string_view name, int type, const std::vector<std::int64_t>& dims,
                          std::string_view raw) {
  std::string out;
  for (const std::int64_t extent : dims) out += number(1, extent);
  return out + number(2, type) + text(8, name) + text(9, raw);
}

/// An input or a result; an extent below 0 has the name "n".
inline std::string port(std::string_view name, int type, const std::vector<std::int64_t>& dims) {
  std::string shape;
  for (const std::int64_t extent : dims)
    shape += text(1, extent < 0 ? text(2, "n") : number(1, extent));
  return text(1, name) + text(2, text(1, number(1, type) + text(2, shape)));
}

inline std::string node(std::string_view op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs,
                        const std::string& attributes = {}) {
  std::string out;
  for (const std::string& name : inputs) out += text(1, name);
  for (const std::string& name : outputs) out += text(2, name);
  return out + text(3, std::string("my ") + std::string(op)) + text(4, op) + attributes;
}
inline std::string int_attribute(std::string_view name, std::int64_t value) {
  return text(5, text(1, name) + number(3, value) + number(20, 2));
}
inline std::string graph_attribute(std::string_view name, std::string_view graph) {
  return text(5, text(1, name) + text(6, graph) + number(20, 5));
}

/// Fields of a graph.
inline std::string nodes(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& one : all) out += text(1, one);
  return out;
}
inline std::string input(const std::string& one) { return text(11, one); }
inline std::string output(const std::string& one) { return text(12, one); }
inline std::string weight(const std::string& one) { return text(5, one); }

inline std::string model(std::string_view graph, int opset = 21) {
  return number(1, 9) + text(7, std::string(graph)) + text(8, number(2, opset));
}

inline std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// y = x · w + b for x [n, 2], with all of a model's parts.
inline std::string small_model() {
  return model(nodes({node("MatMul", {"x", "w"}, {"xw"}), node("Add", {"xw", "b"}, {"y"})}) +
               weight(tensor("w", 1, {2, 3}, floats({1, 2, 3, 4, 5, 6}))) +
               weight(tensor("b", 1, {3}, floats({10, 20, 30}))) + input(port("x", 1, {-1, 2})) +
               output(port("y", 1, {-1, 3})));
}

}  // namespace weft::test::onnx_bytes
