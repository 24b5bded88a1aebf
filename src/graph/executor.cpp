#include "graph/executor.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/tables.hpp"

namespace weft::graph {

namespace {

/// Names of kernels that are remembered. More are forgotten all at once: the device still has those that were used last, so that
/// it costs a look at their text.
constexpr std::size_t most_kernels = 4096;

/// A compiler's message speaks of generated lines; people read the templates.
std::unexpected<Failure> at_template_lines(const ops::KernelSpec& spec, Failure failure) {
  const auto expanded = ops::render(spec);
  if (expanded) failure.message = wgsl::annotate(*expanded, failure.message);
  return std::unexpected(std::move(failure));
}

}  // namespace

Result<gpu::KernelDesc> Executor::describe(const ops::KernelSpec& spec) const {
  auto expanded = ops::render(spec);
  if (!expanded) return std::unexpected(expanded.error());
  gpu::KernelDesc desc;
  desc.label = spec.label;
  desc.trusted = true;  // Weft's own: the tests check every variant.
  desc.wgsl = std::move(expanded->text);
  for (const ops::BindingDecl& binding : spec.bindings) {
    desc.bindings.push_back(binding.writable ? gpu::Access::write : gpu::Access::read);
  }
  desc.params_bytes =
      round_up<std::uint32_t>(static_cast<std::uint32_t>(spec.params.size()) * 4, 16);
  return desc;
}

Result<gpu::Kernel> Executor::kernel(const ops::KernelSpec& spec) {
  const std::string key = spec.key();
  {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(key);
    if (found != kernels_.end()) {
      if (!options_.verify_keys) return found->second.kernel;
      const auto desc = describe(spec);
      if (!desc) return std::unexpected(desc.error());
      if (desc->wgsl == found->second.text) return found->second.kernel;
      return fail(ErrorCode::internal,
                  "Kernel {} has the key of another kernel ({}) but a different text.", spec.label,
                  key);
    }
  }
  auto desc = describe(spec);
  if (!desc) return std::unexpected(desc.error());
  auto compiled = device_.compile(*desc);
  if (!compiled) return at_template_lines(spec, compiled.error());
  const std::lock_guard lock(mutex_);
  if (kernels_.size() >= most_kernels) kernels_.clear();
  Entry entry{*compiled, options_.verify_keys ? std::move(desc->wgsl) : std::string()};
  return kernels_.try_emplace(key, std::move(entry)).first->second.kernel;
}

Result<gpu::Buffer> Executor::table(int slot) {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(slot);
  if (found != tables_.end()) return found->second;
  const std::span<const std::uint32_t> words = ops::table_words(slot);
  if (words.empty()) {
    return fail(ErrorCode::invalid_argument, "There is no table of constants with number {}.",
                slot);
  }
  auto buffer = device_.allocate(words.size_bytes(), "table");
  if (!buffer) return wrap(buffer.error(), "allocating a table of constants");
  if (const Status ok = device_.write(gpu::whole(*buffer), std::as_bytes(words)); !ok)
    return std::unexpected(ok.error());
  return tables_.emplace(slot, std::move(*buffer)).first->second;
}

Status Executor::prepare(std::span<const ops::Dispatch> dispatches) {
  std::vector<gpu::KernelDesc> descs;
  std::vector<std::string> keys;
  for (const ops::Dispatch& dispatch : dispatches) {
    std::string key = dispatch.kernel.key();
    if (std::ranges::find(keys, key) != keys.end()) continue;
    {
      const std::lock_guard lock(mutex_);
      if (kernels_.contains(key)) continue;
    }
    auto desc = describe(dispatch.kernel);
    if (!desc) return std::unexpected(desc.error());
    descs.push_back(std::move(*desc));
    keys.push_back(std::move(key));
  }
  if (descs.empty()) return {};
  auto compiled = device_.compile_all(descs);
  if (!compiled) return std::unexpected(compiled.error());
  const std::lock_guard lock(mutex_);
  if (kernels_.size() >= most_kernels) kernels_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Entry entry{(*compiled)[i], options_.verify_keys ? std::move(descs[i].wgsl) : std::string()};
    kernels_.try_emplace(keys[i], std::move(entry));
  }
  return {};
}

Result<std::vector<gpu::Kernel>> Executor::kernels(std::span<const ops::Dispatch> dispatches) {
  if (const Status ok = prepare(dispatches); !ok) return std::unexpected(ok.error());
  std::vector<gpu::Kernel> out;
  for (const ops::Dispatch& dispatch : dispatches) {
    auto compiled = kernel(dispatch.kernel);
    if (!compiled) return std::unexpected(compiled.error());
    out.push_back(std::move(*compiled));
  }
  return out;
}

Status Executor::launch(gpu::Stream& stream, const ops::Dispatch& dispatch,
                        const gpu::Kernel& kernel, std::span<const gpu::Slice> slots) {
  std::vector<gpu::Slice> bindings;
  for (const ops::BoundRange& range : dispatch.ranges) {
    if (range.slot <= ops::first_table_slot) {
      auto constants = table(range.slot);
      if (!constants) return std::unexpected(constants.error());
      bindings.push_back({std::move(*constants), range.offset, range.size});
      continue;
    }
    const auto index = static_cast<std::size_t>(range.slot);
    if (range.slot < 0 || index >= slots.size() || !slots[index].buffer) {
      return fail(ErrorCode::invalid_argument,
                  "Kernel {} uses buffer {}, but only {} buffers were given.",
                  dispatch.kernel.label, range.slot, slots.size());
    }
    const gpu::Slice& slot = slots[index];
    if (slot.offset + range.offset + range.size > slot.buffer.capacity()) {
      return fail(ErrorCode::invalid_argument,
                  "Kernel {} touches bytes {} to {} of buffer {}, which has {} bytes.",
                  dispatch.kernel.label, range.offset, range.offset + range.size, range.slot,
                  slot.size);
    }
    bindings.push_back({slot.buffer, slot.offset + range.offset, range.size});
  }
  std::vector<std::uint32_t> params = dispatch.params;
  params.resize(round_up<std::size_t>(params.size(), 4));
  const gpu::Grid grid{dispatch.grid.x, dispatch.grid.y, dispatch.grid.z};
  if (const Status ok = stream.dispatch(kernel, bindings, std::as_bytes(std::span(params)), grid);
      !ok) {
    return wrap(ok.error(), formatted("launching {}", dispatch.kernel.label));
  }
  return {};
}

Status Executor::run(gpu::Stream& stream, std::span<const ops::Dispatch> dispatches,
                     std::span<const gpu::Slice> slots) {
  for (const ops::Dispatch& dispatch : dispatches) {
    const auto compiled = kernel(dispatch.kernel);
    if (!compiled) return std::unexpected(compiled.error());
    if (const Status ok = launch(stream, dispatch, *compiled, slots); !ok) return ok;
  }
  return {};
}

Status Executor::run(gpu::Stream& stream, std::span<const ops::Dispatch> dispatches,
                     std::span<const gpu::Kernel> kernels, std::span<const gpu::Slice> slots) {
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    if (const Status ok = launch(stream, dispatches[i], kernels[i], slots); !ok) return ok;
  }
  return {};
}

Status Executor::run(gpu::Stream& stream, const ops::Plan& plan,
                     std::span<const gpu::Buffer> slots) {
  std::vector<gpu::Slice> slices;
  for (const gpu::Buffer& buffer : slots) slices.push_back({buffer, 0, buffer.capacity()});
  const auto first = static_cast<int>(slices.size());
  for (const std::uint64_t bytes : plan.scratch) {
    auto buffer = device_.allocate(bytes, "scratch");
    if (!buffer) return wrap(buffer.error(), "allocating scratch");
    slices.push_back({*buffer, 0, buffer->capacity()});
  }
  for (ops::Dispatch dispatch : plan.dispatches) {
    for (ops::BoundRange& range : dispatch.ranges) {
      if (range.slot >= ops::first_scratch_slot) range.slot += first - ops::first_scratch_slot;
    }
    const auto compiled = kernel(dispatch.kernel);
    if (!compiled) return std::unexpected(compiled.error());
    if (const Status ok = launch(stream, dispatch, *compiled, slices); !ok) return ok;
  }
  return {};
}

}  // namespace weft::graph
