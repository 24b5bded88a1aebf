#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/format.hpp"
#include "llm/checks.hpp"
#include "llm/state.hpp"

// Which devices a model runs on.

namespace weft::llm {

void Session::State::add_device(ggml_backend_dev_t device, Devices& devices) {
  device_name =
      formatted("{}{}{}", devices.empty() ? "" : device_name, devices.empty() ? "" : " and ",
                api->ggml_backend_dev_description(device));
  devices.push_back(device);
}

Status Session::State::add_local(const Libraries& libraries, const std::string& wanted,
                                 Devices& devices) {
  // Among the backends of a system, it has been loaded with them.
  ggml_backend_reg_t registry = api->ggml_backend_reg_by_name("Weft");
  if (registry == nullptr) {
    log->take();
    registry = api->ggml_backend_load(libraries.plugin.c_str());
  }
  if (registry == nullptr) {
    return failure(ErrorCode::io,
                   formatted("The plug-in {} does not load", libraries.plugin.string()));
  }
  const std::size_t count = api->ggml_backend_reg_dev_count(registry);
  if (count == 0) return failure(ErrorCode::not_found, "There is no device to run on");
  using CountLosses = std::uint64_t (*)(ggml_backend_dev_t);
  const auto count_losses = reinterpret_cast<CountLosses>(
      api->ggml_backend_reg_get_proc_address(registry, "weft_device_losses"));
  // All that were asked for, or else the first.
  for (std::size_t i = 0; i < (wanted.empty() ? 1 : count); ++i) {
    ggml_backend_dev_t device = api->ggml_backend_reg_dev_get(registry, i);
    add_device(device, devices);
    if (count_losses == nullptr) continue;  // A plug-in of another release.
    losses.emplace_back([count_losses, device] { return count_losses(device); });
  }
  return {};
}

Status Session::State::add_servers(const Libraries& libraries, std::string_view list,
                                   Devices& devices) {
  const auto library = find_rpc(libraries);
  if (!library) return std::unexpected(library.error());
  log->take();
  ggml_backend_reg_t rpc = api->ggml_backend_load(library->c_str());
  if (rpc == nullptr) {
    return failure(ErrorCode::io,
                   formatted("ggml's RPC backend {} does not load", library->string()));
  }
  using AddServer = ggml_backend_reg_t (*)(const char*);
  const auto add_server = reinterpret_cast<AddServer>(
      api->ggml_backend_reg_get_proc_address(rpc, "ggml_backend_rpc_add_server"));
  if (add_server == nullptr) {
    return fail(ErrorCode::not_found, "{} is not ggml's RPC backend.", library->string());
  }
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string server(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    // ggml ends the process where nobody answers, so that is found out first.
    if (Status ok = check_server(server); !ok) return ok;
    ggml_backend_reg_t registry = add_server(server.c_str());
    const std::size_t count = registry != nullptr ? api->ggml_backend_reg_dev_count(registry) : 0;
    if (count == 0) {
      return failure(ErrorCode::not_found, formatted("The server {} has no device", server));
    }
    for (std::size_t i = 0; i < count; ++i) {
      add_device(api->ggml_backend_reg_dev_get(registry, i), devices);
    }
  }
  return {};
}

Result<Devices> Session::State::open_devices(const Libraries& libraries,
                                             const ModelOptions& options) {
  const bool names_adapters = !options.device.empty() && options.device != "cpu";
  if (names_adapters) setenv("WEFT_GGML_DEVICES", options.device.c_str(), 1);
  log->take();
  api->ggml_backend_load_all_from_path(libraries.backends.c_str());
  Devices devices;
  if (!options.servers.empty()) {
    if (Status ok = add_servers(libraries, options.servers, devices); !ok) {
      return std::unexpected(ok.error());
    }
  }
  if (options.device == "cpu") return devices;
  if (Status ok = add_local(libraries, options.device, devices); !ok) {
    return std::unexpected(ok.error());
  }
  return devices;
}

Status Session::State::check_memory(const ModelOptions& options, const Devices& devices) const {
  const bool all_layers = options.gpu_layers < 0 || options.gpu_layers >= most_layers;
  if (devices.empty() || !all_layers) return {};
  std::size_t all = 0;
  for (ggml_backend_dev_t device : devices) {
    std::size_t free = 0;
    std::size_t total = 0;
    api->ggml_backend_dev_memory(device, &free, &total);
    all += free;
  }
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(options.model, error);
  if (error || bytes <= all) return {};
  return fail(ErrorCode::out_of_memory,
              "The model has {:.1f} GiB, and {} has {:.1f} GiB free; --gpu-layers puts only some "
              "of its layers there.",
              static_cast<double>(bytes) / 0x1p30, device_name, static_cast<double>(all) / 0x1p30);
}

}  // namespace weft::llm
