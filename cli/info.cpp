#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/format.hpp"
#include "commands.hpp"
#include "device/matrix_types.hpp"
#include "device/toggles.hpp"
#include "device/traits_text.hpp"
#include "gpu/gpu.hpp"

// `weft info`: the adapters of this machine, what they can do, and what Weft sets on them.

namespace weft::cli {
namespace {

struct InfoOptions {
  bool json = false;
  bool toggles = false;
};

std::string_view stage_name(ToggleStage stage) {
  switch (stage) {
    case ToggleStage::instance: return "instance";
    case ToggleStage::adapter: return "adapter";
    case ToggleStage::device: return "device";
  }
  return "unknown";
}

std::string_view use_name(ToggleUse use) {
  switch (use) {
    case ToggleUse::on: return "on";
    case ToggleUse::off: return "off";
    case ToggleUse::fast_on: return "on in fast mode";
  }
  return "unknown";
}

/// "128 MiB", or with one decimal where it is not whole.
std::string amount(std::uint64_t bytes) {
  constexpr std::string_view unit_names[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(unit_names)) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  return whole ? formatted("{:.0f} {}", value, unit_names[unit])
               : formatted("{:.1f} {}", value, unit_names[unit]);
}

std::string matrix_text(const MatrixConfig& config) {
  return formatted("{}x{}x{} {}->{}", config.m, config.n, config.k, name(config.component),
                   name(config.result));
}

nlohmann::json traits_json(const Traits& traits) {
  nlohmann::json all;
  for (const auto& [name, value] : values_of(traits)) all[std::string(name)] = value;
  return all;
}

nlohmann::json caps_json(const Caps& caps) {
  nlohmann::json matrices = nlohmann::json::array();
  for (const MatrixConfig& config : caps.matrix_configs) {
    matrices.push_back({{"m", config.m},
                        {"n", config.n},
                        {"k", config.k},
                        {"component", name(config.component)},
                        {"result", name(config.result)},
                        {"subgroup", config.subgroup}});
  }
  return {{"f16", caps.f16},
          {"subgroups", caps.subgroups},
          {"subgroup_min", caps.subgroup_min},
          {"subgroup_max", caps.subgroup_max},
          {"subgroup_matrix", caps.subgroup_matrix},
          {"matrix_configs", matrices},
          {"timestamps", caps.timestamps},
          {"max_buffer", caps.max_buffer},
          {"max_binding", caps.max_binding},
          {"binding_alignment", caps.binding_alignment},
          {"max_bindings", caps.max_bindings},
          {"workgroup_bytes", caps.workgroup_bytes},
          {"workgroup_invocations", caps.workgroup_invocations},
          {"max_workgroups", caps.max_workgroups},
          {"traits", traits_json(caps.traits)}};
}

nlohmann::json adapter_json(const gpu::AdapterInfo& info) {
  return {{"index", info.index},   {"name", info.name},
          {"vendor", info.vendor}, {"architecture", info.architecture},
          {"driver", info.driver}, {"backend", info.backend},
          {"kind", info.kind},     {"caps", caps_json(info.caps)}};
}

nlohmann::json toggles_json() {
  nlohmann::json rows = nlohmann::json::array();
  for (const Toggle& toggle : toggle_table) {
    rows.push_back({{"name", toggle.name},
                    {"stage", stage_name(toggle.stage)},
                    {"use", use_name(toggle.use)},
                    {"why", toggle.why},
                    {"link", toggle.link}});
  }
  return rows;
}

void print_caps(const Caps& caps) {
  const auto yes = [](bool value) { return value ? "yes" : "no"; };
  std::string matrices;
  for (const MatrixConfig& config : caps.matrix_configs) {
    matrices += (matrices.empty() ? "" : ", ") + matrix_text(config);
  }
  const std::string subgroups =
      !caps.subgroups ? "no"
      : caps.subgroup_min == caps.subgroup_max
          ? formatted("yes, of {}", caps.subgroup_min)
          : formatted("yes, of {} to {}", caps.subgroup_min, caps.subgroup_max);
  std::string out;
  out += formatted("    f16                 {}\n", yes(caps.f16));
  out += formatted("    subgroups           {}\n", subgroups);
  out += formatted("    subgroup matrices   {}\n", matrices.empty() ? "no" : matrices);
  out += formatted("    timestamps          {}\n", yes(caps.timestamps));
  out += formatted("    largest buffer      {}\n", amount(caps.max_buffer));
  out += formatted("    largest binding     {} (offsets: multiples of {})\n",
                   amount(caps.max_binding), caps.binding_alignment);
  out += formatted("    storage bindings    {}\n", caps.max_bindings);
  out += formatted("    workgroup           {} invocations, {} of memory\n",
                   caps.workgroup_invocations, amount(caps.workgroup_bytes));
  out +=
      formatted("    grid                {} workgroups in each dimension\n", caps.max_workgroups);
  const Traits& traits = caps.traits;
  out += formatted("    taken for           {} processors, {:.0f} GB/s of memory{}{}\n",
                   traits.processors, traits.memory_rate,
                   traits.slow_barriers ? ", slow barriers" : "",
                   traits.slow_compile ? ", slow to compile for" : "");
  std::fputs(out.c_str(), stdout);
}

void print_adapter(const gpu::AdapterInfo& info, bool chosen) {
  std::fputs(
      formatted("{} {}: {}\n    {}, {}, {} {}\n    {}\n", chosen ? "*" : " ", info.index, info.name,
                info.kind, info.backend, info.vendor, info.architecture, info.driver)
          .c_str(),
      stdout);
}

void run_info(const InfoOptions& options) {
  const auto adapters = value_or_exit(gpu::list_adapters());
  // The device says which adapter is the chosen one, and what the mask leaves of it.
  const Result<gpu::Device> device = gpu::Device::create({.disk_cache = false});
  const std::string mode = device && device->mode() == gpu::Mode::safe ? "safe" : "fast";
  if (options.json) {
    nlohmann::json out{{"version", WEFT_VERSION}, {"adapters", nlohmann::json::array()}};
    for (const gpu::AdapterInfo& info : adapters) out["adapters"].push_back(adapter_json(info));
    if (device) {
      out["chosen"] = adapter_json(device->info());
      out["mode"] = mode;
    } else {
      out["error"] = device.error().message;
    }
    out["toggles"] = toggles_json();
    std::fputs((out.dump(2) + "\n").c_str(), stdout);
  } else {
    std::printf("weft %s\n\n", WEFT_VERSION);
    if (adapters.empty()) std::puts("This machine has no adapter.");
    for (const gpu::AdapterInfo& info : adapters) {
      const bool chosen = device && device->info().index == info.index;
      print_adapter(info, chosen);
      print_caps(chosen ? device->info().caps : info.caps);
    }
    if (device) {
      std::printf(
          "\n* is the chosen one (WEFT_ADAPTER), shown with WEFT_CAPS applied, in %s mode "
          "(WEFT_MODE).\n",
          mode.c_str());
    }
    if (options.toggles) {
      std::puts("\nToggles that Weft sets:");
      for (const Toggle& toggle : toggle_table) {
        std::fputs(
            formatted("  {} ({}, {})\n    {}\n    {}\n", toggle.name, stage_name(toggle.stage),
                      use_name(toggle.use), toggle.why, toggle.link)
                .c_str(),
            stdout);
      }
    }
  }
  if (!device) throw CommandError(device.error().message);
}

}  // namespace

void add_info(CLI::App& app) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand("info", "List the adapters and what they can do");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--toggles", options->toggles, "Also list the toggles that Weft sets, and why");
  command->callback([options] { run_info(*options); });
}

}  // namespace weft::cli
