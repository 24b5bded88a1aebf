// Kinds that passes make of products with quantized weights and of the norms before them.
#include "graph/kinds/products.hpp"

#include <optional>

#include "describe/attributes/norm.hpp"
#include "graph/attributes/products.hpp"
#include "graph/kinds.hpp"
#include "ops/map/map.hpp"
#include "ops/norm/norm.hpp"
#include "ops/stages.hpp"

namespace weft::graph::kinds {
namespace {

using ops::View;
namespace mul_mat = ops::mul_mat;

// pack: x […, K] → its elements in 8 bits

Result<std::vector<Type>> infer_pack(const Signature& s) {
  return std::vector<Type>{packed_type(s.inputs[0])};
}

Result<ops::Plan> lower_pack(const LowerArgs& l) {
  return mul_mat::plan(mul_mat::PackArgs{.x = l.inputs[0], .packed = l.outputs[0]}, l.caps);
}

/// A plan, and what packs the first output into the last one behind it.
Result<ops::Plan> then_pack(Result<ops::Plan> plan, const LowerArgs& l) {
  if (!plan) return plan;
  auto packed =
      mul_mat::plan(mul_mat::PackArgs{.x = l.outputs.front(), .packed = l.outputs.back()}, l.caps);
  if (!packed) return packed;
  plan->append(std::move(*packed));
  return plan;
}

// products: x […, N, K], x packed (optional), weights …, bias (optional, of one product) → […, N,
// M] of f32

Result<std::vector<Type>> infer_products(const Signature& s) {
  const auto& a = as<ProductsAttributes>(s.attributes);
  Type y{DType::f32, s.inputs[0].shape};
  y.shape.back() = 0;
  for (const Type& weight : s.inputs.subspan(2, a.parts)) y.shape.back() += weight.shape.front();
  if (a.gated) y.shape.back() /= 2;
  std::vector<Type> out{y};
  if (a.packs) out.push_back(packed_type(y));
  return out;
}

/// The rows of a dense tensor as a matrix.
std::optional<View> rows_of(const View& view) {
  if (!view.given()) return view;
  if (!view.is_dense() || view.rank < 2 || view.empty()) return std::nullopt;
  const std::uint64_t last = view.shape[view.rank - 1];
  View out = View::dense(view.dtype, {view.count() / last, last}, view.slot);
  out.offset = view.offset;
  return out;
}

/// Where part number `part` of several products side by side goes.
View columns_of(const View& y, std::span<const View> weights, std::size_t part) {
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < part; ++i) first += weights[i].shape[0];
  return y.slice(y.rank - 1, first, weights[part].shape[0]);
}

Result<ops::Plan> lower_joined(const LowerArgs& l, bool packs) {
  const auto& a = as<ProductsAttributes>(l.attributes);
  const auto x = rows_of(l.inputs[0]);
  const auto packed = rows_of(l.inputs[1]);
  const auto y = rows_of(l.outputs[0]);
  if (!x || !packed || !y) {
    return fail(ErrorCode::unsupported, "Products are joined where x and results are dense.");
  }
  const auto weights = l.inputs.subspan(2, a.parts);
  mul_mat::JoinArgs args{.weights = {weights.begin(), weights.end()},
                         .x = *x,
                         .y = {},
                         .scalars = a.scalars,
                         .allow_q8 = a.allow_q8,
                         .exact = a.exact,
                         .packed = *packed};
  if (a.gated) {
    args.gated = a.function;
    args.y = {*y};
    if (packs) args.packed_y = rows_of(l.outputs[1]).value_or(View{});
  } else {
    for (std::size_t i = 0; i < a.parts; ++i) args.y.push_back(columns_of(*y, weights, i));
  }
  return mul_mat::plan(args, l.caps);
}

mul_mat::Args product_of(const LowerArgs& l, std::size_t part) {
  const auto& a = as<ProductsAttributes>(l.attributes);
  return {.weights = l.inputs[2 + part],
          .x = l.inputs[0],
          .y = l.outputs[0],
          .allow_q8 = a.allow_q8,
          .exact = a.exact,
          .packed = l.inputs[1]};
}

/// One product after the other.
Result<ops::Plan> lower_apart(const LowerArgs& l) {
  const auto& a = as<ProductsAttributes>(l.attributes);
  const View& y = l.outputs[0];
  ops::Stages stages{y};
  std::vector<View> units;
  for (std::size_t i = 0; i < a.parts; ++i) {
    mul_mat::Args args = product_of(l, i);
    args.y = a.gated ? stages.scratch(DType::f32, y.extents())
                     : columns_of(y, l.inputs.subspan(2, a.parts), i);
    units.push_back(args.y);
    stages.add(mul_mat::plan(args, l.caps));
  }
  if (a.gated) {
    stages.add(ops::map::plan(
        {.function = a.function, .inputs = units, .y = y, .scalars = a.scalars}, l.caps));
  }
  return std::move(stages).finish();
}

Result<ops::Plan> lower_products(const LowerArgs& l) {
  const auto& a = as<ProductsAttributes>(l.attributes);
  if (a.parts == 1) {
    mul_mat::Args args = product_of(l, 0);
    if (l.inputs.size() > 3) args.bias = l.inputs[3];
    args.activation = a.function;
    args.scalars = a.scalars;
    return mul_mat::plan(args, l.caps);
  }
  if (auto joined = lower_joined(l, a.packs)) return joined;
  if (a.packs) {
    if (auto joined = lower_joined(l, false)) return then_pack(std::move(joined), l);
    return then_pack(lower_apart(l), l);
  }
  return lower_apart(l);
}

// residual_norm: x, weight (optional), bias (optional), residual (optional) → the norm of x +
// residual, that sum, the norm packed

Result<std::vector<Type>> infer_residual_norm(const Signature& s) {
  std::vector<Type> out{s.inputs[0]};
  if (s.inputs[3].given) out.push_back(s.inputs[0]);
  if (as<NormAttributes>(s.attributes).packs) out.push_back(packed_type(s.inputs[0]));
  return out;
}

Result<ops::Plan> lower_residual_norm(const LowerArgs& l) {
  const auto& a = as<NormAttributes>(l.attributes);
  ops::norm::Args args;
  args.kind = a.kind;
  args.x = l.inputs[0];
  args.weight = l.inputs[1];
  args.bias = l.inputs[2];
  args.residual = l.inputs[3];
  args.y = l.outputs[0];
  if (args.residual.given()) args.sum = l.outputs[1];
  if (a.packs) args.packed = l.outputs.back();
  args.eps = a.eps;
  auto plan = ops::norm::plan(args, l.caps);
  if (plan || !a.packs) return plan;
  // Rows that no workgroup holds are packed by themselves.
  args.packed = {};
  return then_pack(ops::norm::plan(args, l.caps), l);
}

constexpr InPlace over_sum[] = {{0, 0}, {1, 3}, {1, 0}};

}  // namespace

const Rule pack{.name = "pack", .infer = infer_pack, .lower = lower_pack};
const Rule products{.name = "products", .infer = infer_products, .lower = lower_products};
const Rule residual_norm{.name = "residual_norm",
                         .infer = infer_residual_norm,
                         .lower = lower_residual_norm,
                         .in_place = over_sum};

}  // namespace weft::graph::kinds
