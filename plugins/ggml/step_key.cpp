// What the launches of the nodes at the start of what is left of a graph depend on. Patterns and
// rows look at ops, parameters, types, shapes and strides of a few nodes and their sources, at
// which of these are the same tensor or views of one, at who else reads them (Uses), at what lies
// packed, and at how places overlap. Of products further ahead they look at the same; of other
// nodes there only at the op.
#include "step_key.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "api.hpp"
#include "base/math.hpp"
#include "fuse/patterns.hpp"

namespace weft::plugin {
namespace {

/// Nodes that a pattern may join, and those behind them among which it looks for products
/// (Candidates::packed_reader()).
constexpr std::size_t near_nodes = 12;
constexpr std::size_t far_nodes = near_nodes + 16;

bool is_product(const ggml_tensor& node) {
  return node.op == GGML_OP_MUL_MAT || node.op == GGML_OP_MUL_MAT_ID;
}

/// How many nodes the pattern can be long that begins with this one: a choice of experts, streams
/// of rotations, or products, norms and attention.
std::size_t near_of(const ggml_tensor& first) {
  switch (first.op) {
    case GGML_OP_SOFT_MAX:
    case GGML_OP_UNARY:
    case GGML_OP_ADD:
    case GGML_OP_ARGSORT: return near_nodes;
    default: return 7;
  }
}

}  // namespace

StepKeys::StepKeys(std::span<const ggml_tensor* const> nodes, const Uses& uses,
                   const PlaceFn& place, const Caps& caps)
    : nodes_(nodes), uses_(uses), place_(place), alignment_(caps.binding_alignment) {
  numbers_.reserve(nodes.size() * 2);
  operands_.reserve(nodes.size() * 2);
}

std::uint32_t StepKeys::number_of(const ggml_tensor& tensor) {
  const auto [found, fresh] =
      numbers_.try_emplace(&tensor, static_cast<std::uint32_t>(operands_.size()));
  if (!fresh) return found->second;
  const std::uint32_t number = found->second;
  Operand operand{.tensor = &tensor, .root = number, .uses = uses_.summary(tensor)};
  if (const auto place = place_(tensor)) {
    operand.placed = true;
    operand.place = *place;
    operand.end = place->offset + api().nbytes(&tensor);
  }
  operands_.push_back(operand);
  if (tensor.view_src != nullptr) {
    const std::uint32_t root = number_of(*tensor.view_src);
    operands_[number].root = root;
  }
  return number;
}

void StepKeys::add_shape(const ggml_tensor& tensor) {
  key_.push_back(static_cast<std::uint64_t>(tensor.op) << 32U |
                 static_cast<std::uint64_t>(tensor.type));
  for (const std::int64_t extent : tensor.ne) key_.push_back(static_cast<std::uint64_t>(extent));
  for (const std::size_t stride : tensor.nb) key_.push_back(stride);
}

bool StepKeys::add_operand(const ggml_tensor& tensor) {
  const std::uint32_t number = number_of(tensor);
  if (operands_[number].seen == made_) {
    key_.push_back(operands_[number].where);
    return true;
  }
  if (!operands_[number].placed) return false;
  operands_[number].seen = made_;
  operands_[number].where = ++named_;
  key_.push_back(named_);
  key_.push_back(operands_[number].uses);
  add_shape(tensor);
  extents_.push_back({operands_[number].place, operands_[number].end, 0});
  if (tensor.view_src == nullptr) {
    key_.push_back(0);
    return true;
  }
  // What it is a view of; nothing is bound of that.
  const ggml_tensor& root = *tensor.view_src;
  key_.push_back(tensor.view_offs);
  key_.push_back(std::bit_cast<std::uintptr_t>(tensor.data) -
                 std::bit_cast<std::uintptr_t>(root.data));
  return add_operand(root);
}

bool StepKeys::add_node(const ggml_tensor& node, bool near) {
  key_.push_back(static_cast<std::uint64_t>(node.op) << 32U |
                 static_cast<std::uint64_t>(static_cast<std::uint32_t>(node.flags)));
  if (!near && !is_product(node)) return true;
  for (const std::int32_t word : node.op_params) {
    key_.push_back(static_cast<std::uint64_t>(static_cast<std::uint32_t>(word)));
  }
  if (!add_operand(node)) return false;
  for (const ggml_tensor* source : node.src) {
    if (source == nullptr) {
      key_.push_back(0);
    } else if (!add_operand(*source)) {
      return false;
    }
  }
  return true;
}

void StepKeys::add_packed(const PackedInput& packed) {
  key_.push_back(packed.next());
  for (const PackedInput::Entry& entry : packed.entries()) {
    const bool given = entry.packed.given();
    key_.push_back(given ? 1 : 0);
    if (!given) continue;
    const ops::View& x = entry.x;
    key_.push_back(static_cast<std::uint64_t>(x.dtype) << 32U | x.rank);
    for (std::uint32_t i = 0; i < x.rank; ++i) {
      key_.push_back(x.shape[i]);
      key_.push_back(x.stride[i]);
    }
    extents_.push_back({{x.slot, x.offset}, x.bytes().end, 0});
  }
}

/// Puts the extents that bindings may share into clusters, and says where in those they lie.
void StepKeys::add_places() {
  const auto begin_of = [this](std::uint32_t i) {
    return round_down<std::uint64_t>(extents_[i].place.offset, alignment_);
  };
  order_.resize(extents_.size());
  for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::ranges::sort(order_, {}, [&](std::uint32_t i) {
    return std::pair(extents_[i].place.slot.number(), begin_of(i));
  });
  std::vector<Cluster> found;
  for (const std::uint32_t i : order_) {
    Extent& extent = extents_[i];
    const std::uint64_t begin = begin_of(i);
    const std::uint64_t end = round_up<std::uint64_t>(std::max(extent.end, begin + 16), 16);
    const bool joins =
        !found.empty() && found.back().slot == extent.place.slot && begin < found.back().end;
    if (joins) {
      found.back().end = std::max(found.back().end, end);
    } else {
      found.push_back({extent.place.slot, begin, end});
    }
    extent.cluster = static_cast<std::uint32_t>(found.size() - 1);
  }
  // Clusters and slots are numbered in the order in which the key names them.
  std::vector<std::uint32_t> renumbered(found.size(), 0);
  std::vector<ops::Slot> slots;
  clusters_.clear();
  for (const Extent& extent : extents_) {
    std::uint32_t& number = renumbered[extent.cluster];
    if (number == 0) {
      clusters_.push_back(found[extent.cluster]);
      number = static_cast<std::uint32_t>(clusters_.size());
      auto slot = std::ranges::find(slots, extent.place.slot);
      if (slot == slots.end()) slot = slots.insert(slots.end(), extent.place.slot);
      key_.push_back(static_cast<std::uint64_t>(slot - slots.begin()));
      key_.push_back(clusters_.back().end - clusters_.back().begin);
    }
    key_.push_back(number);
    key_.push_back(extent.place.offset - found[extent.cluster].begin);
  }
}

bool StepKeys::make(std::size_t first, const PackedInput& packed) {
  ++made_;
  named_ = 0;
  key_.clear();
  extents_.clear();
  const auto left = nodes_.subspan(first);
  const std::size_t near = near_of(*left.front());
  const std::size_t count = std::min(left.size(), far_nodes);
  key_.push_back(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!add_node(*left[i], i < near)) return false;
  }
  add_packed(packed);
  add_places();
  return true;
}

}  // namespace weft::plugin
