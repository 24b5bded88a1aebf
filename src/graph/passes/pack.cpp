#include <algorithm>
#include <map>

#include "describe/attributes/linear.hpp"
#include "describe/attributes/norm.hpp"
#include "graph/attributes/products.hpp"
#include "graph/kinds.hpp"
#include "graph/kinds/products.hpp"
#include "graph/passes.hpp"
#include "ops/mul_mat/mul_mat.hpp"

namespace weft::graph::passes {
namespace {

namespace mul_mat = ops::mul_mat;

ops::View view_of(const Type& type, std::size_t slot) {
  return ops::View::dense(type.dtype, type.shape, ops::Slot(slot));
}

/// Whether an operation multiplies x in 8 bits where it gets it so.
bool wants(const Graph& graph, const Operation& operation, const Caps& caps) {
  const Type& x = graph.type(operation.inputs[0]);
  if (x.count() == 0 || x.rank() < 2 || x.shape.back() % 32 != 0) return false;
  const Type rows{DType::f32, {x.count() / x.shape.back(), x.shape.back()}};
  const ops::View packed = view_of(kinds::packed_type(rows), 3);
  if (operation.rule == &kinds::linear) {
    const auto& a = as<LinearAttributes>(operation.attributes);
    return a.allow_q8 && graph.type(operation.inputs[1]).rank() == 2 &&
           mul_mat::wants_packed(
               mul_mat::Args{.weights = view_of(graph.type(operation.inputs[1]), 0),
                             .x = view_of(x, 1),
                             .y = view_of(operation.types.front(), 2),
                             .allow_q8 = true,
                             .packed = packed},
               caps);
  }
  if (operation.rule != &kinds::products || operation.inputs[1].given()) return false;
  const auto& a = as<ProductsAttributes>(operation.attributes);
  if (a.parts == 1) {
    return mul_mat::wants_packed(
        mul_mat::Args{.weights = view_of(graph.type(operation.inputs[2]), 0),
                      .x = view_of(x, 1),
                      .y = view_of(operation.types.front(), 2),
                      .allow_q8 = a.allow_q8,
                      .packed = packed},
        caps);
  }
  mul_mat::JoinArgs args{
      .weights = {}, .x = view_of(rows, 1), .y = {}, .allow_q8 = a.allow_q8, .packed = packed};
  for (std::uint32_t i = 0; i < a.parts; ++i) {
    args.weights.push_back(view_of(graph.type(operation.inputs[2 + i]), 0));
  }
  return mul_mat::wants_packed(args, caps);
}

/// What an operation that can also give its result packed gives it as, or nothing.
Edge packed_by_maker(Graph& graph, const std::vector<int>& readers, Edge x) {
  Operation& maker = graph.at(x.node);
  const Type type = graph.type(x);
  if (x.output != 0 || type.dtype != DType::f32) return {};
  if (maker.rule == &kinds::products) {
    auto a = as<ProductsAttributes>(maker.attributes);
    if (!a.gated || a.packs) return {};
    a.packs = true;
    maker.attributes = std::move(a);
  } else if (maker.rule == &kinds::norm || maker.rule == &kinds::residual_norm) {
    auto a = as<NormAttributes>(maker.attributes);
    // A norm of what `fuse` can compute on the way reads less than one that packs.
    const int below = maker.inputs.front().node;
    const bool chained = maker.rule == &kinds::norm && graph.at(below).rule == &kinds::map &&
                         readers[static_cast<std::size_t>(below)] == 1;
    if (a.kind == ops::norm::Kind::group || a.packs || chained) return {};
    a.packs = true;
    maker.attributes = a;
    if (maker.rule == &kinds::norm) maker.inputs.push_back({});
    maker.rule = &kinds::residual_norm;
  } else {
    return {};
  }
  maker.types.push_back(kinds::packed_type(type));
  return {x.node, static_cast<std::uint32_t>(maker.types.size()) - 1};
}

void take(Operation& operation, Edge packed) {
  if (operation.rule == &kinds::linear) {
    const auto& a = as<LinearAttributes>(operation.attributes);
    operation.attributes = ProductsAttributes{.allow_q8 = a.allow_q8, .exact = a.exact};
    operation.inputs.insert(operation.inputs.begin() + 1, Edge{});
    operation.rule = &kinds::products;
  }
  operation.inputs[1] = packed;
}

}  // namespace

Status pack(Graph& graph, DeviceData& device) {
  std::map<Edge, std::vector<int>> by_x;
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    const bool product = operation.rule == &kinds::linear || operation.rule == &kinds::products;
    if (product && wants(graph, operation, device.device.caps())) {
      by_x[operation.inputs[0]].push_back(static_cast<int>(i));
    }
  }
  if (by_x.empty()) return {};
  const std::vector<int> readers = count_readers(graph);
  for (const auto& [x, products] : by_x) {
    Edge packed = packed_by_maker(graph, readers, x);
    if (!packed.given() && products.size() < 2) continue;
    if (!packed.given()) {
      Operation made;
      made.rule = &kinds::pack;
      made.inputs = {x};
      made.types = {kinds::packed_type(graph.type(x))};
      made.where = graph.at(products.front()).where;
      graph.operations.push_back(std::move(made));
      packed = {static_cast<int>(graph.operations.size()) - 1, 0};
    }
    for (const int number : products) take(graph.at(number), packed);
  }
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
