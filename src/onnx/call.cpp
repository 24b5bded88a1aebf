#include "onnx/call.hpp"

#include <optional>

namespace weft::onnx {

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

Value Context::constant(const TensorProto& tensor) {
  const auto found = constants.find(&tensor);
  if (found != constants.end()) return found->second;
  Result<Array> array = array_from(tensor, keep, open);
  if (!array) throw Error(array.error().code, array.error().message);
  return constants[&tensor] = Value(std::move(*array));
}

void Call::refuse(const std::string& why, ErrorCode code) const { throw Error(code, why); }

const Value& Call::in(std::size_t i) const {
  if (!has(i)) wrong(formatted("Input {} is missing.", i));
  return inputs[i];
}

const Array& Call::host(const Value& value) const {
  if (const Array* known = value.known()) return *known;
  if (!value.sources().empty()) {
    throw NeedsElements(value.sources(),
                        formatted("{} needs the elements of {}, which follow from the inputs.",
                                  node.op, describe(value)));
  }
  return value.read();
}

const Array& Call::host(std::size_t i) const { return host(in(i)); }

std::int64_t Call::scalar_int(std::size_t i) const {
  const auto values = ints(i);
  if (values.size() != 1)
    wrong(formatted("Input {} must be one number; it has {}.", i, values.size()));
  return values.front();
}

double Call::scalar(std::size_t i) const {
  const auto values = host(i).doubles();
  if (values.size() != 1)
    wrong(formatted("Input {} must be one number; it has {}.", i, values.size()));
  return values.front();
}

const Attribute* Call::attribute(std::string_view name) const {
  for (const Attribute& one : node.attributes) {
    if (one.name != name) continue;
    if (one.reference.empty()) return &one;
    for (const Scope* at = &scope; at != nullptr; at = at->parent) {
      if (at->attributes == nullptr) continue;
      const auto found = at->attributes->find(one.reference);
      return found == at->attributes->end() ? nullptr : &found->second;
    }
    return nullptr;
  }
  return nullptr;
}

std::int64_t Call::i(std::string_view name, std::int64_t otherwise) const {
  const Attribute* found = attribute(name);
  return found == nullptr ? otherwise : found->i;
}
double Call::f(std::string_view name, double otherwise) const {
  const Attribute* found = attribute(name);
  return found == nullptr ? otherwise : static_cast<double>(found->f);
}
Type Call::type(std::string_view name, Type otherwise) const {
  const std::int64_t number = i(name, static_cast<std::int64_t>(otherwise));
  if (number < 0 || number > static_cast<std::int64_t>(last_type))
    wrong(formatted("There is no element type {} ({}).", number, name));
  return static_cast<Type>(number);
}
std::string Call::s(std::string_view name, std::string_view otherwise) const {
  const Attribute* found = attribute(name);
  return found == nullptr ? std::string(otherwise) : found->s;
}
std::vector<std::int64_t> Call::is(std::string_view name,
                                   std::vector<std::int64_t> otherwise) const {
  const Attribute* found = attribute(name);
  if (found != nullptr) return found->ints;
  return otherwise;
}
std::vector<double> Call::fs(std::string_view name, std::vector<double> otherwise) const {
  const Attribute* found = attribute(name);
  return found == nullptr ? std::move(otherwise)
                          : std::vector<double>(found->floats.begin(), found->floats.end());
}
const GraphProto& Call::graph(std::string_view name) const {
  const Attribute* found = attribute(name);
  if (found == nullptr || !found->g) wrong(formatted("The graph '{}' is missing.", name));
  return *found->g;
}

std::optional<std::vector<std::int64_t>> Call::ints_of(std::size_t input,
                                                       std::string_view name) const {
  if (has(input)) return ints(input);
  if (attribute(name) != nullptr) return is(name);
  return std::nullopt;
}

}  // namespace weft::onnx
