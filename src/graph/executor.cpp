#include "graph/executor.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/report.hpp"
#include "ops/tables.hpp"

namespace weft::graph {

namespace {

/// Names of kernels that are remembered. More are forgotten all at once: the device still has those
/// that were used last, so that it costs a look at their text.
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

Result<const gpu::Kernel*> Executor::find(const std::string& key,
                                          const ops::KernelSpec& spec) const {
  const auto found = kernels_.find(key);
  if (found == kernels_.end()) return nullptr;
  if (!options_.verify_keys) return &found->second.kernel;
  const auto desc = describe(spec);
  if (!desc) return std::unexpected(desc.error());
  if (desc->wgsl == found->second.text) return &found->second.kernel;
  return fail(ErrorCode::internal,
              "Kernel {} has the key of another kernel ({}) but a different text.", spec.label,
              key);
}

Result<gpu::Kernel> Executor::kernel(const ops::KernelSpec& spec) {
  std::string key = spec.key();
  {
    const std::lock_guard lock(mutex_);
    const auto found = find(key, spec);
    if (!found) return std::unexpected(found.error());
    if (*found != nullptr) return **found;
  }
  auto desc = describe(spec);
  if (!desc) return std::unexpected(desc.error());
  auto compiled = device_.compile(*desc);
  if (!compiled) return at_template_lines(spec, compiled.error());
  const std::lock_guard lock(mutex_);
  if (kernels_.size() >= most_kernels) kernels_.clear();
  Entry entry{*compiled, options_.verify_keys ? std::move(desc->wgsl) : std::string()};
  return kernels_.try_emplace(std::move(key), std::move(entry)).first->second.kernel;
}

Result<gpu::Buffer> Executor::global(ops::Slot slot) {
  const std::lock_guard lock(mutex_);
  const auto found = globals_.find(slot);
  if (found != globals_.end()) return found->second;
  constexpr ops::Report nothing{};
  const std::span<const std::uint32_t> words = slot == ops::Slot::report()
                                                   ? std::span<const std::uint32_t>(nothing)
                                                   : ops::table_words(slot);
  if (words.empty()) {
    return fail(ErrorCode::invalid_argument, "There are no constants in {}.", ops::describe(slot));
  }
  auto buffer = device_.allocate(words.size_bytes(), "table");
  if (!buffer) return wrap(buffer.error(), "allocating a table of constants");
  if (const Status ok = device_.write(gpu::whole(*buffer), std::as_bytes(words)); !ok)
    return std::unexpected(ok.error());
  return globals_.emplace(slot, std::move(*buffer)).first->second;
}

Status Executor::take_report() {
  gpu::Buffer buffer;
  {
    const std::lock_guard lock(mutex_);
    const auto found = globals_.find(ops::Slot::report());
    if (found == globals_.end()) return {};
    buffer = found->second;
  }
  ops::Report report{};
  if (const Status ok = device_.read(gpu::whole(buffer), std::as_writable_bytes(std::span(report)));
      !ok)
    return ok;
  const std::string text = ops::describe(report);
  if (text.empty()) return {};
  report = {};
  if (const Status ok = device_.write(gpu::whole(buffer), std::as_bytes(std::span(report))); !ok)
    return ok;
  return fail(ErrorCode::invalid_argument, "{}", text);
}

Result<std::vector<gpu::Kernel>> Executor::kernels(std::span<const ops::Dispatch> dispatches) {
  std::vector<gpu::Kernel> out(dispatches.size());
  std::vector<gpu::KernelDesc> descs;
  std::unordered_map<std::string, std::size_t> fresh;        // keys to places in descs
  std::vector<std::pair<std::size_t, std::size_t>> missing;  // places in out and descs
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    const ops::KernelSpec& spec = dispatches[i].kernel;
    std::string key = spec.key();
    {
      const std::lock_guard lock(mutex_);
      const auto found = find(key, spec);
      if (!found) return std::unexpected(found.error());
      if (*found != nullptr) {
        out[i] = **found;
        continue;
      }
    }
    const auto [at, first] = fresh.try_emplace(std::move(key), descs.size());
    missing.emplace_back(i, at->second);
    if (!first) continue;
    auto desc = describe(spec);
    if (!desc) return std::unexpected(desc.error());
    descs.push_back(std::move(*desc));
  }
  if (missing.empty()) return out;
  const auto compiled = device_.compile_all(descs);
  if (!compiled) return std::unexpected(compiled.error());
  for (const auto& [to, from] : missing) out[to] = (*compiled)[from];
  const std::lock_guard lock(mutex_);
  if (kernels_.size() >= most_kernels) kernels_.clear();
  for (const auto& [key, at] : fresh) {
    Entry entry{(*compiled)[at], options_.verify_keys ? std::move(descs[at].wgsl) : std::string()};
    kernels_.try_emplace(key, std::move(entry));
  }
  return out;
}

Status Executor::prepare(std::span<const ops::Dispatch> dispatches) {
  const auto found = kernels(dispatches);
  if (!found) return std::unexpected(found.error());
  return {};
}

Status Executor::launch(gpu::Stream& stream, const gpu::Kernel& kernel,
                        const ops::Dispatch& dispatch, std::span<const gpu::Slice> parts,
                        std::size_t first_scratch) {
  std::vector<gpu::Slice> bindings;
  bindings.reserve(dispatch.ranges.size());
  for (const ops::BoundRange& range : dispatch.ranges) {
    const ops::Slot slot = range.slot;
    if (slot.kind() == ops::Slot::Kind::table || slot.kind() == ops::Slot::Kind::report) {
      auto constants = global(slot);
      if (!constants) return std::unexpected(constants.error());
      bindings.push_back({std::move(*constants), range.offset, range.size});
      continue;
    }
    const bool scratch = slot.kind() == ops::Slot::Kind::scratch;
    const std::size_t at = scratch ? first_scratch + slot.number() : slot.number();
    const bool known = scratch || slot.kind() == ops::Slot::Kind::caller;
    if (!known || at >= parts.size() || !parts[at].buffer) {
      return fail(ErrorCode::invalid_argument, "Kernel {} uses {}, but only {} buffers were given.",
                  dispatch.kernel.label, ops::describe(slot), parts.size());
    }
    const gpu::Slice& part = parts[at];
    if (part.offset + range.offset + range.size > part.buffer.capacity()) {
      return fail(ErrorCode::invalid_argument,
                  "Kernel {} touches bytes {} to {} of {}, which has {} bytes.",
                  dispatch.kernel.label, range.offset, range.offset + range.size,
                  ops::describe(slot), part.size);
    }
    bindings.push_back({part.buffer, part.offset + range.offset, range.size});
  }
  std::vector<std::uint32_t> params = dispatch.params;
  params.resize(round_up<std::size_t>(params.size(), 4));
  const gpu::Grid grid{dispatch.grid.x, dispatch.grid.y, dispatch.grid.z};
  if (const Status ok = stream.dispatch(kernel, bindings, std::as_bytes(std::span(params)), grid,
                                        dispatch.shapes);
      !ok) {
    return wrap(ok.error(), formatted("launching {}", dispatch.kernel.label));
  }
  return {};
}

Status Executor::run(gpu::Stream& stream, std::span<const ops::Dispatch> dispatches,
                     std::span<const gpu::Slice> parts) {
  for (const ops::Dispatch& dispatch : dispatches) {
    const auto compiled = kernel(dispatch.kernel);
    if (!compiled) return std::unexpected(compiled.error());
    const Status ok = launch(stream, *compiled, dispatch, parts, parts.size());
    if (!ok) return ok;
  }
  return {};
}

Status Executor::run(gpu::Stream& stream, std::span<const ops::Dispatch> dispatches,
                     std::span<const gpu::Kernel> kernels, std::span<const gpu::Slice> parts) {
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    const Status ok = launch(stream, kernels[i], dispatches[i], parts, parts.size());
    if (!ok) return ok;
  }
  return {};
}

Result<std::vector<gpu::Slice>> Executor::with_scratch(const ops::Plan& plan,
                                                       std::span<const gpu::Buffer> buffers) {
  std::vector<gpu::Slice> slices;
  slices.reserve(buffers.size() + plan.scratch.size());
  for (const gpu::Buffer& buffer : buffers) slices.push_back({buffer, 0, buffer.capacity()});
  for (const std::uint64_t bytes : plan.scratch) {
    auto buffer = device_.allocate(bytes, "scratch");
    if (!buffer) return wrap(buffer.error(), "allocating scratch");
    slices.push_back({*buffer, 0, buffer->capacity()});
  }
  return slices;
}

Status Executor::run(gpu::Stream& stream, const ops::Plan& plan,
                     std::span<const gpu::Buffer> buffers) {
  const auto slices = with_scratch(plan, buffers);
  if (!slices) return std::unexpected(slices.error());
  for (const ops::Dispatch& dispatch : plan.dispatches) {
    const auto compiled = kernel(dispatch.kernel);
    if (!compiled) return std::unexpected(compiled.error());
    const Status ok = launch(stream, *compiled, dispatch, *slices, buffers.size());
    if (!ok) return ok;
  }
  return {};
}

Result<gpu::Recording> Executor::record(gpu::Stream& stream, const ops::Plan& plan,
                                        std::span<const gpu::Buffer> buffers) {
  const auto compiled = kernels(plan.dispatches);
  if (!compiled) return std::unexpected(compiled.error());
  const auto slices = with_scratch(plan, buffers);
  if (!slices) return std::unexpected(slices.error());
  if (const Status ok = stream.begin_recording(); !ok) return std::unexpected(ok.error());
  Status ran;
  for (std::size_t i = 0; i < plan.dispatches.size() && ran; ++i) {
    ran = launch(stream, (*compiled)[i], plan.dispatches[i], *slices, buffers.size());
  }
  auto recording = stream.end_recording();  // In any case: the stream must not stay recording.
  if (!ran) return std::unexpected(ran.error());
  return recording;
}

}  // namespace weft::graph
