#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.hpp"
#include "ops/fused/fused.hpp"
#include "ops/norm/norm.hpp"
#include "ops/reduce/reduce.hpp"
#include "weft/tensor.hpp"

namespace weft::graph {

// What an operation is told besides its inputs. Equal attributes and inputs mean equal results.

/// An elementwise function; a source (no inputs) says its type and shape.
struct MapAttributes {
  std::string function;
  std::array<double, 4> scalars{};
  DType dtype = DType::f32;
  Shape shape{};
  bool operator==(const MapAttributes&) const = default;
};

struct ReduceAttributes {
  ops::reduce::Function function = ops::reduce::Function::sum;
  std::uint32_t axes = 0;
  bool keep_dims = false;
  bool operator==(const ReduceAttributes&) const = default;
};

struct CumsumAttributes {
  std::uint32_t axis = 0;
  bool exclusive = false;
  bool reverse = false;
  bool operator==(const CumsumAttributes&) const = default;
};

struct SoftmaxAttributes {
  float scale = 1;
  bool log = false;
  bool operator==(const SoftmaxAttributes&) const = default;
};

struct NormAttributes {
  ops::norm::Kind kind = ops::norm::Kind::layer;
  float eps = 1e-5F;
  bool operator==(const NormAttributes&) const = default;
};

/// A product; the third input, if there is one, is added to it before the activation.
struct MatmulAttributes {
  DType dtype = DType::f32;
  float alpha = 1;
  bool allow_f16 = false;
  std::string activation = "none";
  std::array<double, 4> scalars{};
  bool operator==(const MatmulAttributes&) const = default;
};

/// One dimension: of a concatenation, of indices.
struct AxisAttributes {
  std::uint32_t axis = 0;
  bool operator==(const AxisAttributes&) const = default;
};

/// A shape: of a reshape or a broadcast.
struct ShapeAttributes {
  Shape shape;
  bool operator==(const ShapeAttributes&) const = default;
};

struct PermuteAttributes {
  std::vector<std::uint32_t> order;
  bool operator==(const PermuteAttributes&) const = default;
};

struct SliceAttributes {
  std::uint32_t axis = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t step = 1;
  bool operator==(const SliceAttributes&) const = default;
};

struct PadAttributes {
  Shape low;
  Shape high;
  double value = 0;
  bool operator==(const PadAttributes&) const = default;
};

struct CastAttributes {
  DType dtype = DType::f32;
  bool operator==(const CastAttributes&) const = default;
};

struct DropoutAttributes {
  float rate = 0;
  std::uint32_t stream = 0;
  bool operator==(const DropoutAttributes&) const = default;
};

struct AdamAttributes {
  bool coupled = false;
  bool has_working = false;
  DType working = DType::f16;
  bool operator==(const AdamAttributes&) const = default;
};

struct ClipAttributes {
  float max_norm = 0;
  bool operator==(const ClipAttributes&) const = default;
};

struct AttentionAttributes {
  float scale = 1;
  float soft_cap = 0;
  bool causal = false;
  std::uint64_t window = 0;
  bool operator==(const AttentionAttributes&) const = default;
};

struct RopeAttributes {
  bool halves = true;
  std::uint32_t dims = 0;
  std::int32_t first = 0;
  float base = 10000;
  bool backward = false;
  bool operator==(const RopeAttributes&) const = default;
};

/// A part of a graph that is computed again when gradients need what is inside of it.
struct CheckpointAttributes {
  std::shared_ptr<const std::function<Tensor(const std::vector<Tensor>&)>> function;
  bool operator==(const CheckpointAttributes&) const = default;
};

/// A chain of elementwise functions.
struct FusedAttributes {
  std::vector<ops::fused::Step> steps;
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const FusedAttributes&) const = default;
};

/// A reduction, a softmax or a norm of a chain of elementwise functions. The inputs of the chain come first, then weight
/// and bias of a norm.
struct FusedTailAttributes {
  std::vector<ops::fused::Step> steps;
  std::uint32_t inputs = 0;  ///< Of the chain.
  Shape shape;               ///< Of its result.
  std::variant<ReduceAttributes, SoftmaxAttributes, NormAttributes> tail;
  bool operator==(const FusedTailAttributes&) const = default;
};

using Attributes =
    std::variant<std::monostate, MapAttributes, ReduceAttributes, CumsumAttributes,
                 SoftmaxAttributes, NormAttributes, MatmulAttributes, AxisAttributes,
                 ShapeAttributes, PermuteAttributes, SliceAttributes, PadAttributes, CastAttributes,
                 DropoutAttributes, AdamAttributes, ClipAttributes, AttentionAttributes,
                 RopeAttributes, FusedAttributes, FusedTailAttributes, CheckpointAttributes>;

/// "gelu", "sum axes 2", "[3,4]": for dumps and messages.
std::string describe(const Attributes& attributes);

}  // namespace weft::graph
