#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "base/format.hpp"
#include "device.hpp"
#include "pci.hpp"

namespace weft::plugin {
namespace {

/// The list of devices that ggml sees. Lives until the process ends, because ggml never gives a
/// backend back.
struct Registry {
  ggml_backend_reg registry{};
  std::vector<std::unique_ptr<DeviceContext>> devices;
};

const char* get_name(ggml_backend_reg_t /*registry*/) { return "Weft"; }

std::size_t get_device_count(ggml_backend_reg_t registry) {
  return static_cast<Registry*>(registry->context)->devices.size();
}

ggml_backend_dev_t get_device(ggml_backend_reg_t registry, std::size_t index) {
  auto& devices = static_cast<Registry*>(registry->context)->devices;
  return index < devices.size() ? devices[index]->device() : nullptr;
}

/// For tests: how many graphs a device has recorded and replayed, how many nodes of an op it has
/// computed, the bytes of its buffers, and what graphs cost the host.
struct DeviceStats {
  std::uint64_t recorded = 0;
  std::uint64_t replayed = 0;
  std::uint64_t nodes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t fused = 0;
  std::uint64_t launches = 0;
  std::uint64_t compiled = 0;
  std::uint64_t planned = 0;
  std::uint64_t reused = 0;
  double plan_seconds = 0;
  double record_seconds = 0;
};

DeviceStats device_stats(ggml_backend_dev_t device, ggml_op op) {
  const DeviceContext::Use use = DeviceContext::of(device).use();
  const Engine* engine = DeviceContext::of(device).opened();
  if (engine == nullptr) return {};
  const GraphCache::Stats stats = engine->graphs.stats();
  return {stats.recorded,
          stats.replayed,
          stats.nodes.at(static_cast<std::size_t>(op)),
          engine->device.memory().in_use,
          stats.fused,
          stats.launches,
          engine->device.cache().compiled,
          stats.planned,
          stats.reused,
          stats.plan_seconds,
          stats.record_seconds};
}

/// For tests: loses the device as a driver would.
bool lose_device(ggml_backend_dev_t device) {
  const DeviceContext::Use use = DeviceContext::of(device).use();
  Engine* engine = DeviceContext::of(device).opened();
  return engine != nullptr && engine->device.lose_for_test().has_value();
}

/// How often the device was lost so far, for programs that compute again what was lost with it.
std::uint64_t device_losses(ggml_backend_dev_t device) {
  return DeviceContext::of(device).losses();
}

void* get_proc_address(ggml_backend_reg_t /*registry*/, const char* name) {
  if (std::string_view(name) == "weft_device_stats") {
    return reinterpret_cast<void*>(device_stats);
  }
  if (std::string_view(name) == "weft_lose_device") return reinterpret_cast<void*>(lose_device);
  if (std::string_view(name) == "weft_device_losses") {
    return reinterpret_cast<void*>(device_losses);
  }
  return nullptr;
}

constexpr ggml_backend_reg_i registry_interface{
    .get_name = get_name,
    .get_device_count = get_device_count,
    .get_device = get_device,
    .get_proc_address = get_proc_address,
};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return parts;
}

/// The adapters to offer: those that WEFT_GGML_DEVICES lists (indices or parts of names, repeated
/// ones are devices of their own), else the one of WEFT_ADAPTER, else all GPUs, else whatever there
/// is.
std::vector<gpu::AdapterInfo> offered(const std::vector<gpu::AdapterInfo>& adapters) {
  const char* list = std::getenv("WEFT_GGML_DEVICES");
  if (list == nullptr) list = std::getenv("WEFT_ADAPTER");
  std::vector<gpu::AdapterInfo> result;
  if (list != nullptr && *list != '\0') {
    for (const std::string_view wanted : split(list)) {
      auto chosen = gpu::find_adapter(adapters, wanted);
      if (chosen) {
        result.push_back(*chosen);
      } else {
        log(GGML_LOG_LEVEL_ERROR, chosen.error().message);
      }
    }
    return result;
  }
  for (const gpu::AdapterInfo& info : adapters) {
    if (info.kind != "software") result.push_back(info);
  }
  return result.empty() ? adapters : result;
}

/// The address of an adapter on the PCI bus; cards of one model are told apart by their order.
std::string address_of(const gpu::AdapterInfo& info,
                       const std::vector<gpu::AdapterInfo>& adapters) {
  const auto before = std::ranges::count_if(adapters, [&](const gpu::AdapterInfo& other) {
    return other.index < info.index && other.backend == info.backend &&
           other.vendor_id == info.vendor_id && other.device_id == info.device_id;
  });
  return pci_address(pci_devices, info.vendor_id, info.device_id, static_cast<std::size_t>(before));
}

Registry* make_registry() {
  auto registry = std::make_unique<Registry>();
  registry->registry = {api().version, registry_interface, registry.get()};
  const auto adapters = gpu::list_adapters();
  if (!adapters) {
    log(GGML_LOG_LEVEL_ERROR, adapters.error().message);
    return registry.release();
  }
  for (gpu::AdapterInfo& info : offered(*adapters)) {
    const std::size_t number = registry->devices.size();
    std::string address = address_of(info, *adapters);
    const bool again = std::ranges::any_of(
        registry->devices, [&](const auto& device) { return device->info().index == info.index; });
    registry->devices.push_back(std::make_unique<DeviceContext>(
        &registry->registry, number, std::move(info), std::move(address), again));
  }
  return registry.release();
}

}  // namespace
}  // namespace weft::plugin

/// What ggml calls after loading the plug-in.
extern "C" [[gnu::visibility("default")]] ggml_backend_reg_t ggml_backend_init() {
  try {
    if (const std::string& refusal = weft::plugin::refusal(); !refusal.empty()) {
      weft::plugin::log(GGML_LOG_LEVEL_ERROR, refusal);
      return nullptr;
    }
    static weft::plugin::Registry* const registry = weft::plugin::make_registry();
    return &registry->registry;
  } catch (const std::exception& error) {
    weft::plugin::log(GGML_LOG_LEVEL_ERROR,
                      weft::formatted("The plug-in does not start: {}", error.what()));
    return nullptr;
  }
}

/// How well the plug-in suits this machine, among variants of the same plug-in. Never 0, which
/// would mean not at all, and without a word: ggml_backend_init() says why.
extern "C" [[gnu::visibility("default")]] int ggml_backend_score() { return 1; }
