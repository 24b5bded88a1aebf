#include "gpu/pipeline_cache.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "gpu/address_space.hpp"
#include "gpu/callback_text.hpp"
#include "gpu/fault.hpp"

namespace weft::gpu {
namespace {

std::string content_key(const KernelDesc& desc) {
  std::string key;
  key.reserve(desc.wgsl.size() + desc.entry.size() + 64 + 32 * desc.constants.size());
  key += formatted("{}:{}|", desc.entry.size(), desc.entry);
  for (const Access access : desc.bindings) key += access == Access::read ? 'r' : 'w';
  key += formatted("|{}|", desc.params_bytes);
  for (const auto& [name, value] : desc.constants) {
    key += formatted("{}:{}={:x},", name.size(), name, std::bit_cast<std::uint64_t>(value));
  }
  key += '|';
  key += desc.wgsl;
  return key;
}

/// Asks for the compiler's errors of a module, one per line with their position; none leave
/// `errors` empty.
wgpu::Future ask_for_errors(const wgpu::ShaderModule& module, std::shared_ptr<std::string> errors) {
  return module.GetCompilationInfo(
      wgpu::CallbackMode::WaitAnyOnly,
      [errors = std::move(errors)](wgpu::CompilationInfoRequestStatus status,
                                   const wgpu::CompilationInfo* info) {
        if (status != wgpu::CompilationInfoRequestStatus::Success || info == nullptr) return;
        for (std::size_t i = 0; i < info->messageCount; ++i) {
          const wgpu::CompilationMessage& message = info->messages[i];
          if (message.type != wgpu::CompilationMessageType::Error) continue;
          // As the compiler's own tools write it, so that wgsl::annotate finds the position.
          put_text(*errors, [&] {
            return formatted("{}\n  :{}:{} error: {}", *errors, message.lineNum, message.linePos,
                             view_of(message.message));
          });
        }
      });
}

/// What the driver's callback leaves behind; shared with it, since it may come late.
struct Outcome {
  wgpu::ComputePipeline pipeline;
  std::string message;
};

}  // namespace

/// One kernel that this call compiles.
struct PipelineCache::Job {
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  /// One that an exception ended leaves nothing behind that others would wait for in vain, nor
  /// anything that nobody waits for: that keeps its device alive.
  ~Job() {
    if (cache == nullptr || answered) return;
    cache->forget(*this);
    if (future.id == 0) return;
    wgpu::FutureWaitInfo info;
    info.future = future;
    (void)cache->context_.instance.WaitAny(1, &info, std::numeric_limits<std::uint64_t>::max());
  }

  PipelineCache* cache = nullptr;
  bool answered = false;
  const KernelDesc* desc = nullptr;
  std::string key;
  std::promise<KernelResult> promise;
  std::shared_ptr<KernelState> kernel;
  wgpu::ShaderModule module;
  std::shared_ptr<std::string> errors = std::make_shared<std::string>();
  std::shared_ptr<Outcome> outcome = std::make_shared<Outcome>();
  std::optional<Failure> failure;
  wgpu::Future future{};
};

PipelineCache::PipelineCache(Context context, ErrorSink& errors)
    : context_(std::move(context)), errors_(errors) {}

Status PipelineCache::check(const KernelDesc& desc) const {
  if (desc.bindings.size() > context_.caps.max_bindings) {
    return fail(ErrorCode::unsupported,
                "The kernel \"{}\" has {} storage bindings, but this device allows {}.", desc.label,
                desc.bindings.size(), context_.caps.max_bindings);
  }
  if (desc.params_bytes > context_.max_uniform || desc.params_bytes % 4 != 0) {
    return fail(
        ErrorCode::invalid_argument,
        "The kernel \"{}\" has {} bytes of parameters; a multiple of 4 up to {} is expected.",
        desc.label, desc.params_bytes, context_.max_uniform);
  }
  for (const auto& [name, value] : desc.constants) {
    if (!std::isfinite(value)) {
      return fail(ErrorCode::invalid_argument,
                  "The constant \"{}\" of the kernel \"{}\" is {}, but it must be finite.", name,
                  desc.label, value);
    }
  }
  return {};
}

Status PipelineCache::validate(const KernelDesc& desc) const {
  if (desc.trusted || !context_.checker) return {};
  const Result<PipelineCache*> checker = context_.checker();
  if (!checker) return std::unexpected(checker.error());
  const auto kernels = (*checker)->get(std::span(&desc, 1));
  if (!kernels) return std::unexpected(kernels.error());
  return {};
}

std::shared_ptr<const LayoutState> PipelineCache::layout(const KernelDesc& desc) {
  std::vector<std::uint32_t> key{desc.params_bytes};
  for (const Access access : desc.bindings) key.push_back(static_cast<std::uint32_t>(access));
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const LayoutState>& slot = layouts_[key];
  if (slot) return slot;

  auto made = std::make_shared<LayoutState>();
  made->id = next_id();
  made->bindings = desc.bindings;
  made->params_bytes = desc.params_bytes;
  made->params_size = round_up<std::uint32_t>(desc.params_bytes, 16);
  // Mesa's software adapter copies the whole descriptor set into fresh pages of memory for every
  // dispatch with a dynamic offset, which takes as long as a small dispatch; elsewhere one bind
  // group for all offsets is cheaper.
  made->dynamic_params = desc.params_bytes > 0 && !context_.software;
  std::vector<wgpu::BindGroupLayoutEntry> entries;
  for (const Access access : desc.bindings) {
    wgpu::BindGroupLayoutEntry& entry = entries.emplace_back();
    entry.binding = static_cast<std::uint32_t>(entries.size() - 1);
    entry.visibility = wgpu::ShaderStage::Compute;
    entry.buffer.type = access == Access::read ? wgpu::BufferBindingType::ReadOnlyStorage
                                               : wgpu::BufferBindingType::Storage;
  }
  if (desc.params_bytes > 0) {
    wgpu::BindGroupLayoutEntry& entry = entries.emplace_back();
    entry.binding = static_cast<std::uint32_t>(entries.size() - 1);
    entry.visibility = wgpu::ShaderStage::Compute;
    entry.buffer.type = wgpu::BufferBindingType::Uniform;
    entry.buffer.hasDynamicOffset = made->dynamic_params;
    entry.buffer.minBindingSize = made->params_size;
  }
  wgpu::BindGroupLayoutDescriptor group;
  group.entryCount = entries.size();
  group.entries = entries.data();
  made->group = context_.device.CreateBindGroupLayout(&group);
  wgpu::PipelineLayoutDescriptor pipeline;
  pipeline.bindGroupLayoutCount = 1;
  pipeline.bindGroupLayouts = &made->group;
  made->pipeline = context_.device.CreatePipelineLayout(&pipeline);
  slot = made;
  return slot;
}

void PipelineCache::start(Job& job) {
  const KernelDesc& desc = *job.desc;
  const auto room = [] { return check_address_space(space_to_compile, "Compiling a kernel"); };
  if (Status status =
          room().and_then([&] { return check(desc); }).and_then([&] { return validate(desc); });
      !status) {
    job.failure = status.error();
    return;
  }
  job.kernel = std::make_shared<KernelState>();
  job.kernel->device_id = context_.device_id;
  job.kernel->label = desc.label;
  job.kernel->layout = layout(desc);

  wgpu::ShaderSourceWGSL source;
  source.code = std::string_view(desc.wgsl);
  wgpu::ShaderModuleDescriptor module_descriptor;
  module_descriptor.nextInChain = &source;
  module_descriptor.label = std::string_view(desc.label);
  // The scope keeps a bad shader out of the device's own error record: the compilation messages say
  // more, and they are this call's answer.
  context_.device.PushErrorScope(wgpu::ErrorFilter::Validation);
  job.module = context_.device.CreateShaderModule(&module_descriptor);
  context_.device.PopErrorScope(
      wgpu::CallbackMode::AllowSpontaneous,
      [](wgpu::PopErrorScopeStatus, wgpu::ErrorType, wgpu::StringView) {});
  job.future = ask_for_errors(job.module, job.errors);
}

void PipelineCache::link(Job& job) {
  if (job.failure) return;
  const KernelDesc& desc = *job.desc;
  if (Status status = wait_for(context_.instance, job.future, "the shader compiler"); !status) {
    job.failure = status.error();
    return;
  }
  if (!job.errors->empty()) {
    job.failure = Failure{
        ErrorCode::shader,
        formatted("The shader of the kernel \"{}\" is not valid WGSL:{}", desc.label, *job.errors)};
    return;
  }

  std::vector<wgpu::ConstantEntry> constants(desc.constants.size());
  for (std::size_t i = 0; i < constants.size(); ++i) {
    constants[i].key = std::string_view(desc.constants[i].first);
    constants[i].value = desc.constants[i].second;
  }
  wgpu::ComputePipelineDescriptor descriptor;
  descriptor.label = std::string_view(desc.label);
  descriptor.layout = job.kernel->layout->pipeline;
  descriptor.compute.module = job.module;
  descriptor.compute.entryPoint = std::string_view(desc.entry);
  descriptor.compute.constantCount = constants.size();
  descriptor.compute.constants = constants.data();
  job.future = context_.device.CreateComputePipelineAsync(
      &descriptor, wgpu::CallbackMode::WaitAnyOnly,
      [outcome = job.outcome](wgpu::CreatePipelineAsyncStatus status,
                              wgpu::ComputePipeline pipeline, wgpu::StringView message) {
        if (status == wgpu::CreatePipelineAsyncStatus::Success) {
          outcome->pipeline = std::move(pipeline);
        } else {
          put_text(outcome->message, [&] { return text(message); });
        }
      });
}

void PipelineCache::finish(Job& job) {
  if (!job.failure) {
    if (fails_now(Call::pipeline, context_.device)) {
      // Nobody else waits for it, and what nobody waits for keeps its device alive.
      const Status waited = wait_for(context_.instance, job.future, "a pipeline");
      job.outcome->pipeline = nullptr;
      job.failure =
          Failure{ErrorCode::shader,
                  formatted("The kernel \"{}\" does not become a pipeline: by order of a test{}",
                            job.desc->label, waited ? "" : "; " + waited.error().message)};
    } else if (Status status = wait_for(context_.instance, job.future, "a pipeline"); !status) {
      job.failure = status.error();
    } else if (job.outcome->pipeline == nullptr) {
      job.failure =
          Failure{ErrorCode::shader, formatted("The kernel \"{}\" does not become a pipeline: {}",
                                               job.desc->label, job.outcome->message)};
    } else {
      job.kernel->pipeline = std::move(job.outcome->pipeline);
    }
  }
  if (job.failure && errors_.lost()) {
    if (Status lost = errors_.take(); !lost) job.failure = lost.error();
  }
  {
    const std::scoped_lock lock(mutex_);
    if (job.failure) {
      kernels_.erase(job.key);  // So that a later call tries again.
    } else {
      ++compiled_;
    }
  }
  if (job.failure) {
    job.promise.set_value(std::unexpected(std::move(*job.failure)));
  } else {
    job.promise.set_value(std::shared_ptr<const KernelState>(std::move(job.kernel)));
  }
  job.answered = true;
}

Result<std::vector<std::shared_ptr<const KernelState>>> PipelineCache::get(
    std::span<const KernelDesc> descs) {
  std::deque<Job> jobs;  // A deque: callbacks hold references to its elements.
  std::vector<std::shared_future<KernelResult>> answers;
  answers.reserve(descs.size());
  for (const KernelDesc& desc : descs) {
    std::string key = content_key(desc);
    const std::scoped_lock lock(mutex_);
    if (const auto found = kernels_.find(key); found != kernels_.end()) {
      found->second.used = ++asked_;
      answers.push_back(found->second.answer);
      ++shared_;
      continue;
    }
    Job& job = jobs.emplace_back();
    job.cache = this;
    job.desc = &desc;
    job.key = std::move(key);
    answers.push_back(job.promise.get_future().share());
    kernels_.emplace(job.key, Entry{answers.back(), ++asked_});
  }
  drop_oldest();
  // First everything of this call, then the answers of other threads: two calls with the same
  // kernels in different orders cannot wait for each other.
  // All modules before the first wait, then all pipelines: where the compiler is another process,
  // each wait is a way there and back.
  for (Job& job : jobs) start(job);
  for (Job& job : jobs) link(job);
  for (Job& job : jobs) finish(job);

  std::vector<std::shared_ptr<const KernelState>> kernels;
  kernels.reserve(descs.size());
  for (const std::shared_future<KernelResult>& answer : answers) {
    const KernelResult& result = answer.get();
    if (!result) return std::unexpected(result.error());
    kernels.push_back(*result);
  }
  return kernels;
}

void PipelineCache::forget(const Job& job) noexcept {
  const std::scoped_lock lock(mutex_);
  kernels_.erase(job.key);
}

void PipelineCache::drop_oldest() {
  constexpr std::size_t most = 4096;
  const std::scoped_lock lock(mutex_);
  if (kernels_.size() <= most) return;
  std::vector<std::uint64_t> times;
  times.reserve(kernels_.size());
  for (const auto& [key, entry] : kernels_) times.push_back(entry.used);
  // An eighth at once, so that this is not done for every new one.
  const auto limit = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 8);
  std::ranges::nth_element(times, limit);
  std::erase_if(kernels_, [&](const auto& item) { return item.second.used < *limit; });
}

void PipelineCache::fill_in(CacheStats& stats) const {
  const std::scoped_lock lock(mutex_);
  stats.compiled = compiled_;
  stats.shared = shared_;
}

}  // namespace weft::gpu
