#include "graph/sum_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "describe/attributes/pad.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "weft/ops.hpp"

namespace weft::graph {
namespace {

/// A tensor that is zero except for a range of one axis, which another tensor fills.
struct Inset {
  std::uint32_t axis = 0;
  std::uint64_t first = 0;
  Tensor filled{};

  [[nodiscard]] std::uint64_t end() const { return first + filled.shape()[axis]; }
};

std::optional<Inset> inset_of(const Tensor& part) {
  const Value value = Access::value(part);
  const Node& node = *value.node;
  const auto* pad = node.attributes.get_if<PadAttributes>();
  if (node.rule != &kinds::pad || pad == nullptr || pad->value != 0 || node.inputs.empty()) {
    return std::nullopt;
  }
  std::optional<std::uint32_t> axis;
  for (std::uint32_t i = 0; i < pad->low.size(); ++i) {
    if (pad->low[i] == 0 && pad->high[i] == 0) continue;
    if (axis) return std::nullopt;
    axis = i;
  }
  if (!axis) return std::nullopt;
  return Inset{*axis, pad->low[*axis], Access::tensor(node.inputs.front())};
}

/// Insets of one axis in ascending order, in which those of one place are added.
std::vector<Inset> ordered(std::vector<Inset> insets) {
  std::ranges::stable_sort(insets, {}, &Inset::first);
  std::vector<Inset> out;
  for (Inset& inset : insets) {
    if (!out.empty() && out.back().first == inset.first && out.back().end() == inset.end()) {
      out.back().filled = out.back().filled + inset.filled;
    } else {
      out.push_back(std::move(inset));
    }
  }
  return out;
}

/// Insets [begin, end) that adjoin each other as a tensor of the given shape.
Tensor joined(std::span<const Inset> run, const Shape& shape) {
  const std::uint32_t axis = run.front().axis;
  std::vector<Tensor> filled;
  for (const Inset& inset : run) filled.push_back(inset.filled);
  const Where where = Where::current();
  Tensor middle = run.size() == 1 ? filled.front() : concat(filled, static_cast<int>(axis), where);
  if (middle.shape() == shape) return middle;
  Shape low(shape.size(), 0);
  Shape high(shape.size(), 0);
  low[axis] = run.front().first;
  high[axis] = shape[axis] - run.back().end();
  return pad(In(middle, where), low, high);
}

}  // namespace

Tensor sum_parts(std::vector<Tensor> parts) {
  if (parts.size() == 1) return parts.front();
  const Shape shape = parts.front().shape();
  std::map<std::uint32_t, std::vector<Inset>> by_axis;
  std::erase_if(parts, [&](const Tensor& part) {
    std::optional<Inset> inset = inset_of(part);
    if (inset) by_axis[inset->axis].push_back(std::move(*inset));
    return inset.has_value();
  });
  for (auto& [axis, insets] : by_axis) {
    insets = ordered(std::move(insets));
    for (std::size_t begin = 0; begin < insets.size();) {
      std::size_t end = begin + 1;
      while (end < insets.size() && insets[end].first == insets[end - 1].end()) ++end;
      parts.push_back(joined(std::span(insets).subspan(begin, end - begin), shape));
      begin = end;
    }
  }
  Tensor sum = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i];
  return sum;
}

}  // namespace weft::graph
