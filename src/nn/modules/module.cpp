#include "weft/nn/module.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/format.hpp"
#include "nn/modules/substitution.hpp"
#include "weft/io.hpp"
#include "weft/ops.hpp"
#include "weft/recover.hpp"

namespace weft::nn {

Tensor Init::uniform(const Shape& shape, double low, double high) {
  return random::uniform(next().on(device_), shape, {.low = low, .high = high});
}

Tensor Init::normal(const Shape& shape, double mean, double std) {
  return random::normal(next().on(device_), shape, {.mean = mean, .std = std});
}

Tensor Init::truncated_normal(const Shape& shape, double std) {
  return random::truncated_normal(next().on(device_), shape, {.std = std});
}

Tensor Init::fan_in_uniform(const Shape& shape, std::uint64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<std::uint64_t>(fan_in, 1)));
  return uniform(shape, -bound, bound);
}

Tensor Init::xavier_uniform(const Shape& shape, std::uint64_t fan_in, std::uint64_t fan_out) {
  const double bound =
      std::sqrt(6 / static_cast<double>(std::max<std::uint64_t>(fan_in + fan_out, 1)));
  return uniform(shape, -bound, bound);
}

Tensor Init::kaiming_normal(const Shape& shape, std::uint64_t fan_in) {
  return normal(shape, 0, std::sqrt(2 / static_cast<double>(std::max<std::uint64_t>(fan_in, 1))));
}

void Module::visit(const std::function<void(const std::string&, const Tensor&, bool)>& see,
                   const std::string& prefix) const {
  for (const Entry& entry : entries_) see(prefix + entry.name, entry.tensor, entry.trained);
  for (const Part& part : parts_) part.module->visit(see, prefix + part.name + ".");
}

std::vector<Named> Module::parameters() const {
  std::vector<Named> all;
  visit(
      [&](const std::string& name, const Tensor& tensor, bool trained) {
        if (trained) all.push_back({name, tensor});
      },
      "");
  return all;
}

std::vector<Named> Module::state() const {
  std::vector<Named> all;
  visit([&](const std::string& name, const Tensor& tensor,
            bool /*trained*/) { all.push_back({name, tensor}); },
        "");
  return all;
}

std::uint64_t Module::parameter_count() const {
  std::uint64_t count = 0;
  for (const Named& each : parameters()) count += each.tensor.size();
  return count;
}

void Module::load_state(const std::map<std::string, Tensor>& values) {
  std::vector<Update> updates;
  std::string missing;
  for (const Named& each : state()) {
    const auto found = values.find(each.name);
    if (found == values.end()) {
      missing += (missing.empty() ? "" : ", ") + each.name;
      continue;
    }
    if (found->second.shape() != each.tensor.shape()) {
      throw Error(
          ErrorCode::invalid_argument,
          formatted("load_state: '{}' has {} elements in another shape than the {} of the model.",
                    each.name, found->second.size(), each.tensor.size()));
    }
    updates.push_back({each.tensor, found->second.to(each.tensor.dtype())});
  }
  if (!missing.empty()) {
    throw Error(ErrorCode::not_found, formatted("load_state: no values for {}.", missing));
  }
  if (updates.size() != values.size()) {
    std::string unknown;
    const std::vector<Named> known = state();
    for (const auto& [name, tensor] : values) {
      if (std::ranges::find(known, name, &Named::name) == known.end()) {
        unknown += (unknown.empty() ? "" : ", ") + name;
      }
    }
    throw Error(ErrorCode::not_found, formatted("load_state: the model has no {}.", unknown));
  }
  apply(updates);
}

void Module::save(const std::filesystem::path& path) const {
  NamedTensors contents;
  for (const Named& each : state()) contents.tensors[each.name] = each.tensor;
  weft::save(path, contents);
}

void Module::load(const std::filesystem::path& path) {
  const std::vector<Named> all = state();
  if (all.empty()) return;
  load_state(weft::load(all.front().tensor.device(), path).tensors);
}

void Module::keep() const {
  for (const Named& each : state()) weft::keep(each.tensor);
}

void Module::train(bool on) {
  training_ = on;
  for (const Part& part : parts_) part.module->train(on);
}

void Module::set_key(const Tensor& key) {
  std::uint32_t stream = 0;
  set_key(key, stream);
}

void Module::set_key(const Tensor& key, std::uint32_t& stream) {
  key_ = key;
  stream_ = stream++;
  for (const Part& part : parts_) part.module->set_key(key, stream);
}

std::vector<Update> Module::take_updates() {
  std::vector<Update> all = std::move(updates_);
  updates_.clear();
  for (const Part& part : parts_) {
    const std::vector<Update> more = part.module->take_updates();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Tensor Module::now(const Tensor& parameter) const {
  for (const Entry& entry : entries_) {
    if (entry.instead && entry.tensor.is(parameter)) return entry.instead;
  }
  return parameter;
}

void Substitution::take(Module& model, std::span<const Tensor>& values) {
  for (Module::Entry& entry : model.entries_) {
    if (!entry.trained) continue;
    if (values.empty()) {
      throw Error(ErrorCode::internal, "There are fewer tensors than parameters to stand for.");
    }
    before_.emplace_back(&entry.instead, std::exchange(entry.instead, values.front()));
    values = values.subspan(1);
  }
  for (const Module::Part& part : model.parts_) take(*part.module, values);
}

std::vector<Tensor> Substitution::current(const Module& model) {
  std::vector<Tensor> all;
  for (const Module::Entry& entry : model.entries_) {
    if (entry.trained) all.push_back(entry.instead ? entry.instead : entry.tensor);
  }
  for (const Module::Part& part : model.parts_) {
    std::ranges::copy(current(*part.module), std::back_inserter(all));
  }
  return all;
}

Substitution::Substitution(Module& model, std::span<const Tensor> values) { take(model, values); }

Substitution::~Substitution() {
  for (auto& [place, before] : before_) *place = std::move(before);
}

void Module::add(const std::string& name, Module& part) { parts_.push_back({name, &part}); }

Tensor Module::parameter(const std::string& name, const Tensor& initial) {
  return entries_.emplace_back(name, variable(initial), true).tensor;
}

Tensor Module::buffer(const std::string& name, const Tensor& initial) {
  return entries_.emplace_back(name, variable(initial), false).tensor;
}

}  // namespace weft::nn
