#include "ops/sampled_matmul/sampled_matmul.hpp"

#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "weft/csr.hpp"

namespace weft::graph::kinds {
namespace {

// sampled_matmul: starts i32 [rows + 1], columns i32 [count], a [rows, K], b [columns, K] → f32
// [count]

Result<std::vector<Type>> infer_sampled_matmul(const Signature& s) {
  const Type& starts = s.inputs[0];
  const Type& columns = s.inputs[1];
  const Type& a = s.inputs[2];
  const Type& b = s.inputs[3];
  const bool fits = starts.dtype == DType::i32 && starts.rank() == 1 &&
                    columns.dtype == DType::i32 && columns.rank() == 1 && is_float(a.dtype) &&
                    is_float(b.dtype) && a.rank() == 2 && b.rank() == 2 &&
                    a.shape[1] == b.shape[1] && starts.shape[0] == a.shape[0] + 1;
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "csr_sampled_matmul needs starts i32 [rows + 1], indices i32 [count] and floats "
                "[rows, n] and [columns, n]; they are {}, {}, {} and {}.",
                describe(starts), describe(columns), describe(a), describe(b));
  }
  return one(DType::f32, {columns.shape[0]});
}

Result<ops::Plan> lower_sampled_matmul(const LowerArgs& l) {
  return ops::sampled_matmul::plan({.starts = l.inputs[0],
                                    .columns = l.inputs[1],
                                    .a = l.inputs[2],
                                    .b = l.inputs[3],
                                    .y = l.outputs[0]},
                                   l.caps);
}

/// The derivatives by the rows are products of the sparse matrix of dy, and of its transpose.
std::vector<Tensor> gradient_sampled_matmul(const GradientArgs& g) {
  std::vector<Tensor> out(4);
  const Tensor& dy = g.dy[0];
  const Tensor& a = g.inputs[2];
  const Tensor& b = g.inputs[3];
  if (g.wanted[2]) {
    out[2] = csr_matmul(dy, g.inputs[0], g.inputs[1], b.to(DType::f32)).to(a.dtype());
  }
  if (g.wanted[3]) {
    const Csr turned = csr_transpose(dy, g.inputs[0], g.inputs[1], b.shape()[0]);
    out[3] =
        csr_matmul(turned.values, turned.starts, turned.indices, a.to(DType::f32)).to(b.dtype());
  }
  return out;
}

}  // namespace

const Rule sampled_matmul{.name = "sampled_matmul",
                          .infer = infer_sampled_matmul,
                          .lower = lower_sampled_matmul,
                          .gradient = gradient_sampled_matmul};

}  // namespace weft::graph::kinds
