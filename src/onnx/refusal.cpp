#include "onnx/refusal.hpp"

#include <algorithm>

namespace weft::onnx {
namespace {

constexpr std::uint64_t any_extent = 2;  // stands for extents that are not known

/// A type of tensors that results and other values may have.
bool computes(Type type) { return dtype_of(type) && type != Type::i16; }

std::optional<std::string> wrong_type(const Prospect& prospect) {
  for (const Expected& one : prospect.inputs) {
    if (one.type != Type::none && !computes(one.type) &&
        (!one.constant || one.type == Type::string))
      return formatted("it takes elements of {}.", name(one.type));
  }
  for (const Expected& one : prospect.outputs) {
    if (one.type != Type::none && !computes(one.type))
      return formatted("it gives elements of {}.", name(one.type));
  }
  return std::nullopt;
}

bool is_small(const TensorProto& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : tensor.dims) {
    if (extent < 0 || (extent > 0 && count > most_examined / static_cast<std::uint64_t>(extent)))
      return false;
    count *= static_cast<std::uint64_t>(extent);
  }
  return true;
}

/// A value that stands for an input; nothing where not even the number of its dimensions is known.
std::optional<Value> stand_in(Context& context, const Expected& input, std::uint32_t place,
                              bool& guessed) {
  if (input.type == Type::none) return Value();
  if (input.constant && (is_small(*input.constant) || !computes(input.type)))
    return context.constant(*input.constant);
  std::vector<std::int64_t> extents;
  if (input.constant)
    extents = input.constant->dims;
  else if (input.shape)
    extents = *input.shape;
  else
    return std::nullopt;
  Shape shape;
  for (const std::int64_t extent : extents) {
    guessed = guessed || extent < 0;
    shape.push_back(extent < 0 ? any_extent : static_cast<std::uint64_t>(extent));
  }
  const std::optional<DType> dtype = dtype_of(input.type);
  if (!dtype) return std::nullopt;
  Value value(context.device.full(shape, 0, *dtype));
  value.set_sources({place});
  return value;
}

/// What a result is that is not as expected.
std::optional<std::string> difference(const Value* is, const Expected& must, bool guessed) {
  if (is == nullptr || !is->exists() || is->is_sequence()) return "a result is no tensor.";
  if (is->type() != must.type)
    return formatted("it would give {} where {} is expected.", describe(*is), name(must.type));
  if (guessed || !must.shape) return std::nullopt;
  const Shape& shape = is->shape();
  bool fits = shape.size() == must.shape->size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d) {
    const std::int64_t extent = must.shape->at(d);
    fits = extent < 0 || static_cast<std::uint64_t>(extent) == shape[d];
  }
  if (fits) return std::nullopt;
  return formatted("it would give {}, which is not the shape that is expected.", describe(*is));
}

}  // namespace

std::optional<std::string> refusal(const Device& device,
                                   const std::map<std::string, std::int64_t>& opsets,
                                   const std::shared_ptr<const void>& keep,
                                   const Prospect& prospect) {
  const Node& node = prospect.node;
  if (find_op(node) == nullptr) return "Weft does not know this operation.";
  if (auto why = wrong_type(prospect)) return why;
  if (std::ranges::any_of(node.attributes, [](const Attribute& one) { return one.g != nullptr; }))
    return std::nullopt;
  const auto is_sequence = [](const Expected& one) { return one.is_sequence; };
  if (std::ranges::any_of(prospect.inputs, is_sequence) ||
      std::ranges::any_of(prospect.outputs, is_sequence))
    return std::nullopt;
  Context context{.device = device};
  context.opsets = opsets;
  context.keep = keep;
  bool guessed = prospect.may_never_run;
  try {
    Scope scope;
    for (std::size_t i = 0; i < prospect.inputs.size() && i < node.inputs.size(); ++i) {
      if (node.inputs[i].empty()) continue;
      const std::optional<Value> value =
          stand_in(context, prospect.inputs[i], static_cast<std::uint32_t>(i), guessed);
      if (!value) return std::nullopt;
      scope.values[node.inputs[i]] = *value;
    }
    run_nodes(context, {node}, scope);
    for (std::size_t i = 0; i < prospect.outputs.size() && i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      if (auto why = difference(scope.find(node.outputs[i]), prospect.outputs[i], guessed))
        return why;
    }
  } catch (const NeedsElements&) {
    return std::nullopt;  // known when it runs
  } catch (const Error& error) {
    // Extents that were made up may not fit together.
    if (!guessed || error.code() == ErrorCode::unsupported) return error.what();
  }
  return std::nullopt;
}

}  // namespace weft::onnx
