#include "onnx/host.hpp"

#include <algorithm>
#include <cstring>

namespace weft::onnx {

namespace {
constexpr std::uint64_t most_elements = 1 << 14;  // larger ones are the device's work
constexpr std::uint64_t most_made = 1 << 22;

const HostTable& host_table() {
  static const HostTable all = [] {
    HostTable out;
    add_host_elementwise(out);
    add_host_shape(out);
    add_host_doubles(out);
    return out;
  }();
  return all;
}
}  // namespace

std::optional<Values> on_host(Call& call) {
  if (!call.node.domain.empty() || call.inputs.empty()) return std::nullopt;
  bool small = true;
  bool known = true;
  bool only_here = false;
  for (const Value& value : call.inputs) {
    if (!value.exists()) continue;
    if (value.is_sequence()) return std::nullopt;
    known = known && value.known() != nullptr;
    small = small && value.size() <= most_elements;
    only_here = only_here || !dtype_of(value.type());
  }
  if (!only_here && (!small || !known)) return std::nullopt;
  const auto found = host_table().find(call.node.op);
  if (found == host_table().end()) return std::nullopt;
  Values out = found->second(call);
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

Shape broadcast_shapes(const std::vector<Shape>& shapes) {
  std::size_t rank = 0;
  for (const Shape& one : shapes) rank = std::max(rank, one.size());
  Shape out(rank, 1);
  for (const Shape& one : shapes) {
    for (std::size_t i = 0; i < one.size(); ++i) {
      std::uint64_t& extent = out[rank - one.size() + i];
      if (extent == one[i] || one[i] == 1) continue;
      if (extent != 1)
        throw Error(ErrorCode::invalid_argument, formatted("Shapes {} and {} do not broadcast.",
                                                           text_of(shapes.front()), text_of(one)));
      extent = one[i];
    }
  }
  return out;
}

bool too_large(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) {
    if (extent == 0) continue;  // Steps over the other axes are taken all the same.
    if (count > most_made / extent) return true;
    count *= extent;
  }
  return false;
}

std::vector<std::uint64_t> broadcast_places(const Shape& from, const Shape& to) {
  bool fits = from.size() <= to.size();
  for (std::size_t i = 0; fits && i < from.size(); ++i) {
    fits = from[i] == 1 || from[i] == to[to.size() - from.size() + i];
  }
  if (!fits) {
    throw Error(ErrorCode::invalid_argument,
                formatted("{} does not broadcast to {}.", text_of(from), text_of(to)));
  }
  std::vector<std::uint64_t> steps(to.size(), 0);
  std::uint64_t step = 1;
  for (std::size_t i = from.size(); i-- > 0;) {
    steps[to.size() - from.size() + i] = from[i] == 1 ? 0 : step;
    step *= from[i];
  }
  std::uint64_t count = 1;
  for (const std::uint64_t extent : to) count *= extent;
  std::vector<std::uint64_t> out(count);
  Shape at(to.size(), 0);
  for (std::uint64_t i = 0, place = 0; i < count; ++i) {
    out[i] = place;
    for (std::size_t d = to.size(); d-- > 0;) {
      place += steps[d];
      if (++at[d] < to[d]) break;
      place -= steps[d] * to[d];
      at[d] = 0;
    }
  }
  return out;
}

Array picked(const Array& from, Shape shape, const std::vector<std::uint64_t>& places) {
  Array out{.type = from.type, .shape = std::move(shape), .bytes = {}, .keep = {}, .strings = {}};
  if (from.type == Type::string) {
    for (const std::uint64_t place : places) out.strings.push_back(from.strings.at(place));
    return out;
  }
  const std::size_t each = size_of(from.type);
  const auto owner = std::make_shared<std::vector<std::byte>>(places.size() * each);
  for (std::size_t i = 0; i < places.size(); ++i)
    std::memcpy(owner->data() + i * each, from.bytes.subspan(places[i] * each, each).data(), each);
  out.bytes = *owner;
  out.keep = owner;
  return out;
}

Array cut(const Array& from, std::size_t axis, std::uint64_t first, std::uint64_t count) {
  Array out{.type = from.type, .shape = from.shape, .bytes = {}, .keep = {}, .strings = {}};
  out.shape[axis] = count;
  std::uint64_t outer = 1;
  std::uint64_t inner = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= from.shape[d];
  for (std::size_t d = axis + 1; d < from.shape.size(); ++d) inner *= from.shape[d];
  const std::size_t each = size_of(from.type);
  const auto owner = std::make_shared<std::vector<std::byte>>();
  for (std::uint64_t row = 0; row < outer && inner * count != 0; ++row) {
    const std::uint64_t start = (row * from.shape[axis] + first) * inner;
    if (from.type == Type::string) {
      for (std::uint64_t i = 0; i < count * inner; ++i)
        out.strings.push_back(from.strings.at(start + i));
    } else {
      const auto part = from.bytes.subspan(start * each, count * inner * each);
      owner->insert(owner->end(), part.begin(), part.end());
    }
  }
  out.bytes = *owner;
  out.keep = owner;
  return out;
}

}  // namespace weft::onnx
