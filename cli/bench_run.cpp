#include "bench_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/format.hpp"

namespace weft::cli {
namespace {

/// Enough to pass the caches of any present GPU.
constexpr double rotation_bytes = 256e6;
constexpr double warm_up_seconds = 0.05;

/// Random content: a block of random elements, repeated over the tensor. What ascends is made as a
/// whole.
Status fill_random(gpu::Device& device, const gpu::Buffer& buffer, const ops::TensorSpec& spec,
                   ops::Random& random) {
  ops::TensorSpec block = spec;
  if (spec.fill != ops::Fill::sorted) block.shape = {1U << 16};
  block.order.clear();
  block.repeat.clear();
  const ops::HostTensor host = ops::make_host(block, random);
  const ops::View view = ops::View::dense(spec.dtype, block.shape);
  std::vector<std::byte> bytes(view.bytes().size());
  ops::store_values(view, host.values, bytes);
  // Doubling copies on the device are faster than uploading everything.
  const std::uint64_t first = std::min<std::uint64_t>(bytes.size(), buffer.size());
  if (Status ok = device.write({buffer, 0, first}, std::span(bytes).first(first)); !ok) return ok;
  for (std::uint64_t done = first; done < buffer.size();) {
    const std::uint64_t step = std::min(done, buffer.size() - done);
    if (Status ok = device.copy({buffer, 0, step}, {buffer, done, step}); !ok) return ok;
    done += step;
  }
  return {};
}

}  // namespace

std::string title_of(const ops::Op& op, const ops::Case& test) {
  constexpr std::string_view prefix = "bench_";
  return formatted("{}/{}", op.name,
                   test.name.substr(test.name.starts_with(prefix) ? prefix.size() : 0));
}

double bytes_of(const ops::Case& test) {
  if (test.bytes > 0) return test.bytes;
  double total = 0;
  for (const ops::TensorSpec& spec : test.tensors) {
    const ops::View view = spec.view(ops::Slot(0), 0);
    total += static_cast<double>(view.bytes().size());
  }
  return total;
}

namespace {

/// The case prepared for replay, once for each of `sets` sets of buffers.
Result<gpu::Recording> record(graph::Executor& executor, const ops::Case& test, std::size_t sets,
                              gpu::Stream& stream, const Caps& caps) {
  gpu::Device device = executor.device();
  ops::Random random(1);
  std::vector<std::vector<gpu::Buffer>> buffers(sets);
  std::vector<ops::Plan> plans;
  for (std::vector<gpu::Buffer>& slots : buffers) {
    std::vector<ops::View> views;
    for (const ops::TensorSpec& spec : test.tensors) {
      if (spec.same_as >= 0) {
        const auto other = static_cast<std::size_t>(spec.same_as);
        views.push_back(views[other]);
        slots.push_back(slots[other]);
        continue;
      }
      views.push_back(spec.view(ops::Slot(slots.size()), 0));
      auto buffer = device.allocate(views.back().bytes().end);
      if (!buffer) return std::unexpected(buffer.error());
      if (Status ok = fill_random(device, *buffer, spec, random); !ok) {
        return std::unexpected(ok.error());
      }
      slots.push_back(std::move(*buffer));
    }
    auto plan = test.plan(views, caps);
    if (!plan) return std::unexpected(plan.error());
    plans.push_back(std::move(*plan));
  }
  if (Status ok = executor.prepare(plans.front()); !ok) return std::unexpected(ok.error());
  if (Status ok = stream.begin_recording(); !ok) return std::unexpected(ok.error());
  for (std::size_t i = 0; i < sets; ++i) {
    if (Status ok = executor.run(stream, plans[i], buffers[i]); !ok) {
      return std::unexpected(ok.error());
    }
  }
  return stream.end_recording();
}

}  // namespace

Status run_traced(graph::Executor& executor, const ops::Case& test) {
  gpu::Stream stream = executor.device().stream();
  auto recording = record(executor, test, 1, stream, executor.device().caps());
  if (!recording) return std::unexpected(recording.error());
  if (Status ok = stream.replay(*recording, 3); !ok) return ok;
  return stream.wait();
}

Result<Measurement> measure(graph::Executor& executor, const ops::Op& op, const ops::Case& test,
                            double target_seconds) {
  return measure(executor, op, test, {.seconds = target_seconds}, executor.device().caps());
}

bool too_large_for_software(const ops::Case& test) {
  return test.flops > 3e9 || bytes_of(test) > 300e6;
}

Result<Measurement> measure(graph::Executor& executor, const ops::Op& op, const ops::Case& test,
                            const Timing& timing, const Caps& caps) {
  const gpu::Device& device = executor.device();
  Measurement out{
      .op = std::string(op.name), .name = test.name, .bytes = bytes_of(test), .flops = test.flops};
  // A CPU computes for so long that it does not matter where the operands of a product come from.
  const double most_sets = device.info().is_software() && out.is_arithmetic() ? 1 : 16;
  const auto sets = static_cast<std::size_t>(
      std::clamp(std::ceil(rotation_bytes / std::max(out.bytes, 1.0)), 1.0, most_sets));
  gpu::Stream stream = device.stream();
  auto recording = record(executor, test, sets, stream, caps);
  if (!recording) return std::unexpected(recording.error());

  const auto time = [&](std::uint32_t times) -> Result<double> {
    const std::clock_t start = std::clock();
    const Result<double> seconds = stream.time_replay(*recording, times);
    if (!seconds || !timing.processor_time) return seconds;
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  // An idle GPU has low clocks: work on the case for a while before its time counts.
  Result<double> first = time(1);
  for (double warm = 0; first && warm < warm_up_seconds && !device.info().is_software();
       warm += *first) {
    first = time(1);
  }
  if (!first) return std::unexpected(first.error());
  const auto times = static_cast<std::uint32_t>(
      std::clamp(timing.seconds / timing.repetitions / std::max(*first, 1e-7), 1.0, 2000.0));
  std::vector<double> seconds;
  for (int i = 0; i < timing.repetitions; ++i) {
    auto total = time(times);
    if (!total) return std::unexpected(total.error());
    seconds.push_back(*total / (static_cast<double>(times) * static_cast<double>(sets)));
  }
  std::ranges::sort(seconds);
  out.seconds = seconds[timing.fastest ? 0 : seconds.size() / 2];
  out.spread = (seconds.back() - seconds.front()) / out.seconds;
  return out;
}

Result<DispatchCost> measure_dispatch(const gpu::Device& given) {
  constexpr int launches = 1000;
  gpu::Device device = given;
  auto kernel = device.compile(
      {.label = "tiny",
       .wgsl = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;\n"
               "@compute @workgroup_size(64)\n"
               "fn main(@builtin(global_invocation_id) i: vec3<u32>) { x[i.x] += 1u; }\n",
       .bindings = {gpu::Access::write}});
  if (!kernel) return std::unexpected(kernel.error());
  auto buffer = device.allocate(256);
  if (!buffer) return std::unexpected(buffer.error());
  gpu::Stream stream = device.stream();
  if (Status ok = stream.begin_recording(); !ok) return std::unexpected(ok.error());
  const gpu::Slice slice = gpu::whole(*buffer);
  for (int i = 0; i < launches; ++i) {
    if (Status ok = stream.dispatch(*kernel, std::span(&slice, 1), {}, {}); !ok) {
      return std::unexpected(ok.error());
    }
  }
  auto recording = stream.end_recording();
  if (!recording) return std::unexpected(recording.error());
  DispatchCost best{1e9, 1e9};
  // The best of many: other programs on the machine can only add to these times.
  for (int i = 0; i < 40; ++i) {
    auto gpu_seconds = stream.time_replay(*recording, 1);
    if (!gpu_seconds) return std::unexpected(gpu_seconds.error());
    best.gpu = std::min(best.gpu, *gpu_seconds / launches);
    // Host time: what the calling thread spends to hand the launches over, the GPU idle at the
    // start.
    const auto start = std::chrono::steady_clock::now();
    if (Status ok = stream.replay(*recording, 1); !ok) return std::unexpected(ok.error());
    if (Status ok = stream.submit(); !ok) return std::unexpected(ok.error());
    const std::chrono::duration<double> host = std::chrono::steady_clock::now() - start;
    best.host = std::min(best.host, host.count() / launches);
    if (Status ok = stream.wait(); !ok) return std::unexpected(ok.error());
  }
  return best;
}

}  // namespace weft::cli
