#include "gpu/launches.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "gpu/make_buffer.hpp"
#include "gpu/process_end.hpp"
#include "gpu/stream_state.hpp"

namespace weft::gpu {

Result<Launches> Launches::make(const Device& handle, std::vector<FixedLaunch> launches) {
  const std::shared_ptr<DeviceState>& device = Unwrap::state(handle);
  std::shared_ptr<LaunchesState> state(new LaunchesState, CloseUnlessProcessEnds{});
  state->device = device;
  std::vector<std::byte> params;
  for (FixedLaunch& launch : launches) {
    const LayoutState& layout = *Unwrap::state(launch.kernel)->layout;
    const std::size_t offset = round_up<std::size_t>(params.size(), device->uniform_alignment);
    state->launches.push_back(
        {.fixed = std::move(launch), .params_offset = static_cast<std::uint32_t>(offset)});
    const FixedLaunch& kept = state->launches.back().fixed;
    if (layout.params_size == 0) continue;
    params.resize(offset + layout.params_size);
    std::memcpy(params.data() + offset, kept.params.data(), kept.params.size());
  }
  if (params.empty()) return Unwrap::wrap<Launches>(std::move(state));
  wgpu::BufferDescriptor descriptor;
  descriptor.label = "weft.launches.params";
  descriptor.size = round_up<std::uint64_t>(params.size(), 16);
  descriptor.usage = wgpu::BufferUsage::Uniform | wgpu::BufferUsage::CopyDst;
  auto made = make_buffer(device->instance, device->device, device->host.blocking, descriptor,
                          device->errors);
  if (!made) {
    if (Status lost = device->errors.take(); !lost) return std::unexpected(lost.error());
    return fail(ErrorCode::out_of_memory,
                "{} bytes for the parameters of launches could not be had: {}", params.size(),
                made.error());
  }
  state->params = std::move(*made);
  device->queue.WriteBuffer(state->params, 0, params.data(), params.size());
  state->params_id = next_id();
  return Unwrap::wrap<Launches>(std::move(state));
}

Status Launches::run(Stream& stream, std::size_t number, std::span<const Binding> bindings) const {
  return Unwrap::state(stream)->run(*state_, state_->launches[number], bindings);
}

const wgpu::BindGroup& LaunchesState::group_of(Launch& launch, std::span<const Binding> bindings) {
  thread_local std::vector<BindRange> ranges;
  ranges.clear();
  for (const Binding& binding : bindings) {
    const BufferState& buffer = *Unwrap::state(*binding.buffer);
    ranges.push_back({&buffer.block.buffer, buffer.block.id, binding.offset,
                      round_up<std::uint64_t>(binding.size, 4)});
  }
  const auto same = [](const Place& a, const BindRange& b) {
    return a.block == b.id && a.offset == b.offset;  // the size is that of the launch
  };
  for (const Group& known : launch.groups) {
    if (std::ranges::equal(known.places, ranges, same)) return known.group;
  }
  const KernelState& kernel = *Unwrap::state(launch.fixed.kernel);
  const ParamsRange range = kernel.layout->params_size > 0
                                ? ParamsRange{&params, params_id, launch.params_offset}
                                : ParamsRange{};
  Group made{.places = {}, .group = device->bind_groups->get(kernel, ranges, range)};
  for (const BindRange& bound : ranges) made.places.push_back({bound.id, bound.offset});
  if (launch.groups.size() < most_groups) {
    launch.groups.push_back(std::move(made));
    return launch.groups.back().group;
  }
  launch.next = (launch.next + 1) % most_groups;
  launch.groups[launch.next] = std::move(made);
  return launch.groups[launch.next].group;
}

Status StreamState::run(LaunchesState& launches, LaunchesState::Launch& launch,
                        std::span<const Binding> bindings) {
  const auto& kernel = Unwrap::state(launch.fixed.kernel);
  const Grid grid = launch.fixed.grid;
  // Where launches are checked, recorded or watched, they are launches as all others.
  if (draft || device->mode == Mode::safe || device->profiler || device->watchdog.on()) {
    std::vector<Slice> slices;
    for (const Binding& binding : bindings) {
      slices.push_back({*binding.buffer, binding.offset, binding.size});
    }
    return dispatch(kernel, slices, launch.fixed.params, grid, launch.fixed.note);
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return {};
  if (commands_ >= most_commands) {
    if (Status status = submit(); !status) return status;
  }
  const wgpu::BindGroup& group = launches.group_of(launch, bindings);
  open_pass(kernel->label, launch.fixed.note);
  if (pipeline_ != kernel.get()) {
    pass_.SetPipeline(kernel->pipeline);
    pipeline_ = kernel.get();
  }
  pass_.SetBindGroup(0, group, kernel->layout->dynamic_params ? 1 : 0, &launch.params_offset);
  pass_.DispatchWorkgroups(grid.x, grid.y, grid.z);
  ++commands_;
  return {};
}

}  // namespace weft::gpu
