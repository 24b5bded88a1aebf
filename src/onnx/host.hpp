#pragma once

#include <optional>

#include "onnx/call.hpp"

namespace weft::onnx {

/// The results of a node whose inputs are all known, where it is one of those that shapes are
/// computed with (or of types that only the host has); nothing otherwise.
std::optional<Values> on_host(Call& call);

/// The shape that shapes broadcast to; an error where they do not.
Shape broadcast_shapes(const std::vector<Shape>& shapes);
/// Whether a result is too large for the host to make.
bool too_large(const Shape& shape);
/// For each element of a result, the place of the element of a source that repeats to it.
std::vector<std::uint64_t> broadcast_places(const Shape& from, const Shape& to);
/// The elements of an array at some places, as another shape.
Array picked(const Array& from, Shape shape, const std::vector<std::uint64_t>& places);
/// Elements first, first + 1, … of an axis, which has them.
Array cut(const Array& from, std::size_t axis, std::uint64_t first, std::uint64_t count);

using HostTable = std::map<std::string, Op, std::less<>>;
void add_host_elementwise(HostTable& table);
void add_host_shape(HostTable& table);
void add_host_doubles(HostTable& table);

}  // namespace weft::onnx
