#include "weft/c/kernel.h"

#include <array>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/math.hpp"
#include "capi/tensors.hpp"
#include "graph/node.hpp"

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

const std::string& label_of(const KernelObject& kernel) {
  return Access::data(kernel.kernel).desc.label;
}

void check_counts(const KernelObject& kernel, std::uint32_t bindings, std::uint32_t scalars) {
  if (bindings != kernel.bindings || scalars != kernel.scalars) {
    raise(ErrorCode::invalid_argument,
          "Kernel `{}` takes {} bindings and {} scalars; {} and {} were given.", label_of(kernel),
          kernel.bindings, kernel.scalars, bindings, scalars);
  }
}

gpu::Slice slice_of(const KernelObject& kernel, const weft_binding& binding, std::uint32_t number) {
  const auto object = get<BufferObject>(binding.buffer, formatted("bindings[{}].buffer", number));
  if (!same_device(object->device, kernel.device)) {
    raise(ErrorCode::invalid_argument, "Binding {} of kernel `{}` lies on another device.", number,
          label_of(kernel));
  }
  const std::uint64_t size = object->buffer.size();
  const std::uint64_t rest = binding.offset > size ? 0 : size - binding.offset;
  const std::uint64_t bytes = binding.bytes == 0 ? rest : binding.bytes;
  if (bytes == 0 || bytes > rest) {
    raise(ErrorCode::invalid_argument,
          "Binding {} of kernel `{}` takes {} bytes from byte {} on of a buffer that has {}.",
          number, label_of(kernel), bytes, binding.offset, size);
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
    out = put(KernelObject{object->device, object->device.kernel(wanted), source->bindings,
                           source->scalars});
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
    const KernelData& data = Access::data(object->kernel);
    const std::lock_guard lock(data.device->mutex);
    gpu::Stream stream = data.device->device.stream();
    value_of(stream.dispatch(data.current(), slices, std::as_bytes(std::span(words)),
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
