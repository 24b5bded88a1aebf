#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "device/caps.hpp"
#include "graph/attributes.hpp"
#include "ops/plan.hpp"
#include "ops/view.hpp"
#include "weft/tensor.hpp"

namespace weft::graph {

/// What is known of a tensor before it is computed. An optional input that was left out is not
/// `given`.
struct Type {
  DType dtype = DType::f32;
  Shape shape;
  bool given = true;

  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::uint32_t rank() const { return static_cast<std::uint32_t>(shape.size()); }
  bool operator==(const Type&) const = default;
};

/// "f32[2,3]".
std::string describe(const Type& type);

/// What a shape inference works on.
struct Signature {
  const Attributes& attributes;
  std::span<const Type> inputs;
};

/// What a lowering works on: views of the inputs (not given where an input was left out) and of the
/// outputs.
struct LowerArgs {
  const Attributes& attributes;
  std::span<const ops::View> inputs;
  std::span<const ops::View> outputs;
  const Caps& caps;
};

/// What a gradient works on. `dy` has a tensor per output, empty where the output does not
/// influence the loss; `wanted` says for which inputs a derivative is needed.
struct GradientArgs {
  const Attributes& attributes;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Tensor> dy;
  std::vector<bool> wanted;
};

/// Which input an output may be written over: the kernel reads each element before it writes the
/// same one, through the same view.
struct InPlace {
  std::uint32_t output = 0;
  std::uint32_t input = 0;
};

/// A kind of operation; kinds.hpp lists all of them. Leaves have neither `view` nor `lower`.
struct Rule {
  std::string_view name;
  /// The types of the outputs, or why the inputs do not fit.
  Result<std::vector<Type>> (*infer)(const Signature&) = nullptr;
  /// For operations that only look at their input in another way; a failure means that a copy is
  /// needed first.
  Result<ops::View> (*view)(const ops::View& input, const Attributes&) = nullptr;
  /// The launches.
  Result<ops::Plan> (*lower)(const LowerArgs&) = nullptr;
  /// One derivative per input, empty where there is none; null: no gradient flows through the
  /// operation.
  std::vector<Tensor> (*gradient)(const GradientArgs&) = nullptr;
  /// Where results may replace inputs.
  std::span<const InPlace> in_place{};
  /// Whether the in-place outputs must start with the content of their inputs (which is copied
  /// there if need be).
  bool accumulates = false;
};

/// The result of an inference with one output.
inline Result<std::vector<Type>> one(DType dtype, Shape shape) {
  return std::vector<Type>{{dtype, std::move(shape)}};
}

/// The shape that two shapes broadcast to, or why they do not.
Result<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace weft::graph
