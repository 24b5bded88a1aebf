#include "double_graph.hpp"

#include <algorithm>
#include <stdexcept>

#include "graph/kinds.hpp"

namespace weft::test {

std::size_t Host::count(const Shape& shape) {
  std::size_t n = 1;
  for (const std::uint64_t extent : shape) n *= extent;
  return n;
}

std::size_t Host::place(std::span<const std::uint64_t> index) const {
  std::size_t out = 0;
  const std::size_t skip = index.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out = out * shape[i] + (shape[i] == 1 ? 0 : index[i + skip]);
  }
  return out;
}

const std::map<const graph::Rule*, Compute>& host_kinds() {
  static const auto table = [] {
    std::map<const graph::Rule*, Compute> made;
    add_moving_kinds(made);
    add_row_kinds(made);
    add_image_kinds(made);
    add_model_kinds(made);
    add_recurrent_kinds(made);
    add_algebra_kinds(made);
    return made;
  }();
  return table;
}

namespace {

Host read(const graph::Value& value) {
  const Tensor tensor = Access::tensor(value);
  Host host(tensor.shape());
  const auto take = [&](const auto& values) { std::ranges::copy(values, host.v.begin()); };
  switch (tensor.dtype()) {
    case DType::i32: take(tensor.to_vector<std::int32_t>()); break;
    case DType::u32: take(tensor.to_vector<std::uint32_t>()); break;
    default:
      take(is_quantized(tensor.dtype()) ? tensor.to(DType::f32).to_vector() : tensor.to_vector());
  }
  return host;
}

}  // namespace

DoubleGraph::DoubleGraph(const Tensor& y, const std::vector<Tensor>& inputs)
    : y_(Access::value(y)) {
  for (const Tensor& input : inputs) inputs_.push_back(Access::value(input).node.get());
  std::map<std::uint64_t, std::shared_ptr<Node>> nodes;
  std::vector<std::shared_ptr<Node>> pending{y_.node};
  while (!pending.empty()) {
    const std::shared_ptr<Node> node = pending.back();
    pending.pop_back();
    if (!nodes.emplace(node->number, node).second) continue;
    if (std::ranges::contains(inputs_, node.get())) continue;
    for (const graph::Value& below : node->inputs) {
      if (below) pending.push_back(below.node);
    }
  }
  std::set<const Node*> varies(inputs_.begin(), inputs_.end());
  for (const auto& [number, node] : nodes) {
    if (varies.contains(node.get())) continue;
    const bool moved = std::ranges::any_of(
        node->inputs, [&](const graph::Value& in) { return varies.contains(in.node.get()); });
    if (moved) {
      varies.insert(node.get());
      varying_.push_back(node);
      kinds_.insert(node->rule);
    } else if (node->computed()) {
      constants_[node.get()] = {read({node})};
    } else {
      compute(*node, constants_);
    }
  }
}

void DoubleGraph::compute(const Node& node, std::map<const Node*, Hosts>& known) const {
  const auto found = host_kinds().find(node.rule);
  if (found == host_kinds().end()) {
    throw std::runtime_error("no host version of " + std::string(node.rule->name));
  }
  Hosts in;
  for (const graph::Value& input : node.inputs) {
    if (!input) {
      in.emplace_back();
      continue;
    }
    const auto varying = known.find(input.node.get());
    const Hosts& made = varying != known.end() ? varying->second : constants_.at(input.node.get());
    in.push_back(made.at(input.output));
  }
  Hosts out;
  for (const graph::Type& type : node.types) out.emplace_back(type.shape);
  found->second(node.attributes, in, out);
  known[&node] = std::move(out);
}

std::vector<double> DoubleGraph::run(const std::vector<std::vector<double>>& values) const {
  std::map<const Node*, Hosts> known;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Host host(inputs_[i]->types.front().shape);
    host.v = values[i];
    known[inputs_[i]] = {std::move(host)};
  }
  for (const auto& node : varying_) compute(*node, known);
  const auto found = known.find(y_.node.get());
  return (found != known.end() ? found->second : constants_.at(y_.node.get())).at(y_.output).v;
}

}  // namespace weft::test
