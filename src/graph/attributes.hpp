#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.hpp"
#include "describe/attributes.hpp"
#include "ops/border/border.hpp"
#include "ops/cross_entropy/cross_entropy.hpp"
#include "ops/cumsum/cumsum.hpp"
#include "ops/fused/fused.hpp"
#include "ops/norm/norm.hpp"
#include "ops/pool/pool.hpp"
#include "ops/random/random.hpp"
#include "ops/recurrence/recurrence.hpp"
#include "ops/reduce/reduce.hpp"
#include "ops/resize/resize.hpp"
#include "ops/rope/rope.hpp"
#include "ops/router/router.hpp"
#include "weft/tensor.hpp"

namespace weft::graph {

// What an operation is told besides its inputs. Equal attributes and inputs mean equal results.
// Those of plain numbers and extents are described in description/graph.toml.

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
  ops::cumsum::Function function = ops::cumsum::Function::sum;
  bool operator==(const CumsumAttributes&) const = default;
};

struct SoftmaxAttributes {
  float scale = 1;
  bool log = false;
  float max_bias = 0;
  bool operator==(const SoftmaxAttributes&) const = default;
};

struct NormAttributes {
  ops::norm::Kind kind = ops::norm::Kind::layer;
  float eps = 1e-5F;
  std::uint64_t groups = 1;
  bool packs = false;  ///< Of residual_norm: the result also comes in the form of `pack`.
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

/// Products of one x with one to three quantized weights: one with a bias and a unary function
/// behind it, two of a gated unit, or several side by side.
struct ProductsAttributes {
  std::uint32_t parts = 1;
  std::string function = "none";
  std::array<double, 4> scalars{};
  bool gated = false;
  bool packs = false;  ///< Of gated units: the result also comes in the form of `pack`.
  bool allow_q8 = false;
  bool exact = false;
  bool operator==(const ProductsAttributes&) const = default;
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

/// Random numbers of a type and shape; `first` and `domain` say which of those that a key has.
struct RandomAttributes {
  ops::random::Distribution distribution;
  DType dtype = DType::f32;
  Shape shape{};
  std::uint64_t first = 0;
  std::uint32_t domain = 0;
  bool operator==(const RandomAttributes&) const = default;
};

struct AdamAttributes {
  bool coupled = false;
  bool has_working = false;
  DType working = DType::f16;
  bool operator==(const AdamAttributes&) const = default;
};

struct RopeAttributes {
  ops::rope::Mode mode = ops::rope::Mode::halves;
  std::uint32_t dims = 0;
  std::uint32_t offset = 0;
  std::array<std::uint32_t, 4> sections{};
  std::int32_t first = 0;
  float base = 10000;
  float scale = 1;
  float extrapolation = 0;
  float magnitude = 1;
  float beta_fast = 32;
  float beta_slow = 1;
  std::uint32_t trained_context = 0;
  bool backward = false;
  bool operator==(const RopeAttributes&) const = default;
};

/// A convolution, or a derivative of one. The result has the extents `spatial` behind its first
/// two, or without any those that follow from the padding: `high` elements behind the image (of a
/// transposed one: more elements of the result).
struct ConvAttributes {
  std::vector<ops::unfold::Axis> axes;
  std::vector<std::uint64_t> high;
  std::uint64_t groups = 1;
  bool allow_f16 = false;
  DType dtype = DType::f32;
  Shape spatial{};
  bool operator==(const ConvAttributes&) const = default;
};

/// Windows of an image: a pool (`function`), what goes back through one, and windows written out
/// (both have `spatial` where it does not follow from the padding).
struct WindowAttributes {
  ops::pool::Function function = ops::pool::Function::max;
  std::vector<std::uint64_t> kernel;
  std::vector<ops::unfold::Axis> axes;
  std::vector<std::uint64_t> high;
  bool count_outside = false;
  Shape spatial{};
  bool operator==(const WindowAttributes&) const = default;
};

struct ResizeAttributes {
  std::uint64_t height = 0;
  std::uint64_t width = 0;
  ops::resize::Mode mode = ops::resize::Mode::nearest;
  bool align_corners = false;
  bool antialias = false;
  bool operator==(const ResizeAttributes&) const = default;
};

struct BorderAttributes {
  std::vector<std::int64_t> low;
  Shape shape;
  ops::border::Mode mode = ops::border::Mode::replicate;
  bool operator==(const BorderAttributes&) const = default;
};

struct CrossEntropyAttributes {
  ops::cross_entropy::Reduction reduction = ops::cross_entropy::Reduction::mean;
  std::int32_t ignored = -1;
  bool operator==(const CrossEntropyAttributes&) const = default;
};

struct RecurrenceAttributes {
  ops::recurrence::Kind kind = ops::recurrence::Kind::gated_linear_attention;
  float scale = 1;
  bool interleaved = false;
  std::uint64_t snapshots = 0;
  bool operator==(const RecurrenceAttributes&) const = default;
};

struct RouterAttributes {
  std::uint64_t count = 1;
  ops::router::Score score = ops::router::Score::softmax;
  bool softmax_chosen = false;
  bool normalize = false;
  float least = 0;
  float scale = 1;
  bool operator==(const RouterAttributes&) const = default;
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

/// A reduction, a softmax or a norm of a chain of elementwise functions. The inputs of the chain
/// come first, then weight and bias of a norm.
struct FusedTailAttributes {
  std::vector<ops::fused::Step> steps;
  std::uint32_t inputs = 0;  ///< Of the chain.
  Shape shape;               ///< Of its result.
  std::variant<ReduceAttributes, SoftmaxAttributes, NormAttributes> tail;
  bool operator==(const FusedTailAttributes&) const = default;
};

using Attributes =
    WithDescribed<std::variant, std::monostate, MapAttributes, ReduceAttributes, CumsumAttributes,
                  SoftmaxAttributes, NormAttributes, MatmulAttributes, ProductsAttributes,
                  ShapeAttributes, PermuteAttributes, AdamAttributes, RopeAttributes,
                  FusedAttributes, FusedTailAttributes, CheckpointAttributes, ConvAttributes,
                  WindowAttributes, ResizeAttributes, BorderAttributes, CrossEntropyAttributes,
                  RecurrenceAttributes, RouterAttributes, RandomAttributes>;

/// "gelu", "sum axes 2", "[3,4]": for dumps and messages.
std::string describe(const Attributes& attributes);

}  // namespace weft::graph
