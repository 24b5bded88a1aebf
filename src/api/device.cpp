#include "weft/device.hpp"

#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "base/format.hpp"
#include "gpu/lifetime.hpp"
#include "graph/adopt.hpp"
#include "graph/attributes/map.hpp"
#include "graph/called.hpp"
#include "graph/evaluate.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "graph/recover.hpp"
#include "weft/devices.hpp"

namespace weft {

Device::Device(const DeviceChoice& choice) {
  gpu::DeviceOptions options;
  options.adapter = choice.adapter;
  if (choice.safe) options.mode = gpu::Mode::safe;
  options.check_indices = choice.check_indices;
  data_ = std::make_shared<DeviceData>(unwrap(gpu::Device::create(options)));
}

std::uint64_t id_of(const Device& device) {
  return reinterpret_cast<std::uintptr_t>(Access::data(device).get());
}

std::string Device::name() const { return data_->device.info().name; }
bool Device::is_software() const { return data_->device.info().is_software(); }

namespace {

Tensor upload_once(const std::shared_ptr<DeviceData>& data, DType dtype, const Shape& shape,
                   std::span<const std::byte> bytes) {
  Tensor tensor = graph::new_tensor(data, dtype, shape);
  const std::lock_guard lock(data->mutex);
  const graph::Storage& storage = graph::storage_of(tensor);
  if (storage.view.bytes().size() != bytes.size()) {
    throw Error(ErrorCode::invalid_argument,
                formatted("A tensor of shape {} has {} elements; {} values were given.",
                          ops::describe(shape), tensor.size(), bytes.size() / size_of(dtype)));
  }
  unwrap(data->device.write(gpu::whole(storage.buffer), bytes));
  if (gpu::recovers_automatically(data->device)) {
    const auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    graph::keep_bytes(Access::value(tensor).node, [copy](const auto& put) { put(*copy); });
  }
  return tensor;
}

}  // namespace

Tensor Device::upload(DType dtype, const Shape& shape, std::span<const std::byte> bytes) const {
  return graph::insist(*data_, [&] { return upload_once(data_, dtype, shape, bytes); });
}

Tensor Device::empty(const Shape& shape, DType dtype) const {
  return graph::new_tensor(data_, dtype, shape);
}

Tensor Device::full(const Shape& shape, double value, DType dtype, Where where) const {
  const graph::Called called("full", where);
  if (is_integer(dtype)) {
    const int bits = static_cast<int>(size_of(dtype)) * 8;
    const bool is_signed = !is_unsigned(dtype);
    const double end = std::ldexp(1.0, is_signed ? bits - 1 : bits);
    if (!(std::trunc(value) >= (is_signed ? -end : 0.0) && std::trunc(value) < end)) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("{} does not hold the value {} ({}).", ::weft::name(dtype), value,
                            graph::describe_place("full", where)));
    }
  }
  return graph::make(
      graph::kinds::map,
      graph::MapAttributes{.function = "fill", .scalars = {value}, .dtype = dtype, .shape = shape},
      {}, where, data_);
}

Tensor Device::arange(std::uint64_t count, double start, double step, DType dtype,
                      Where where) const {
  const graph::Called called("arange", where);
  return graph::make(
      graph::kinds::map,
      graph::MapAttributes{
          .function = "arange", .scalars = {start, step}, .dtype = dtype, .shape = {count}},
      {}, where, data_);
}

void Device::synchronize() const {
  gpu::Device device = [this] {
    const std::lock_guard lock(data_->mutex);
    return data_->device;
  }();
  try {
    unwrap(device.synchronize());
    graph::take_report(*data_);
  } catch (const Error& error) {
    // What was waited for is gone in any case.
    (void)graph::recovered_from(*data_, error);
    throw;
  }
}

Kernel Access::kernel(KernelData data) {
  Kernel kernel;
  kernel.data_ = std::make_shared<const KernelData>(std::move(data));
  return kernel;
}

Kernel Device::kernel(const KernelSource& source) const {
  gpu::KernelDesc desc{.label = source.label,
                       .wgsl = source.wgsl,
                       .entry = source.entry,
                       .params_bytes = (source.scalars * 4 + 15) / 16 * 16,
                       .constants = source.constants};
  for (const bool writes : source.writes)
    desc.bindings.push_back(writes ? gpu::Access::write : gpu::Access::read);
  KernelData data{.device = data_,
                  .desc = std::move(desc),
                  .writes = source.writes,
                  .scalars = source.scalars,
                  .kernel = {}};
  const std::lock_guard lock(data_->mutex);
  graph::insist(*data_, [&data] { (void)data.current(); });
  return Access::kernel(std::move(data));
}

const gpu::Kernel& KernelData::current() const {
  const std::uint64_t now = gpu::identity(device->device);
  if (made_by != now) {
    kernel = unwrap(device->device.compile(desc));
    made_by = now;
  }
  return kernel;
}

namespace {

void run_once(const KernelData& data, std::span<const Tensor> tensors,
              std::array<std::uint32_t, 3> workgroups, std::span<const std::uint32_t> scalars) {
  // Expressions written before see the values of before.
  const std::lock_guard lock(data.device->mutex);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!data.writes[i]) continue;
    std::shared_ptr<Node> node = Access::value(tensors[i]).node;
    while (node->rule->view != nullptr && !node->inputs.empty()) node = node->inputs.front().node;
    graph::finish_readers({&node, 1});
    if (node->computed()) graph::make_private(*node);
    graph::note_change(node);
  }
  std::vector<gpu::Slice> bindings;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const graph::Storage& state = graph::storage_of(tensors[i]);
    const std::uint64_t alignment = data.device->device.caps().binding_alignment;
    if (Access::value(tensors[i]).node->device != data.device || !state.view.is_dense() ||
        state.view.offset % alignment != 0) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("Tensor {} ({}) of kernel `{}` must be dense, on the kernel's device "
                            "and start at a multiple of {} bytes.",
                            i, ops::describe(state.view), data.desc.label, alignment));
    }
    bindings.push_back({state.buffer, state.view.offset, state.view.bytes().size()});
  }
  std::vector<std::uint32_t> words(scalars.begin(), scalars.end());
  words.resize((words.size() + 3) / 4 * 4);
  gpu::Stream stream = data.device->device.stream();
  unwrap(stream.dispatch(data.current(), bindings, std::as_bytes(std::span(words)),
                         {workgroups[0], workgroups[1], workgroups[2]}));
  unwrap(stream.submit());
}

}  // namespace

void Kernel::run(std::span<const Tensor> tensors, std::array<std::uint32_t, 3> workgroups,
                 std::span<const std::uint32_t> scalars) const {
  if (!data_)
    throw Error(ErrorCode::invalid_argument,
                "The kernel is empty: make one with Device::kernel().");
  if (tensors.size() != data_->writes.size() || scalars.size() != data_->scalars) {
    throw Error(ErrorCode::invalid_argument,
                formatted("Kernel `{}` takes {} tensors and {} scalars; {} and {} were given.",
                          data_->desc.label, data_->writes.size(), data_->scalars, tensors.size(),
                          scalars.size()));
  }
  graph::insist(*data_->device, [&] { run_once(*data_, tensors, workgroups, scalars); });
}

}  // namespace weft
