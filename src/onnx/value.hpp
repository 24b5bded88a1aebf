#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onnx/array.hpp"
#include "weft/device.hpp"
#include "weft/tensor.hpp"

namespace weft::onnx {

/// A value of a graph while it is walked: elements that are known on the host, a tensor of Weft (an
/// expression), a sequence of values, or nothing (an input left out, an empty optional). A cheap
/// handle; what is brought to the device, or read from it, is remembered for all copies.
class Value {
 public:
  Value() = default;
  Value(Array array);           // NOLINT: values are made of either
  Value(const Tensor& tensor);  // NOLINT
  static Value sequence(std::vector<Value> values);

  [[nodiscard]] bool exists() const { return state_ != nullptr; }
  [[nodiscard]] bool is_sequence() const;
  /// The members of a sequence.
  [[nodiscard]] const std::vector<Value>& values() const;

  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] Type type() const;
  [[nodiscard]] std::uint64_t size() const;

  /// The elements, where they are known without asking the device.
  [[nodiscard]] const Array* known() const;
  /// The elements, read from the device where they lie there only.
  [[nodiscard]] const Array& read() const;
  /// As a tensor on a device.
  [[nodiscard]] Tensor on(const Device& device) const;

  /// The inputs of the graph that the elements follow from, while these have no values yet.
  [[nodiscard]] const std::vector<std::uint32_t>& sources() const { return sources_; }
  void set_sources(std::vector<std::uint32_t> sources) { sources_ = std::move(sources); }

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::vector<std::uint32_t> sources_;
};

/// "f32[2,3]", or what else it is.
std::string describe(const Value& value);

}  // namespace weft::onnx
