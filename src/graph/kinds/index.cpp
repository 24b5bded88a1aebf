#include "describe/attributes/axis.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "graph/kinds/checked.hpp"
#include "ops/gather/gather.hpp"
#include "ops/quant/quant.hpp"
#include "ops/report.hpp"
#include "ops/rows/rows.hpp"

namespace weft::graph::kinds {
namespace {

Status need_indices(const Type& type) {
  if (type.given && (type.dtype == DType::i32 || type.dtype == DType::i64)) return {};
  return fail(ErrorCode::invalid_argument, "Indices are i32 or i64; {} was given.", describe(type));
}

// embedding: table [N, C], indices [R]

Result<std::vector<Type>> infer_embedding(const Signature& s) {
  if (const Status ok = need_indices(s.inputs[1]); !ok) return std::unexpected(ok.error());
  const Type& table = s.inputs[0];
  if (table.rank() != 2 || s.inputs[1].rank() != 1) {
    return fail(ErrorCode::invalid_argument,
                "Rows are taken from [N, C] by indices [R]; the shapes are {} and {}.",
                ops::describe(table.shape), ops::describe(s.inputs[1].shape));
  }
  const DType dtype = is_quantized(table.dtype) ? DType::f32 : table.dtype;
  return one(dtype, {s.inputs[1].shape[0], table.shape[1]});
}

Result<ops::Plan> lower_embedding(const LowerArgs& l) {
  if (is_quantized(l.inputs[0].dtype)) {
    return after_check(
        ops::quant::plan(
            ops::quant::DecodeArgs{.table = l.inputs[0], .y = l.outputs[0], .indices = l.inputs[1]},
            l.caps),
        {.indices = l.inputs[1],
         .count = l.inputs[0].shape[0],
         .status = report_view(ops::Checked::embedding, l.caps)},
        l.caps);
  }
  return ops::rows::plan(ops::rows::GetArgs{.table = l.inputs[0],
                                            .indices = l.inputs[1],
                                            .y = l.outputs[0],
                                            .status = report_view(ops::Checked::embedding, l.caps)},
                         l.caps);
}

std::vector<Tensor> gradient_embedding(const GradientArgs& g) {
  const Tensor zeros = full_like(g.dy[0], g.inputs[0].shape(), g.inputs[0].dtype());
  return {make(add_rows, {}, {zeros, g.inputs[1], g.dy[0]}, Where::current())};
}

// add_rows: table [N, C], indices [R], source [R, C]

Result<std::vector<Type>> infer_add_rows(const Signature& s) {
  if (const Status ok = need_indices(s.inputs[1]); !ok) return std::unexpected(ok.error());
  const Type& table = s.inputs[0];
  const Shape& rows = s.inputs[1].shape;
  if (table.rank() != 2 || rows.size() != 1 ||
      s.inputs[2] != Type{table.dtype, {rows[0], table.shape[1]}}) {
    return fail(ErrorCode::invalid_argument,
                "Rows [R, C] go to a table [N, C] of their type by indices [R]; {}, {} and indices "
                "{} were given.",
                describe(s.inputs[2]), describe(table), ops::describe(rows));
  }
  return one(table.dtype, table.shape);
}

Result<ops::Plan> lower_add_rows(const LowerArgs& l) {
  return ops::gather::plan(
      ops::gather::AddRowsArgs{.source = l.inputs[2],
                               .indices = l.inputs[1],
                               .table = l.outputs[0],
                               .status = report_view(ops::Checked::add_rows, l.caps)},
      l.caps);
}

std::vector<Tensor> gradient_add_rows(const GradientArgs& g) {
  return {g.dy[0], {}, make(embedding, {}, {g.dy[0], g.inputs[1]}, Where::current())};
}

// index_copy: table [N, C], indices [R], source [R, C]

Result<ops::Plan> lower_index_copy(const LowerArgs& l) {
  return ops::rows::plan(
      ops::rows::SetArgs{.source = l.inputs[2],
                         .indices = l.inputs[1],
                         .table = l.outputs[0],
                         .status = report_view(ops::Checked::index_copy, l.caps)},
      l.caps);
}

/// Rows that are replaced have no influence any more.
std::vector<Tensor> gradient_index_copy(const GradientArgs& g) {
  const Tensor zeros = full_like(g.dy[0], g.inputs[2].shape(), g.inputs[2].dtype());
  return {make(index_copy, {}, {g.dy[0], g.inputs[1], zeros}, Where::current()),
          {},
          make(embedding, {}, {g.dy[0], g.inputs[1]}, Where::current())};
}

// gather and scatter_add: one index per element

Status need_index_shape(const Type& x, const Type& index, std::uint32_t axis) {
  if (const Status ok = need_indices(index); !ok) return ok;
  bool fits = axis < x.rank() && index.rank() == x.rank();
  for (std::uint32_t i = 0; fits && i < x.rank(); ++i) {
    fits = i == axis || index.shape[i] <= x.shape[i];
  }
  if (fits) return {};
  return fail(ErrorCode::invalid_argument,
              "Indices {} along dimension {} do not fit a tensor of shape {}.", describe(index),
              axis, ops::describe(x.shape));
}

Result<std::vector<Type>> infer_gather(const Signature& s) {
  const std::uint32_t axis = as<AxisAttributes>(s.attributes).axis;
  if (const Status ok = need_index_shape(s.inputs[0], s.inputs[1], axis); !ok)
    return std::unexpected(ok.error());
  return one(s.inputs[0].dtype, s.inputs[1].shape);
}

Result<ops::Plan> lower_gather(const LowerArgs& l) {
  return ops::gather::plan(
      ops::gather::GatherArgs{.x = l.inputs[0],
                              .index = l.inputs[1],
                              .y = l.outputs[0],
                              .axis = as<AxisAttributes>(l.attributes).axis,
                              .status = report_view(ops::Checked::gather, l.caps)},
      l.caps);
}

std::vector<Tensor> gradient_gather(const GradientArgs& g) {
  const Tensor zeros = full_like(g.dy[0], g.inputs[0].shape(), g.inputs[0].dtype());
  return {weft::scatter_add(zeros, g.inputs[1], g.dy[0],
                            static_cast<int>(as<AxisAttributes>(g.attributes).axis))};
}

Result<std::vector<Type>> infer_scatter_add(const Signature& s) {
  const std::uint32_t axis = as<AxisAttributes>(s.attributes).axis;
  if (const Status ok = need_index_shape(s.inputs[0], s.inputs[1], axis); !ok)
    return std::unexpected(ok.error());
  if (s.inputs[2].shape != s.inputs[1].shape) {
    return fail(ErrorCode::invalid_argument,
                "scatter_add needs a source of the shape of its indices; {} and {} were given.",
                describe(s.inputs[2]), describe(s.inputs[1]));
  }
  return one(s.inputs[0].dtype, s.inputs[0].shape);
}

Result<ops::Plan> lower_scatter_add(const LowerArgs& l) {
  return ops::gather::plan(
      ops::gather::ScatterAddArgs{.source = l.inputs[2],
                                  .index = l.inputs[1],
                                  .y = l.outputs[0],
                                  .axis = as<AxisAttributes>(l.attributes).axis,
                                  .status = report_view(ops::Checked::scatter_add, l.caps)},
      l.caps);
}

std::vector<Tensor> gradient_scatter_add(const GradientArgs& g) {
  return {
      g.dy[0],
      {},
      weft::gather(g.dy[0], g.inputs[1], static_cast<int>(as<AxisAttributes>(g.attributes).axis))};
}

constexpr InPlace over_table[] = {{0, 0}};

}  // namespace

const Rule embedding{.name = "embedding",
                     .infer = infer_embedding,
                     .lower = lower_embedding,
                     .gradient = gradient_embedding};
const Rule add_rows{.name = "add_rows",
                    .infer = infer_add_rows,
                    .lower = lower_add_rows,
                    .gradient = gradient_add_rows,
                    .in_place = over_table,
                    .accumulates = true};
const Rule index_copy{.name = "index_copy",
                      .infer = infer_add_rows,
                      .lower = lower_index_copy,
                      .gradient = gradient_index_copy,
                      .in_place = over_table,
                      .accumulates = true};
const Rule gather{
    .name = "gather", .infer = infer_gather, .lower = lower_gather, .gradient = gradient_gather};
const Rule scatter_add{.name = "scatter_add",
                       .infer = infer_scatter_add,
                       .lower = lower_scatter_add,
                       .gradient = gradient_scatter_add,
                       .in_place = over_table,
                       .accumulates = true};

}  // namespace weft::graph::kinds
