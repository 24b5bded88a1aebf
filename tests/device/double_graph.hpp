#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>
#include <weft/weft.hpp>

#include "graph/node.hpp"

namespace weft::test {

/// A tensor on the host, in double.
struct Host {
  Shape shape;
  std::vector<double> v;

  Host() = default;
  explicit Host(Shape extents) : shape(std::move(extents)), v(count(shape)) {}
  static std::size_t count(const Shape& shape);
  [[nodiscard]] std::uint64_t back(std::size_t i = 0) const { return shape[shape.size() - 1 - i]; }
  /// The flat place of an index tuple; dimensions of 1 and missing leading ones repeat.
  [[nodiscard]] std::size_t place(std::span<const std::uint64_t> at) const;
  [[nodiscard]] double at(std::span<const std::uint64_t> index) const { return v[place(index)]; }
  double& operator[](std::initializer_list<std::uint64_t> index) {
    return v[place(std::span(index.begin(), index.size()))];
  }
  double operator[](std::initializer_list<std::uint64_t> index) const {
    return v[place(std::span(index.begin(), index.size()))];
  }
  [[nodiscard]] bool given() const { return !v.empty() || !shape.empty(); }
};

using Hosts = std::vector<Host>;

/// How a kind of operation computes its outputs (which come with their shapes and zeros) from its
/// inputs.
using Compute = void (*)(const graph::Attributes& attributes, const Hosts& in, Hosts& out);

/// Every kind that can be computed on the host.
const std::map<const graph::Rule*, Compute>& host_kinds();
void add_moving_kinds(std::map<const graph::Rule*, Compute>& table);
void add_row_kinds(std::map<const graph::Rule*, Compute>& table);
void add_image_kinds(std::map<const graph::Rule*, Compute>& table);
void add_model_kinds(std::map<const graph::Rule*, Compute>& table);
void add_recurrent_kinds(std::map<const graph::Rule*, Compute>& table);
void add_algebra_kinds(std::map<const graph::Rule*, Compute>& table);

/// A graph that is computed on the host, in double, for any values of its inputs.
class DoubleGraph {
 public:
  /// `inputs` are leaves of `y`.
  DoubleGraph(const Tensor& y, const std::vector<Tensor>& inputs);
  /// y at these values of the inputs.
  [[nodiscard]] std::vector<double> run(const std::vector<std::vector<double>>& values) const;
  /// The kinds of operations that lie between the inputs and y.
  [[nodiscard]] const std::set<const graph::Rule*>& kinds() const { return kinds_; }

 private:
  void compute(const Node& node, std::map<const Node*, Hosts>& known) const;

  std::vector<std::shared_ptr<Node>> varying_;  // in order
  std::map<const Node*, Hosts> constants_;
  std::vector<const Node*> inputs_;
  graph::Value y_;
  std::set<const graph::Rule*> kinds_;
};

}  // namespace weft::test
