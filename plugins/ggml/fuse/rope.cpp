// Rotary positions of queries and keys, and the rows of caches that keys and values go to.
#include "ops/rope/rope.hpp"

#include <array>
#include <vector>

#include "fuse/patterns.hpp"
#include "ops/overlap.hpp"
#include "rows/attention.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::View;
using ops::rope::Args;

/// Whether two views have the same bytes in the same order.
bool same_bytes(const View& a, const View& b) {
  return a.slot == b.slot && a.offset == b.offset && a.dtype == b.dtype && a.is_dense() &&
         b.is_dense() && a.count() == b.count();
}

/// Whether a stream can run at the same time as the others: none writes what another one reads or
/// writes.
bool may_join(const std::vector<Args>& streams, const Args& args) {
  for (const Args& other : streams) {
    if (ops::overlap(args.y, other.y)) return false;
    for (const View& read : {args.x, args.rows, args.positions, args.factors}) {
      if (ops::overlap(other.y, read)) return false;
    }
    for (const View& read : {other.x, other.rows, other.positions, other.factors}) {
      if (ops::overlap(args.y, read)) return false;
    }
  }
  return true;
}

/// Rows of a table that one index each of src1 names, [1, rows, heads, size] for a tensor of that
/// many heads.
struct Target {
  View table;
  View rows;
};

std::optional<Target> target_of(const Node& set_rows, std::uint64_t heads, std::uint64_t size) {
  const View& table = set_rows.dst;
  const View& source = set_rows.src[0];
  const View& indices = set_rows.src[1];
  const auto one = [](const View& view, std::uint32_t dims) {
    for (std::uint32_t i = 0; i < dims; ++i) {
      if (view.shape[i] != 1) return false;
    }
    return true;
  };
  if (!one(table, 2) || !one(source, 2) || !one(indices, 3) || !is_float(table.dtype) ||
      table.shape[3] != heads * size || indices.shape[3] != source.shape[2]) {
    return std::nullopt;
  }
  View split = table.split(3, size);  // [1, 1, rows, heads, size]
  return Target{drop_front(split), drop_front(indices, 3)};
}

/// A stream of the launch: the rope of `node`, or nothing where it is none that goes with others.
std::optional<Args> stream_of(const Node& node, const Caps& caps) {
  auto args = rope_args(node, false);
  if (!args || !ops::rope::plan(*args, caps)) return std::nullopt;
  return *args;
}

}  // namespace

/// ROPE (queries), then ROPE and SET_ROWS (keys), then SET_ROWS (values); only a ROPE must be
/// there, and two nodes.
std::optional<Fusion> fuse_rope(const Candidates& candidates) {
  if (!candidates.is(0, GGML_OP_ROPE)) return std::nullopt;
  std::vector<Args> streams;
  std::size_t used = 0;
  std::optional<Fusion> best;
  const auto keep = [&] {
    if (used < 2) return;
    if (auto fusion = fusion_of(used, ops::rope::plan_together(streams, candidates.caps))) {
      best = std::move(fusion);
    }
  };
  while (streams.size() < ops::rope::max_streams && candidates.is(used, GGML_OP_ROPE)) {
    const ggml_tensor& rope = *candidates.at(used);
    const auto node = candidates.node(rope);
    auto args = node ? stream_of(*node, candidates.caps) : std::nullopt;
    if (!args) break;
    std::size_t next = used + 1;
    if (candidates.is(next, GGML_OP_SET_ROWS) && candidates.uses.only_once(rope) &&
        &root_of(*candidates.at(next)->src[0]) == &rope) {
      const auto set = candidates.node(*candidates.at(next));
      const auto target = set && same_bytes(set->src[0], node->dst)
                              ? target_of(*set, args->x.shape[2], args->x.shape[3])
                              : std::nullopt;
      if (target) {
        args->y = target->table;
        args->rows = target->rows;
        ++next;
      }
    }
    if (!may_join(streams, *args)) break;
    streams.push_back(*args);
    used = next;
    keep();
  }
  while (!streams.empty() && streams.size() < ops::rope::max_streams &&
         candidates.is(used, GGML_OP_SET_ROWS)) {
    const auto set = candidates.node(*candidates.at(used));
    if (!set) break;
    // Values have no heads here: a row is one head that does not turn.
    const View& source = set->src[0];
    const auto target = target_of(*set, 1, source.shape[3]);
    if (!target || !is_float(source.dtype)) break;
    Args args = streams.front();
    args.x = drop_front(source).unsqueeze(2);  // [1, rows, 1, size]
    args.y = target->table;
    args.rows = target->rows;
    args.dims = 0;
    args.offset = 0;
    if (!may_join(streams, args)) break;
    streams.push_back(args);
    ++used;
    keep();
  }
  return best;
}

}  // namespace weft::plugin
