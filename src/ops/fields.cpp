#include "ops/fields.hpp"

#include <bit>
#include <utility>

namespace weft::ops {

void ParamBlock::add(std::string name, std::uint32_t value) {
  fields.push_back({std::move(name), ParamType::u32});
  words.push_back(value);
}

void ParamBlock::add(std::string name, std::int32_t value) {
  fields.push_back({std::move(name), ParamType::i32});
  words.push_back(static_cast<std::uint32_t>(value));
}

void ParamBlock::add(std::string name, float value) {
  fields.push_back({std::move(name), ParamType::f32});
  words.push_back(std::bit_cast<std::uint32_t>(value));
}

namespace detail {

wgsl::Constants read_constants(const void* object, std::span<const Member<ReadConstant>> members) {
  wgsl::Constants out;
  for (const auto& [name, offset, read] : members) {
    std::string constant(name);
    for (char& c : constant) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    out.emplace(std::move(constant), read(static_cast<const std::byte*>(object) + offset));
  }
  return out;
}

void add_params(ParamBlock& block, const void* object, std::span<const Member<AddParam>> members) {
  block.fields.reserve(block.fields.size() + members.size());
  block.words.reserve(block.words.size() + members.size());
  for (const auto& [name, offset, read] : members) {
    read(block, name, static_cast<const std::byte*>(object) + offset);
  }
}

}  // namespace detail
}  // namespace weft::ops
