#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "fuse/fuse.hpp"
#include "packed_input.hpp"

namespace weft::plugin {

/// Bytes of a buffer that tensors share, or that bindings of theirs may share: from a multiple of
/// the binding alignment up to a multiple of 16. What a plan does with them does not depend on
/// where they begin.
struct Cluster {
  ops::Slot slot{};
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Keys of the steps of a graph: equal where the nodes at the start of what is left of a graph
/// become the same launches, but for the places of their clusters. Layers of a model are alike, and
/// so are graphs of other depths or batches but for a few of their nodes.
class StepKeys {
 public:
  /// All of these have to outlive the keys.
  StepKeys(std::span<const ggml_tensor* const> nodes, const Uses& uses, const PlaceFn& place,
           const Caps& caps);

  /// Makes the key of the nodes from `first` on; false where one of them has no place.
  bool make(std::size_t first, const PackedInput& packed);
  [[nodiscard]] std::span<const std::uint64_t> key() const { return key_; }
  /// The clusters of these nodes, in an order that equal keys share.
  [[nodiscard]] std::span<const Cluster> clusters() const { return clusters_; }

 private:
  struct Operand {
    const ggml_tensor* tensor = nullptr;
    std::uint32_t root = 0;
    std::uint64_t uses = 0;
    bool placed = false;
    Place place;
    std::uint64_t end = 0;    ///< Of its bytes.
    std::uint32_t seen = 0;   ///< The last key that it is in,
    std::uint32_t where = 0;  ///< and its number there.
  };
  /// Bytes that a key names.
  struct Extent {
    Place place;
    std::uint64_t end = 0;
    std::uint32_t cluster = 0;
  };

  std::uint32_t number_of(const ggml_tensor& tensor);
  bool add_node(const ggml_tensor& node, bool near);
  bool add_operand(const ggml_tensor& tensor);
  void add_shape(const ggml_tensor& tensor);
  void add_packed(const PackedInput& packed);
  void add_places();

  std::span<const ggml_tensor* const> nodes_;
  const Uses& uses_;
  const PlaceFn& place_;
  std::uint64_t alignment_;
  std::unordered_map<const ggml_tensor*, std::uint32_t> numbers_;
  std::vector<Operand> operands_;
  std::uint32_t made_ = 0;   ///< Keys so far.
  std::uint32_t named_ = 0;  ///< Tensors in this one.
  std::vector<std::uint64_t> key_;
  std::vector<Extent> extents_;
  std::vector<std::uint32_t> order_;
  std::vector<Cluster> clusters_;
};

}  // namespace weft::plugin
