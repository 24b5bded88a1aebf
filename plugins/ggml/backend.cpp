#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "api.hpp"
#include "base/format.hpp"
#include "device.hpp"
#include "fuse/fuse.hpp"
#include "guard.hpp"
#include "profile.hpp"

namespace weft::plugin {
namespace {

/// A read-back that has been asked for.
struct ReadBack {
  gpu::Pending pending;
  std::span<std::byte> to;
};

/// What a ggml backend is here: a stream of work on a device. For one thread at a time, as ggml has
/// it.
struct BackendContext {
  DeviceContext& device;
  Engine& engine;
  gpu::Stream stream;
  std::uint64_t generation;  ///< Of the device that the stream belongs to.
  std::vector<ReadBack> reads;
  bool running = false;  ///< Work was handed over that nobody has waited for.
  bool failed = false;   ///< An error came where ggml takes none; the next graph returns it.

  void note(const Status& status, std::string_view doing) {
    if (status) return;
    log(GGML_LOG_LEVEL_ERROR,
        formatted("{}: {} failed: {}", device.name(), doing, status.error().message));
    failed = true;
  }

  /// Moves over to the device that took the place of a lost one; false where there is none. To be
  /// called with a Use.
  bool renew() {
    if (generation == device.generation()) return false;
    generation = device.generation();
    stream = engine.device.stream();
    running = false;
    return true;
  }
};

BackendContext& context_of(ggml_backend_t backend) {
  return *static_cast<BackendContext*>(backend->context);
}

gpu::Slice slice_of(const ggml_tensor& tensor, std::size_t offset, std::size_t size) {
  return {BufferContext::of(tensor)->buffer, offset_of(tensor) + offset, size};
}

const char* get_name(ggml_backend_t backend) { return context_of(backend).device.name().c_str(); }

void finish_reads(BackendContext& context) {
  for (ReadBack& read : context.reads) {
    context.note(read.pending.get(read.to), "Reading a tensor");
  }
  context.reads.clear();
}

void synchronize(ggml_backend_t backend) {
  BackendContext& context = context_of(backend);
  const DeviceContext::Use use = context.device.use();
  if (context.renew()) {
    context.note(fail(ErrorCode::device_lost, "The device was lost meanwhile."),
                 "Waiting for the device");
  }
  // Bytes to write are taken before the call returns, so there is nothing to wait for after
  // writing. Programs synchronize before each of the inputs that they write, so this saves several
  // waits a token.
  if (context.running || !context.reads.empty()) {
    context.note(context.engine.graphs.encode_ahead(context.stream), "Preparing a graph");
  }
  finish_reads(context);
  if (std::exchange(context.running, false)) {
    context.note(context.stream.wait(), "Waiting for the device");
  }
}

constexpr auto leaves_it = [](auto...) {};
/// Where a function that gives nothing back fails, the next graph does.
constexpr auto next_graph_fails = [](ggml_backend_t backend, auto...) {
  context_of(backend).failed = true;
};
/// Also with reads that are on their way, which are given up.
constexpr auto gives_up_reads = [](ggml_backend_t backend, auto...) {
  context_of(backend).failed = true;
  context_of(backend).reads.clear();
};

void report(ggml_backend_t backend) {
  const DeviceContext::Use use = context_of(backend).device.use();
  report_profile(context_of(backend).device);
}

void free_backend(ggml_backend_t backend) {
  guarded<synchronize, gives_up_reads>(backend);
  guarded<report, leaves_it>(backend);
  delete &context_of(backend);
  delete backend;
}

/// Bytes that could not be written count as gone, so that no graph computes with what was there
/// before.
void lose(const ggml_tensor& tensor, std::size_t offset, std::size_t size) {
  BufferContext& buffer = *BufferContext::of(tensor);
  const std::uint64_t first = offset_of(tensor) + offset;
  buffer.content.lose({first, first + size});
  buffer.device.note_gap();
}

void set_tensor_async(ggml_backend_t backend, ggml_tensor* tensor, const void* data,
                      std::size_t offset, std::size_t size) {
  BackendContext& context = context_of(backend);
  const std::span bytes(static_cast<const std::byte*>(data), size);
  const DeviceContext::Use use = context.device.use();
  const Status done = context.engine.device.write(slice_of(*tensor, offset, size), bytes);
  const std::uint64_t first = offset_of(*tensor) + offset;
  if (done) {
    BufferContext::of(*tensor)->content.written({first, first + size});
  } else {
    lose(*tensor, offset, size);
  }
  context.note(done, "Writing a tensor");
}

void get_tensor_async(ggml_backend_t backend, const ggml_tensor* tensor, void* data,
                      std::size_t offset, std::size_t size) {
  BackendContext& context = context_of(backend);
  const DeviceContext::Use use = context.device.use();
  if (BufferContext::of(*tensor)->content.lacks(range_of(*tensor))) {
    context.note(fail(ErrorCode::device_lost, "The bytes of \"{}\" were on a device that was lost.",
                      tensor->name),
                 "Reading a tensor");
  }
  auto pending = context.engine.device.read_async(slice_of(*tensor, offset, size));
  if (!pending) {
    context.note(std::unexpected(pending.error()), "Reading a tensor");
    return;
  }
  context.reads.push_back({std::move(*pending), std::span(static_cast<std::byte*>(data), size)});
  context.running =
      false;  // The queue is in order: when the bytes are there, all before them is done.
}

bool cpy_tensor_async(ggml_backend_t from, ggml_backend_t to, const ggml_tensor* src,
                      ggml_tensor* dst) {
  if (!is_weft_backend(from) || !is_weft_backend(to)) return false;
  BackendContext& context = context_of(to);
  const BufferContext* source = BufferContext::of(*src);
  const BufferContext* target = BufferContext::of(*dst);
  // All work of a device goes through one queue, in order; between two devices ggml copies through
  // the host.
  if (source == nullptr || target == nullptr || &source->device != &target->device) return false;
  const DeviceContext::Use use = context.device.use();
  if (source->content.lacks(range_of(*src))) return false;  // The way through the host says so.
  const std::size_t size = api().nbytes(src);
  context.running = true;
  const Status done = context.engine.device.copy(slice_of(*src, 0, size), slice_of(*dst, 0, size));
  if (done) BufferContext::of(*dst)->content.written(range_of(*dst));
  context.note(done, "Copying a tensor");
  return true;
}

ggml_status graph_compute(ggml_backend_t backend, ggml_cgraph* graph) {
  BackendContext& context = context_of(backend);
  DeviceContext::Use use = context.device.use();
  const bool renewed = context.renew();
  if (std::exchange(context.failed, false)) return GGML_STATUS_FAILED;
  if (renewed) {
    log(GGML_LOG_LEVEL_ERROR,
        formatted("{}: The device was lost in front of a graph, which is not computed.",
                  context.device.name()));
    return GGML_STATUS_FAILED;
  }
  context.running = true;
  const Status done =
      context.engine.graphs.compute(context.engine.executor, context.stream, *graph);
  if (done) return GGML_STATUS_SUCCESS;
  log(GGML_LOG_LEVEL_ERROR, formatted("{}: {}", context.device.name(), done.error().message));
  if (done.error().code == ErrorCode::device_lost) {
    // Now, so that what is written for the next graph is not lost too.
    use.unlock();
    use = context.device.use();
    context.renew();
  }
  return done.error().code == ErrorCode::out_of_memory ? GGML_STATUS_ALLOC_FAILED
                                                       : GGML_STATUS_FAILED;
}

/// What ggml asks for before it gives the tensors of a graph their memory.
void graph_optimize(ggml_backend_t /*backend*/, ggml_cgraph* graph,
                    ggml_backend_graph_optimize_params* params) {
  if (!fusing()) return;
  const std::span nodes(api().graph_nodes(graph),
                        static_cast<std::size_t>(api().graph_n_nodes(graph)));
  bring_together(nodes);
  keep_inputs(nodes, [params](ggml_tensor& tensor, ggml_tensor& until) {
    if (params != nullptr) params->add_alloc_dep(params->user_data, &tensor, &until);
  });
}

// One queue per device keeps all work in order, so an event of the same device has happened by the
// time that later work starts; for another device it is enough to wait for everything. Bytes that
// were asked for before the event must be in the host when it has happened, and only the backend
// can put them there.
void event_record(ggml_backend_t backend, ggml_backend_event_t /*event*/) {
  const DeviceContext::Use use = context_of(backend).device.use();
  finish_reads(context_of(backend));
}

void event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
  if (event->device == backend->device) return;
  const DeviceContext::Use use = DeviceContext::of(event->device).use();
  Engine* other = DeviceContext::of(event->device).opened();
  if (other != nullptr) {
    context_of(backend).note(other->device.synchronize(), "Waiting for another device");
  }
}

ggml_guid guid{0x77, 0x65, 0x66, 0x74, 0x2d, 0x67, 0x67, 0x6d,
               0x6c, 0x2d, 0x62, 0x61, 0x63, 0x6b, 0x65, 0x6e};

/// And its bytes are gone.
constexpr auto loses_bytes = [](ggml_backend_t backend, ggml_tensor* tensor, const void*,
                                std::size_t offset, std::size_t size) {
  context_of(backend).failed = true;
  lose(*tensor, offset, size);
};
constexpr auto gives_no_memory = [](auto...) { return GGML_STATUS_ALLOC_FAILED; };
constexpr auto compute_graph = guarded<graph_compute, gives_no_memory>;

constexpr ggml_backend_i backend_interface{
    .get_name = get_name,
    .free = free_backend,
    .set_tensor_async = guarded<set_tensor_async, loses_bytes>,
    .get_tensor_async = guarded<get_tensor_async, next_graph_fails>,
    .set_tensor_2d_async = nullptr,
    .get_tensor_2d_async = nullptr,
    .cpy_tensor_async = guarded<cpy_tensor_async, gives_no>,
    .synchronize = guarded<synchronize, gives_up_reads>,
    .graph_plan_create = nullptr,
    .graph_plan_free = nullptr,
    .graph_plan_update = nullptr,
    .graph_plan_compute = nullptr,
    .graph_compute = compute_graph,
    .event_record = guarded<event_record, gives_up_reads>,
    .event_wait = guarded<event_wait, next_graph_fails>,
    .graph_optimize = guarded<graph_optimize, leaves_it>,  // What it asks for is about speed.
};

}  // namespace

ggml_backend_t make_backend(DeviceContext& device) {
  device.allow_opening();
  Engine* engine = device.engine();
  if (engine == nullptr) return nullptr;
  const DeviceContext::Use use = device.use();
  std::unique_ptr<BackendContext> context(
      new BackendContext{device, *engine, engine->device.stream(), device.generation(), {}});
  std::unique_ptr<ggml_backend> backend(
      new ggml_backend{&guid, backend_interface, device.device(), nullptr});
  backend->context = context.release();
  return backend.release();
}

bool is_weft_backend(ggml_backend_t backend) {
  return backend != nullptr && backend->iface.graph_compute == compute_graph;
}

}  // namespace weft::plugin
