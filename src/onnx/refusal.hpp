#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onnx/call.hpp"

namespace weft::onnx {

/// Elements of a constant that is looked at. Larger ones need to have none, if they are of a type
/// of Weft's.
constexpr std::uint64_t most_examined = 4096;

/// What is known of an input or a result of a node before anything runs.
struct Expected {
  Type type = Type::none;                          ///< None for one that is left out.
  std::optional<std::vector<std::int64_t>> shape;  ///< Extents below 0 are not known.
  std::shared_ptr<const TensorProto> constant;     ///< Its elements lie in this tensor.
  bool is_sequence = false;  ///< Of tensors of this type: the node is not translated to try it.
};

/// A node with what is known of its inputs and results. Graphs inside of it are not looked at.
struct Prospect {
  Node node;
  std::vector<Expected> inputs;
  std::vector<Expected> outputs;
  bool may_never_run =
      false;  ///< A node of a branch, whose shapes may not fit because it is not taken.
};

/// Why Weft cannot run a node; nothing where it can, as far as types, shapes and constants tell.
/// The node is translated with inputs that have no elements, and nothing is computed.
std::optional<std::string> refusal(const Device& device,
                                   const std::map<std::string, std::int64_t>& opsets,
                                   const std::shared_ptr<const void>& keep,
                                   const Prospect& prospect);

}  // namespace weft::onnx
