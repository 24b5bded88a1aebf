#include "fuse/fuse.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <string_view>

#include "base/hash.hpp"
#include "fuse/patterns.hpp"
#include "ops/overlap.hpp"
#include "rows/matmul.hpp"

namespace weft::plugin {
namespace {

/// The first that fits is taken.
constexpr std::array<Pattern, 5> patterns{fuse_norm, fuse_rope, fuse_attention, fuse_products,
                                          fuse_router};

}  // namespace

bool fusing() {
  static const char* const value = std::getenv("WEFT_FUSE");
  return value == nullptr || (std::string_view(value) != "off" && std::string_view(value) != "0");
}

bool is_computed(const ggml_tensor& tensor) {
  return (tensor.flags & GGML_TENSOR_FLAG_COMPUTE) != 0 && !is_view_op(tensor.op);
}

bool same_shape(const ggml_tensor& a, const ggml_tensor& b) {
  return std::ranges::equal(a.ne, b.ne);
}

bool broadcasts(const ggml_tensor& small, const ggml_tensor& whole) {
  for (int i = 0; i < GGML_MAX_DIMS; ++i) {
    if (small.ne[i] != whole.ne[i] && small.ne[i] != 1) return false;
  }
  return true;
}

const ggml_tensor* other_operand(const ggml_tensor& node, const ggml_tensor& tensor) {
  if (node.src[0] == node.src[1] || !same_shape(node, tensor)) return nullptr;
  if (node.src[0] == &tensor) return node.src[1];
  return node.src[1] == &tensor ? node.src[0] : nullptr;
}

bool same_view(const ops::View& a, const ops::View& b) {
  return a.slot == b.slot && a.offset == b.offset && a.dtype == b.dtype &&
         std::ranges::equal(a.extents(), b.extents()) && a.stride == b.stride;
}

bool safe_in_rows(std::initializer_list<ops::View> outputs,
                  std::initializer_list<ops::View> inputs) {
  return std::ranges::all_of(outputs, [&](const ops::View& output) {
    return std::ranges::all_of(inputs, [&](const ops::View& input) {
      return !input.given() || !output.given() || !ops::overlap(output, input) ||
             same_view(output, input);
    });
  });
}

std::optional<ops::View> Candidates::packed_reader(std::size_t from,
                                                   const ops::View& result) const {
  constexpr std::size_t window = 16;
  for (std::size_t i = from; i < std::min(nodes.size(), from + window); ++i) {
    if (nodes[i]->op != GGML_OP_MUL_MAT && nodes[i]->op != GGML_OP_MUL_MAT_ID) continue;
    const auto product = node(*nodes[i]);
    const auto x = product ? packed_source(*product, caps, true) : std::nullopt;
    if (x && x->slot == result.slot && x->offset == result.offset && x->dtype == result.dtype &&
        x->is_dense() && result.is_dense() && x->count() == result.count()) {
      return x;
    }
  }
  return std::nullopt;
}

std::optional<Fusion> Candidates::packing(
    std::size_t count, const ops::View& result, const ops::View& rows, const ops::View& busy,
    const std::function<Result<ops::Plan>(const ops::View& room)>& plan) const {
  const auto x = packed_reader(count, result);
  if (x && x->shape[x->rank - 1] == rows.shape[rows.rank - 1]) {
    if (auto made = plan(packed.room(rows, busy))) {
      return Fusion{count, std::move(*made), *x, packed.room(*x, busy)};
    }
  }
  return fusion_of(count, plan({}));
}

std::optional<Node> Candidates::node(const ggml_tensor& tensor) const {
  auto made = make_node(tensor, place);
  return made ? std::optional(std::move(*made)) : std::nullopt;
}

Uses::Uses(std::span<ggml_tensor* const> nodes,
           const std::function<int(const ggml_tensor&)>& counts) {
  const auto reads = [this](const ggml_tensor& tensor) {
    counts_[&root_of(tensor)].readers.push_back(&tensor);
  };
  for (const ggml_tensor* node : nodes) {
    const bool computed = is_computed(*node);
    for (const ggml_tensor* source : node->src) {
      if (source == nullptr) continue;
      ++counts_[source].sources;
      if (computed) reads(*source);
    }
    const bool output = (node->flags & GGML_TENSOR_FLAG_OUTPUT) != 0;
    if (output || (computed && node->view_src != nullptr)) reads(*node);
  }
  for (const ggml_tensor* node : nodes) counts_[node].known = counts(*node);
  // What another part of the graph reads through a view counts as well.
  for (const ggml_tensor* node : nodes) {
    const Count& count = counts_[node];
    if (node->view_src != nullptr && count.known != count.sources) reads(*node);
  }
}

const Uses::Count* Uses::private_count(const ggml_tensor& tensor) const {
  const auto found = counts_.find(&tensor);
  if (tensor.view_src != nullptr || found == counts_.end()) return nullptr;
  return found->second.known == found->second.sources ? &found->second : nullptr;
}

bool Uses::only_once(const ggml_tensor& tensor) const {
  const Count* count = private_count(tensor);
  return count != nullptr && count->readers.size() == 1;
}

bool Uses::only_among(const ggml_tensor& tensor, std::span<const ggml_tensor* const> nodes) const {
  const Count* count = private_count(tensor);
  std::size_t readers = 0;
  for (const ggml_tensor* node : nodes) {
    for (const ggml_tensor* source : node->src) {
      if (source != nullptr && &root_of(*source) == &tensor) ++readers;
    }
  }
  return count != nullptr && count->readers.size() == readers;
}

bool Uses::only_as(const ggml_tensor& tensor, const ggml_tensor& view) const {
  const Count* count = private_count(tensor);
  return count != nullptr && std::ranges::all_of(count->readers, [&](const ggml_tensor* seen) {
           return seen->data == view.data && seen->ne[0] == view.ne[0] && seen->nb[1] == view.nb[1];
         });
}

std::uint64_t Uses::summary(const ggml_tensor& tensor) const {
  const Count* count = private_count(tensor);
  if (count == nullptr) return 0;
  std::vector<std::uint64_t> seen{count->readers.size()};
  for (const ggml_tensor* reader : count->readers) {
    seen.push_back(std::bit_cast<std::uintptr_t>(reader->data) -
                   std::bit_cast<std::uintptr_t>(tensor.data));
    seen.push_back(static_cast<std::uint64_t>(reader->ne[0]));
    seen.push_back(reader->nb[1]);
  }
  return hash_bytes(std::as_bytes(std::span(seen)), 1);
}

std::optional<Fusion> fuse(std::span<const ggml_tensor* const> nodes, const Uses& uses,
                           const PlaceFn& place, const PackedInput& packed, const Caps& caps) {
  const Candidates candidates{nodes, uses, place, packed, caps};
  for (const Pattern pattern : patterns) {
    if (auto fusion = pattern(candidates)) return fusion;
  }
  return std::nullopt;
}

}  // namespace weft::plugin
