#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <format>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/number.hpp"
#include "device/profiles.hpp"
#include "gpu/adapter.hpp"
#include "gpu/address_space.hpp"
#include "gpu/callback_text.hpp"
#include "gpu/device_state.hpp"
#include "gpu/fault.hpp"
#include "gpu/lifetime.hpp"
#include "gpu/make_buffer.hpp"
#include "gpu/probe.hpp"
#include "gpu/process_end.hpp"
#include "gpu/tuned.hpp"

namespace weft::gpu {
namespace {

constexpr std::size_t bind_group_count = 4096;
constexpr std::uint64_t disk_cache_bytes = std::uint64_t{512} << 20;
constexpr std::uint64_t staging_kept = std::uint64_t{256} << 20;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<Mode> mode_of(const DeviceOptions& options) {
  if (options.mode) return *options.mode;
  const std::string name = environment("WEFT_MODE");
  if (name.empty() || name == "fast") return Mode::fast;
  if (name == "safe") return Mode::safe;
  return fail(ErrorCode::invalid_argument,
              "WEFT_MODE is \"{}\", but it can be \"fast\" or \"safe\".", name);
}

/// Whether WEFT_CHECK_INDICES asks for it.
Result<bool> checks_indices() {
  const std::string text = environment("WEFT_CHECK_INDICES");
  if (text.empty() || text == "0") return false;
  if (text == "1") return true;
  return fail(ErrorCode::invalid_argument,
              "WEFT_CHECK_INDICES is \"{}\", but it can be \"0\" or \"1\".", text);
}

/// Seconds of WEFT_WATCHDOG, or 0.
Result<double> watchdog_limit() {
  const std::string text = environment("WEFT_WATCHDOG");
  if (text.empty()) return 0;
  const std::optional<double> seconds = parse_number(text);
  if (!seconds || !(*seconds >= 0) || !std::isfinite(*seconds)) {
    return fail(ErrorCode::invalid_argument,
                "WEFT_WATCHDOG is \"{}\", but it must be a number of seconds.", text);
  }
  return *seconds;
}

/// The features to ask for: what the (masked) capabilities say, and what threads need.
std::vector<wgpu::FeatureName> features_of(const wgpu::Adapter& adapter, const Caps& caps) {
  std::vector<wgpu::FeatureName> features;
  const auto add = [&](bool wanted, wgpu::FeatureName feature) {
    if (wanted && adapter.HasFeature(feature)) features.push_back(feature);
  };
  add(caps.f16, wgpu::FeatureName::ShaderF16);
  add(caps.subgroups, wgpu::FeatureName::Subgroups);
  add(caps.subgroup_control, wgpu::FeatureName::SubgroupSizeControl);
  add(caps.subgroup_matrix, wgpu::FeatureName::ChromiumExperimentalSubgroupMatrix);
  add(caps.timestamps, wgpu::FeatureName::TimestampQuery);
  add(true, wgpu::FeatureName::ImplicitDeviceSynchronization);
  return features;
}

ErrorCode code_of(wgpu::ErrorType type) {
  switch (type) {
    case wgpu::ErrorType::OutOfMemory: return ErrorCode::out_of_memory;
    case wgpu::ErrorType::Validation: return ErrorCode::invalid_argument;
    default: return ErrorCode::internal;
  }
}

/// Opens the device; it reports to state.errors.
Status open(DeviceState& state, const wgpu::Adapter& adapter) {
  wgpu::Limits limits;
  adapter.GetLimits(&limits);
  const auto on = toggle_names(ToggleStage::device, state.mode, true);
  const auto off = toggle_names(ToggleStage::device, state.mode, false);
  wgpu::DawnTogglesDescriptor toggles;
  toggles.enabledToggleCount = on.size();
  toggles.enabledToggles = on.data();
  toggles.disabledToggleCount = off.size();
  toggles.disabledToggles = off.data();
  wgpu::DawnCacheDeviceDescriptor cache;
  if (state.disk) {
    cache.SetDawnLoadCacheDataCallback(
        [](std::span<const std::byte> key, std::span<std::byte> value, DiskCache* disk) {
          return disk->load(key, value.data() == nullptr ? std::span<std::byte>() : value);
        },
        state.disk.get());
    cache.SetDawnStoreCacheDataCallback(
        [](std::span<const std::byte> key, std::span<const std::byte> value, DiskCache* disk) {
          disk->store(key, value);
        },
        state.disk.get());
    toggles.nextInChain = &cache;
  }
  const std::vector<wgpu::FeatureName> features = features_of(adapter, state.info.caps);
  wgpu::DeviceDescriptor descriptor;
  descriptor.nextInChain = &toggles;
  descriptor.label = "weft";
  descriptor.requiredFeatureCount = features.size();
  descriptor.requiredFeatures = features.data();
  descriptor.requiredLimits = &limits;
  // The state outlives the device: ~DeviceState destroys the device, which ends all callbacks.
  descriptor.SetUncapturedErrorCallback(
      [](const wgpu::Device&, wgpu::ErrorType type, wgpu::StringView message, ErrorSink* sink) {
        sink->record(code_of(type), view_of(message));
      },
      &state.errors);
  descriptor.SetDeviceLostCallback(
      wgpu::CallbackMode::AllowSpontaneous,
      [](const wgpu::Device&, wgpu::DeviceLostReason, wgpu::StringView message, ErrorSink* sink) {
        sink->lose(view_of(message));
      },
      &state.errors);

  std::string problem = "no answer came";
  const wgpu::Future future = adapter.RequestDevice(
      &descriptor, wgpu::CallbackMode::WaitAnyOnly,
      [&](wgpu::RequestDeviceStatus, wgpu::Device device, wgpu::StringView message) {
        state.device = std::move(device);
        put_text(problem, [&] { return text(message); });
      });
  if (Status status = wait_for(state.instance, future, "a device"); !status) return status;
  if (fails_now(Call::device, state.device)) {
    state.device = nullptr;
    problem = "by order of a test";
  }
  if (state.device == nullptr) {
    return fail(ErrorCode::unsupported, "The adapter \"{}\" gives no device: {}", state.info.name,
                problem);
  }
  state.queue = state.device.GetQueue();
  state.uniform_alignment = limits.minUniformBufferOffsetAlignment;
  state.max_uniform = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(limits.maxUniformBufferBindingSize, params_page_bytes));
  return {};
}

/// Whether to look at what an adapter is good at: nobody measured it, and nothing was found out
/// before.
bool wants_probe(const AdapterInfo& info, const std::string& setting, bool known,
                 const Host& host) {
  if (!host.blocking || setting == "off") return false;
  return setting == "probe" ||
         (!known && needs_probe({info.kind, info.vendor, info.architecture, info.name}));
}

}  // namespace

Result<Device> Device::create(const DeviceOptions& options) {
  const Result<Mode> mode = mode_of(options);
  if (!mode) return std::unexpected(mode.error());
  const Result<bool> checks = checks_indices();
  if (!checks) return std::unexpected(checks.error());
  const Result<double> watchdog = watchdog_limit();
  if (!watchdog) return std::unexpected(watchdog.error());
  if (Status room = check_address_space(space_to_open, "Opening a device"); !room) {
    return std::unexpected(room.error());
  }
  if (Status room = check_file_size(file_to_open, "Opening a device"); !room) {
    return std::unexpected(room.error());
  }
  if (Status room = check_threads(threads_to_open(), "Opening a device"); !room) {
    return std::unexpected(room.error());
  }
  Result<Discovery> discovery = discover();
  if (!discovery) return std::unexpected(discovery.error());
  const Result<Candidate> candidate =
      choose(*discovery, options.adapter.empty() ? environment("WEFT_ADAPTER") : options.adapter);
  if (!candidate) return std::unexpected(candidate.error());
  Caps offered = candidate->info.caps;
  const std::string tune = environment("WEFT_TUNE");
  const auto tuned = load_tuned(candidate->info, tune, cache_directory(options.cache_dir));
  if (!tuned) return std::unexpected(tuned.error());
  if (*tuned) offered.traits = **tuned;
  const std::string mask = options.caps_mask.empty() ? environment("WEFT_CAPS") : options.caps_mask;
  Result<Caps> caps = apply_caps_mask(offered, mask);
  if (!caps) return std::unexpected(caps.error());

  std::shared_ptr<DeviceState> state(new DeviceState, CloseUnlessProcessEnds{});
  state->id = next_id();
  state->options = options;
  state->watchdog.set_limit(*watchdog);
  state->info = candidate->info;
  state->info.caps = std::move(*caps);
  state->info.caps.shapes = options.profile;
  state->info.caps.check_indices = options.check_indices || *checks;
  state->host = discovery->host;
  state->mode = state->host.unchecked ? *mode : Mode::safe;
  state->instance = discovery->instance;
  if (options.disk_cache && state->host.pipeline_blobs) {
    const std::filesystem::path directory = cache_directory(options.cache_dir);
    if (!directory.empty()) {
      state->disk = std::make_unique<DiskCache>(directory / "pipelines", disk_cache_bytes);
    }
  }
  if (Status status = open(*state, candidate->adapter); !status) {
    return std::unexpected(status.error());
  }
  const Caps& masked = state->info.caps;
  state->bind_groups = std::make_unique<BindGroupCache>(state->device, bind_group_count);
  state->pool = std::make_unique<BufferPool>(
      state->instance, state->device, state->errors,
      BufferPool::Limits{masked.max_buffer, options.pool_limit, state->host.blocking},
      [groups = state->bind_groups.get()](std::uint64_t block) { groups->drop(block); });
  state->staging = std::make_shared<StagingPool>(state->instance, state->device,
                                                 state->host.blocking, state->errors, staging_kept);
  std::function<Result<PipelineCache*>()> checker;
  if (state->mode == Mode::fast) {
    checker = [raw = state.get()] { return raw->validating_cache(); };
    state->checker_options = options;
    state->checker_options.adapter = std::to_string(state->info.index);
    state->checker_options.mode = Mode::safe;
    state->checker_options.profile = false;
  }
  state->pipelines = std::make_unique<PipelineCache>(
      PipelineCache::Context{state->instance, state->device, state->id, masked,
                             state->info.is_software(), state->max_uniform, std::move(checker)},
      state->errors);
  if (options.profile) {
    state->profiler = std::make_unique<Profiler>(state->instance, state->device, state->staging,
                                                 masked.timestamps);
  }
  DeviceState& made = *state;
  Device device = Unwrap::wrap<Device>(std::move(state));
  if (!options.profile && wants_probe(candidate->info, tune, tuned->has_value(), discovery->host)) {
    // What cannot be found out stays estimated: it only decides about speed.
    if (const auto traits = probe(device, offered.traits)) {
      offered.traits = *traits;
      if (const auto again = apply_caps_mask(offered, mask)) made.info.caps.traits = again->traits;
      const auto file = probed_file(candidate->info, cache_directory(options.cache_dir));
      if (options.disk_cache && !file.empty()) {
        [[maybe_unused]] const Status kept = store_tuned(candidate->info, *traits, file);
      }
    }
  }
  return device;
}

Result<Device> reopen(const Device& device) {
  const DeviceState& state = *Unwrap::state(device);
  DeviceOptions options = state.options;
  options.mode = state.mode;
  // The same adapter by its name; where it is gone, whatever is best.
  DeviceOptions same = options;
  if (same.adapter.empty()) same.adapter = state.info.name;
  Result<Device> made = Device::create(same);
  if (!made && options.adapter.empty()) made = Device::create(options);
  if (!made) return made;
  DeviceState& fresh = *Unwrap::state(*made);
  fresh.options = state.options;
  fresh.automatic = state.automatic.load();
  fresh.watchdog.set_limit(state.watchdog.limit());
  fresh.pool->take_limit_of(*state.pool);
  fresh.restorers = restorers(device);
  for (auto& [owner, restorer] : fresh.restorers) restorer.changed = false;
  return made;
}

void set_watchdog(const Device& device, double seconds) {
  Unwrap::state(device)->watchdog.set_limit(seconds);
}

void recover_automatically(const Device& device) { Unwrap::state(device)->automatic = true; }
bool recovers_automatically(const Device& device) { return Unwrap::state(device)->automatic; }

bool belongs_to(const Buffer& buffer, const Device& device) {
  const auto& state = Unwrap::state(buffer);
  return state && state->device == Unwrap::state(device);
}

namespace {

void forget_expired(Restorers& all) {
  std::erase_if(all, [](const auto& item) { return item.first.expired(); });
}

}  // namespace

void add_restorer(const Device& device, const std::weak_ptr<void>& owner, Restorer restorer) {
  DeviceState& state = *Unwrap::state(device);
  const std::scoped_lock lock(state.restorers_mutex);
  if (std::has_single_bit(state.restorers.size())) forget_expired(state.restorers);
  state.restorers.insert_or_assign(owner, std::move(restorer));
}

std::optional<Restorer> find_restorer(const Device& device, const std::weak_ptr<void>& owner) {
  DeviceState& state = *Unwrap::state(device);
  const std::scoped_lock lock(state.restorers_mutex);
  const auto found = state.restorers.find(owner);
  return found == state.restorers.end() ? std::nullopt : std::optional(found->second);
}

void note_change(const Device& device, const std::weak_ptr<void>& owner) {
  DeviceState& state = *Unwrap::state(device);
  const std::scoped_lock lock(state.restorers_mutex);
  const auto found = state.restorers.find(owner);
  if (found == state.restorers.end()) return;
  if (found->second.until_changed) {
    state.restorers.erase(found);
  } else {
    found->second.changed = true;
  }
}

Restorers restorers(const Device& device) {
  DeviceState& state = *Unwrap::state(device);
  const std::scoped_lock lock(state.restorers_mutex);
  forget_expired(state.restorers);
  return state.restorers;
}

std::uint64_t identity(const Device& device) { return Unwrap::state(device)->id; }
bool is_lost(const Device& device) { return Unwrap::state(device)->errors.lost(); }
bool checks_aliases(const Device& device) { return Unwrap::state(device)->checks_aliases(); }
bool checks_elements(const Device& device) {
  const DeviceState& state = *Unwrap::state(device);
  return state.mode == Mode::safe && state.host.blocking;
}

DeviceState::~DeviceState() {
  if (device != nullptr) device.Destroy();
}

Result<PipelineCache*> DeviceState::validating_cache() {
  const std::scoped_lock lock(checker_mutex);
  if (!checker) {
    const Result<Device> made = Device::create(checker_options);
    if (!made) return wrap(made.error(), "opening a second device to check a kernel on");
    checker = Unwrap::state(*made);
  }
  return checker->pipelines.get();
}

Result<ParamsPage> DeviceState::take_page() {
  {
    const std::scoped_lock lock(pages_mutex);
    if (!pages.empty()) {
      ParamsPage page = std::move(pages.back());
      pages.pop_back();
      return page;
    }
  }
  wgpu::BufferDescriptor descriptor;
  descriptor.label = "weft.params";
  descriptor.size = params_page_bytes;
  descriptor.usage = wgpu::BufferUsage::Uniform | wgpu::BufferUsage::CopyDst;
  auto made = make_buffer(instance, device, host.blocking, descriptor, errors);
  if (!made) {
    if (Status lost = errors.take(); !lost) return std::unexpected(lost.error());
    return fail(ErrorCode::out_of_memory,
                "{} bytes for the parameters of kernels could not be had: {}", params_page_bytes,
                made.error());
  }
  return ParamsPage{std::move(*made), next_id()};
}

void DeviceState::give_back(ParamsPage page) noexcept {
  try {
    const std::scoped_lock lock(pages_mutex);
    pages.push_back(std::move(page));
  } catch (...) {
    // The page goes with its last reference.
  }
}

}  // namespace weft::gpu
