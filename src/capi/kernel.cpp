#include "weft/c/kernel.h"

#include <array>
#include <span>
#include <vector>

#include "base/format.hpp"
#include "base/math.hpp"
#include "capi/tensors.hpp"

namespace weft::capi {
namespace {

KernelSource source_of(const weft_kernel_source& given) {
  KernelSource source;
  source.wgsl = required(given.wgsl, "source.wgsl");
  if (given.entry != nullptr) source.entry = given.entry;
  if (given.label != nullptr) source.label = given.label;
  if (given.bindings > 0) required(given.writes, "source.writes");
  source.writes.assign(given.writes, given.writes + given.bindings);
  constexpr std::uint32_t most_scalars = 4096;  // 16 KiB; a uniform may have 64 KiB
  if (given.scalars > most_scalars) {
    raise(ErrorCode::invalid_argument, "A kernel takes at most {} scalars; {} were asked for.",
          most_scalars, given.scalars);
  }
  source.scalars = given.scalars;
  for (std::uint32_t i = 0; i < given.constants; ++i) {
    const char* name = required(given.constant_names, "source.constant_names")[i];
    source.constants.emplace_back(required(name, "source.constant_names[i]"),
                                  required(given.constant_values, "source.constant_values")[i]);
  }
  return source;
}

/// The same kernel as the device layer describes it.
gpu::KernelDesc desc_of(const KernelSource& source) {
  gpu::KernelDesc desc{.label = source.label,
                       .wgsl = source.wgsl,
                       .entry = source.entry,
                       .params_bytes = round_up<std::uint32_t>(source.scalars * 4, 16),
                       .constants = source.constants};
  for (const bool writes : source.writes) {
    desc.bindings.push_back(writes ? gpu::Access::write : gpu::Access::read);
  }
  return desc;
}

void check_counts(const KernelObject& kernel, std::uint32_t bindings, std::uint32_t scalars) {
  if (bindings != kernel.bindings || scalars != kernel.scalars) {
    raise(ErrorCode::invalid_argument,
          "Kernel `{}` takes {} bindings and {} scalars; {} and {} were given.", kernel.raw.label(),
          kernel.bindings, kernel.scalars, bindings, scalars);
  }
}

gpu::Slice slice_of(const KernelObject& kernel, const weft_binding& binding, std::uint32_t number) {
  const auto object = get<BufferObject>(binding.buffer, formatted("bindings[{}].buffer", number));
  if (!same_device(object->device, kernel.device)) {
    raise(ErrorCode::invalid_argument, "Binding {} of kernel `{}` lies on another device.", number,
          kernel.raw.label());
  }
  const std::uint64_t size = object->buffer.size();
  const std::uint64_t rest = binding.offset > size ? 0 : size - binding.offset;
  const std::uint64_t bytes = binding.bytes == 0 ? rest : binding.bytes;
  if (bytes == 0 || bytes > rest) {
    raise(ErrorCode::invalid_argument,
          "Binding {} of kernel `{}` takes {} bytes from byte {} on of a buffer that has {}.",
          number, kernel.raw.label(), bytes, binding.offset, size);
  }
  return {object->buffer, binding.offset, bytes};
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_kernel_create(weft_device device, const weft_kernel_source* source,
                               weft_kernel* kernel) {
  return call(__func__, [&] {
    weft_kernel& out = result(kernel, "kernel");
    const auto object = get<DeviceObject>(device, "device");
    const KernelSource wanted = source_of(*required(source, "source"));
    out = put(KernelObject{object->device, object->device.kernel(wanted),
                           value_of(device_of(object->device).compile(desc_of(wanted))),
                           source->bindings, source->scalars});
  });
}

weft_status weft_kernel_free(weft_kernel kernel) {
  return call(__func__, [&] { drop<KernelObject>(kernel, "kernel"); });
}

weft_status weft_kernel_run(weft_kernel kernel, const weft_binding* bindings, uint32_t count,
                            const uint32_t* workgroups, const uint32_t* scalars,
                            uint32_t scalar_count) {
  return call(__func__, [&] {
    const auto object = get<KernelObject>(kernel, "kernel");
    check_counts(*object, count, scalar_count);
    required(workgroups, "workgroups");
    if (count > 0) required(bindings, "bindings");
    if (scalar_count > 0) required(scalars, "scalars");
    std::vector<gpu::Slice> slices;
    for (std::uint32_t i = 0; i < count; ++i) slices.push_back(slice_of(*object, bindings[i], i));
    std::vector<std::uint32_t> words(scalars, scalars + scalar_count);
    words.resize(round_up<std::size_t>(words.size(), 4));
    gpu::Stream stream = device_of(object->device).stream();
    value_of(stream.dispatch(object->raw, slices, std::as_bytes(std::span(words)),
                             {workgroups[0], workgroups[1], workgroups[2]}));
    value_of(stream.submit());
  });
}

weft_status weft_kernel_run_tensors(weft_kernel kernel, const weft_tensor* tensors, uint32_t count,
                                    const uint32_t* workgroups, const uint32_t* scalars,
                                    uint32_t scalar_count) {
  return call(__func__, [&] {
    const auto object = get<KernelObject>(kernel, "kernel");
    check_counts(*object, count, scalar_count);
    required(workgroups, "workgroups");
    if (count > 0) required(tensors, "tensors");
    if (scalar_count > 0) required(scalars, "scalars");
    std::vector<Tensor> bound;
    for (std::uint32_t i = 0; i < count; ++i) {
      bound.push_back(get<TensorObject>(tensors[i], formatted("tensors[{}]", i))->tensor);
    }
    std::unique_lock<std::recursive_mutex> lock;
    if (!bound.empty()) lock = lock_values(bound.front());
    object->kernel.run(bound, {workgroups[0], workgroups[1], workgroups[2]},
                       std::span(scalars, scalar_count));
  });
}
