#include "describe/attributes/permute.hpp"
#include "graph/attributes/products.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/gemm/gemm.hpp"

namespace weft::graph::kinds {
namespace {

Result<std::vector<Type>> infer_matmul(const Signature& s) {
  const auto& attributes = as<MatmulAttributes>(s.attributes);
  const Type& a = s.inputs[0];
  const Type& b = s.inputs[1];
  if (!b.given) {
    return fail(ErrorCode::invalid_argument, "The right matrix of a product with {} is empty.",
                describe(a));
  }
  if (a.rank() < 2 || b.rank() < 2 || a.shape.back() != b.shape[b.rank() - 2]) {
    return fail(ErrorCode::invalid_argument,
                "matmul needs [..., M, K] and [..., K, N]; the shapes are {} and {}.",
                ops::describe(a.shape), ops::describe(b.shape));
  }
  if (!is_float(a.dtype) || !is_float(b.dtype) || !is_float(attributes.dtype)) {
    return fail(ErrorCode::invalid_argument, "matmul needs floats; it was given {} and {} for {}.",
                describe(a), describe(b), name(attributes.dtype));
  }
  auto shape = graph::broadcast(Shape(a.shape.begin(), a.shape.end() - 2),
                                Shape(b.shape.begin(), b.shape.end() - 2));
  if (!shape) return wrap(shape.error(), "matching the batches of a matmul");
  shape->push_back(a.shape[a.rank() - 2]);
  shape->push_back(b.shape.back());
  if (s.inputs.size() > 2 && s.inputs[2].given) {
    const auto both = graph::broadcast(*shape, s.inputs[2].shape);
    if (!both || *both != *shape) {
      return fail(ErrorCode::invalid_argument,
                  "A bias of shape {} does not fit a product of shape {}.",
                  ops::describe(s.inputs[2].shape), ops::describe(*shape));
    }
  }
  return one(attributes.dtype, *shape);
}

Result<ops::Plan> lower_matmul(const LowerArgs& l) {
  const auto& a = as<MatmulAttributes>(l.attributes);
  ops::gemm::Args args;
  args.a = l.inputs[0];
  args.b = l.inputs[1];
  if (l.inputs.size() > 2) args.bias = l.inputs[2];
  args.c = l.outputs[0];
  args.alpha = a.alpha;
  args.activation = a.activation;
  args.scalars = a.scalars;
  args.allow_f16 = a.allow_f16;
  return ops::gemm::plan(args, l.caps);
}

/// [..., K, N] → [product of all others, N].
Tensor as_rows(const Tensor& x) {
  if (x.shape().size() == 2) return x;
  const std::uint64_t columns = x.shape().back();
  return x.reshape({columns == 0 ? 0 : x.size() / columns, columns});
}

/// Whether a matrix is written as the transpose of another. Its gradient is then best computed as
/// that one's, so that it lies dense in memory.
bool is_transposed(const Tensor& b) {
  const Node& node = *Access::value(b).node;
  return node.rule == &permute && b.shape().size() == 2 &&
         as<PermuteAttributes>(node.attributes).order == std::vector<std::uint32_t>{1, 0};
}

/// Products of gradients keep the inputs' precision; sums are f32 in any case.
std::vector<Tensor> gradient_matmul(const GradientArgs& g) {
  const auto& attributes = as<MatmulAttributes>(g.attributes);
  const Tensor& a = g.inputs[0];
  const Tensor& b = g.inputs[1];
  if (attributes.activation != "none" || attributes.alpha != 1 || g.inputs.size() > 2) {
    throw Error(ErrorCode::internal, "Only plain products have derivatives; fusion comes later.");
  }
  const MatmulOptions for_a{.dtype = a.dtype(), .allow_f16 = attributes.allow_f16};
  const MatmulOptions for_b{.dtype = b.dtype(), .allow_f16 = attributes.allow_f16};
  // The product reads 16-bit gradients where the operands are 16-bit, so that matrix units can be
  // used.
  const Tensor dy = g.dy[0];
  const Tensor dy_a = b.dtype() == dy.dtype() ? dy : dy.to(b.dtype());
  const Tensor dy_b = a.dtype() == dy.dtype() ? dy : dy.to(a.dtype());
  std::vector<Tensor> out(2);
  if (g.wanted[0]) out[0] = sum_to(weft::matmul(dy_a, b.transpose(), for_a), a.shape());
  if (g.wanted[1]) {
    out[1] = is_transposed(b)
                 ? weft::matmul(as_rows(dy_b).transpose(), as_rows(a), for_b).transpose()
             : b.shape().size() == 2 ? weft::matmul(as_rows(a).transpose(), as_rows(dy_b), for_b)
                                     : sum_to(weft::matmul(a.transpose(), dy_b, for_b), b.shape());
  }
  return out;
}

}  // namespace

const Rule matmul{
    .name = "matmul", .infer = infer_matmul, .lower = lower_matmul, .gradient = gradient_matmul};

}  // namespace weft::graph::kinds
