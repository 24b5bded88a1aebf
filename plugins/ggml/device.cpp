#include "device.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "api.hpp"
#include "base/format.hpp"
#include "gpu/lifetime.hpp"
#include "guard.hpp"
#include "node.hpp"
#include "profile.hpp"
#include "variables.hpp"

namespace weft::plugin {
namespace {

const char* get_name(ggml_backend_dev_t dev) { return DeviceContext::of(dev).name().c_str(); }

const char* get_description(ggml_backend_dev_t dev) {
  return DeviceContext::of(dev).info().name.c_str();
}

void get_memory(ggml_backend_dev_t dev, std::size_t* free, std::size_t* total) {
  DeviceContext& context = DeviceContext::of(dev);
  context.allow_opening();  // Programs ask for it once for each model.
  const DeviceContext::Use use = context.use();
  const Engine* engine = context.opened();
  const std::uint64_t in_use = engine != nullptr ? engine->device.memory().in_use : 0;
  const MemoryFigures figures = memory_figures(context.info(), context.address(), in_use);
  *free = figures.free;
  *total = figures.total;
}

enum ggml_backend_dev_type get_type(ggml_backend_dev_t dev) {
  return DeviceContext::of(dev).info().kind == "integrated" ? GGML_BACKEND_DEVICE_TYPE_IGPU
                                                            : GGML_BACKEND_DEVICE_TYPE_GPU;
}

void get_props(ggml_backend_dev_t dev, ggml_backend_dev_props* props) {
  *props = {};
  props->name = get_name(dev);
  props->description = get_description(dev);
  props->type = get_type(dev);
  get_memory(dev, &props->memory_free, &props->memory_total);
  props->device_id = DeviceContext::of(dev).id();
  props->caps = {
      .async = true, .host_buffer = false, .buffer_from_host_ptr = false, .events = true};
}

ggml_backend_t init_backend(ggml_backend_dev_t dev, const char* /*params*/) {
  return make_backend(DeviceContext::of(dev));
}

ggml_backend_buffer_type_t get_buffer_type(ggml_backend_dev_t dev) {
  return DeviceContext::of(dev).buffer_type();
}

/// WEFT_EXPLAIN: the error output is told which kernels each op takes, or why there are none. With
/// `only`, every op is refused after that, so that test-backend-ops lists all of its cases without
/// running one.
enum class Explain : std::uint8_t { no, yes, only };

Explain explaining() {
  static const char* const value = std::getenv("WEFT_EXPLAIN");
  const std::string_view text = value != nullptr ? value : "0";
  if (text.empty() || text == "0") return Explain::no;
  return text == "only" ? Explain::only : Explain::yes;
}

void explain(const std::string& device, const ggml_tensor& op, const Result<ops::Plan>& plan) {
  std::string text =
      formatted("{} {} {}", device, plan ? "takes" : "refuses", api().op_name(op.op));
  if (!plan) text += ": " + plan.error().message;
  for (std::size_t i = 0; plan && i < plan->dispatches.size(); ++i) {
    text += (i == 0 ? ": " : "; ") + plan->dispatches[i].kernel.label;
  }
  std::fflush(stdout);  // What the program wrote before comes before it in a common log.
  // Not through ggml's log, which programs silence.
  std::fputs(formatted("weft: {}\n", text).c_str(), stderr);
}

bool supports_op(ggml_backend_dev_t dev, const ggml_tensor* op) {
  if (is_view_op(op->op)) return true;
  const Explain explained = explaining();
  if (find_row(op->op) == nullptr && explained == Explain::no) return false;
  Engine* engine = DeviceContext::of(dev).engine();
  if (engine == nullptr) return false;
  const DeviceContext::Use use = DeviceContext::of(dev).use();
  if (explained == Explain::no) return engine->answers.supports(*op, engine->device.caps());
  const Result<ops::Plan> plan = plan_unplaced(*op, engine->device.caps());
  explain(get_name(dev), *op, plan);
  return explained != Explain::only && plan.has_value();
}

bool supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t type) {
  return type == DeviceContext::of(dev).buffer_type();
}

ggml_backend_event_t event_new(ggml_backend_dev_t dev) {
  return new ggml_backend_event{dev, nullptr};
}

void event_free(ggml_backend_dev_t /*dev*/, ggml_backend_event_t event) { delete event; }

void event_synchronize(ggml_backend_dev_t dev, ggml_backend_event_t /*event*/) {
  const DeviceContext::Use use = DeviceContext::of(dev).use();
  Engine* engine = DeviceContext::of(dev).opened();
  if (engine == nullptr) return;
  if (const Status ok = engine->device.synchronize(); !ok) {
    log(GGML_LOG_LEVEL_ERROR, formatted("Waiting for an event failed: {}", ok.error().message));
  }
}

constexpr auto knows_no_memory = [](ggml_backend_dev_t, std::size_t* free, std::size_t* total) {
  *free = *total = 0;
};
constexpr auto leaves_it = [](auto...) {};

constexpr ggml_backend_device_i device_interface{
    .get_name = get_name,
    .get_description = get_description,
    .get_memory = guarded<get_memory, knows_no_memory>,
    .get_type = get_type,
    .get_props = guarded<get_props, leaves_it>,
    .init_backend = guarded<init_backend, gives_nothing>,
    .get_buffer_type = get_buffer_type,
    .get_host_buffer_type = nullptr,
    .buffer_from_host_ptr = nullptr,
    .supports_op = guarded<supports_op, gives_no>,
    .supports_buft = supports_buft,
    .offload_op = nullptr,
    .event_new = guarded<event_new, gives_nothing>,
    .event_free = event_free,
    .event_synchronize = guarded<event_synchronize, leaves_it>,
};

}  // namespace

DeviceContext::DeviceContext(ggml_backend_reg_t registry, std::size_t number, gpu::AdapterInfo info,
                             std::string address, bool again)
    : name_(formatted("WEFT{}", number)),
      buffer_name_(name_),
      info_(std::move(info)),
      address_(std::move(address)),
      again_(again),
      device_{device_interface, registry, this},
      buffer_type_(&device_, this) {}

Engine* DeviceContext::engine() {
  const std::lock_guard lock(mutex_);
  if (engine_ != nullptr || std::exchange(tried_, true)) return engine_.get();
  gpu::DeviceOptions options;
  options.adapter = std::to_string(info_.index);
  options.profile = profiling() == Profiling::kernels;
  auto device = check_variables().and_then([&] { return gpu::Device::create(options); });
  if (device) {
    engine_ = std::make_unique<Engine>(std::move(*device));
    if (profiling() == Profiling::graphs) engine_->graphs.time_graphs();
  } else {
    log(GGML_LOG_LEVEL_ERROR,
        formatted("{} ({}) does not open: {}", name_, info_.name, device.error().message));
  }
  return engine_.get();
}

void DeviceContext::allow_opening() {
  const std::lock_guard lock(mutex_);
  tried_ = false;
}

Engine* DeviceContext::opened() {
  const std::lock_guard lock(mutex_);
  return engine_.get();
}

void DeviceContext::add(BufferContext& buffer) {
  const std::lock_guard lock(mutex_);
  buffers_.insert(&buffer);
}

void DeviceContext::remove(BufferContext& buffer) {
  const std::lock_guard lock(mutex_);
  buffers_.erase(&buffer);
}

DeviceContext::Use DeviceContext::use() {
  Use use(life_);
  const Engine* engine = opened();
  if (engine == nullptr || !gpu::is_lost(engine->device)) return use;
  use.unlock();
  revive();
  use.lock();
  return use;
}

std::uint64_t DeviceContext::losses() {
  const Use use(life_);
  const Engine* engine = opened();
  return generation_ + (engine != nullptr && gpu::is_lost(engine->device) ? 1 : 0);
}

void DeviceContext::revive() {
  if (!api().reopens_devices) return;
  const std::unique_lock lock(life_);
  Engine* engine = opened();
  if (engine == nullptr || !gpu::is_lost(engine->device)) return;
  if (const Status done = reopen(*engine); !done) {
    log(GGML_LOG_LEVEL_ERROR,
        formatted("{} was lost and does not open again: {}", name_, done.error().message));
    return;
  }
  ++generation_;
  log(GGML_LOG_LEVEL_WARN, formatted("{} was lost, and was opened again.", name_));
}

Status DeviceContext::reopen(Engine& engine) {
  auto fresh = gpu::reopen(engine.device);
  if (!fresh) return std::unexpected(fresh.error());
  std::vector<BufferContext*> all;
  {
    const std::lock_guard lock(mutex_);
    all.assign(buffers_.begin(), buffers_.end());
  }
  // First all that can fail.
  std::vector<gpu::Buffer> buffers;
  for (BufferContext* context : all) {
    auto buffer = fresh->allocate(context->buffer.size(), "ggml");
    if (!buffer) return std::unexpected(buffer.error());
    const auto report = [this](const Failure& failure) {
      log(GGML_LOG_LEVEL_ERROR, formatted("{}: {}", name_, failure.message));
    };
    if (Status ok = context->content.restore(*fresh, *buffer, context->is_transient(), report);
        !ok) {
      return ok;
    }
    buffers.push_back(std::move(*buffer));
  }
  engine.graphs.forget_all();
  engine.answers.forget_all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]->buffer = std::move(buffers[i]);
    if (!all[i]->content.is_plain()) note_gap();
  }
  engine.device = std::move(*fresh);
  // Its kernels and tables were on the lost one.
  std::destroy_at(&engine.executor);
  std::construct_at(&engine.executor, engine.device);
  return {};
}

}  // namespace weft::plugin
