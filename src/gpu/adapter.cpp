#include "gpu/adapter.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "device/profiles.hpp"
#include "gpu/address_space.hpp"

namespace weft::gpu {
namespace {

std::string kind_name(wgpu::AdapterType type) {
  switch (type) {
    case wgpu::AdapterType::DiscreteGPU: return "discrete";
    case wgpu::AdapterType::IntegratedGPU: return "integrated";
    case wgpu::AdapterType::CPU: return "software";
    default: return "unknown";
  }
}

std::string backend_name(wgpu::BackendType type) {
  switch (type) {
    case wgpu::BackendType::Vulkan: return "Vulkan";
    case wgpu::BackendType::Metal: return "Metal";
    case wgpu::BackendType::D3D12: return "D3D12";
    case wgpu::BackendType::D3D11: return "D3D11";
    case wgpu::BackendType::OpenGL: return "OpenGL";
    case wgpu::BackendType::OpenGLES: return "OpenGLES";
    case wgpu::BackendType::WebGPU: return "WebGPU";
    default: return "unknown";
  }
}

std::optional<MatrixType> matrix_type(wgpu::SubgroupMatrixComponentType type) {
  switch (type) {
    case wgpu::SubgroupMatrixComponentType::F32: return MatrixType::f32;
    case wgpu::SubgroupMatrixComponentType::F16: return MatrixType::f16;
    case wgpu::SubgroupMatrixComponentType::U32: return MatrixType::u32;
    case wgpu::SubgroupMatrixComponentType::I32: return MatrixType::i32;
    case wgpu::SubgroupMatrixComponentType::U8: return MatrixType::u8;
    case wgpu::SubgroupMatrixComponentType::I8: return MatrixType::i8;
    default: return std::nullopt;  // A type that came later than this table.
  }
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

int rank(const AdapterInfo& info, bool low_power) {
  if (info.kind == "discrete") return low_power ? 2 : 3;
  if (info.kind == "integrated") return low_power ? 3 : 2;
  if (info.kind == "unknown") return 1;
  return 0;
}

AdapterInfo best(std::span<const AdapterInfo> adapters, bool low_power) {
  return *std::ranges::max_element(
      adapters, {}, [low_power](const AdapterInfo& info) { return rank(info, low_power); });
}

}  // namespace

AdapterInfo describe(const wgpu::Adapter& adapter, std::uint32_t index) {
  wgpu::AdapterInfo raw;
  wgpu::AdapterPropertiesSubgroupMatrixConfigs matrices;
  const bool has_matrices =
      adapter.HasFeature(wgpu::FeatureName::ChromiumExperimentalSubgroupMatrix);
  wgpu::AdapterPropertiesMemoryHeaps heaps;
  const bool has_heaps = adapter.HasFeature(wgpu::FeatureName::AdapterPropertiesMemoryHeaps);
  if (has_heaps) raw.nextInChain = &heaps;
  if (has_matrices) {
    matrices.nextInChain = raw.nextInChain;
    raw.nextInChain = &matrices;
  }
  adapter.GetInfo(&raw);
  wgpu::Limits limits;
  adapter.GetLimits(&limits);

  AdapterInfo info;
  info.index = index;
  info.name = text(raw.device);
  info.vendor = text(raw.vendor);
  info.architecture = text(raw.architecture);
  info.vendor_id = raw.vendorID;
  info.device_id = raw.deviceID;
  info.driver = text(raw.description);
  info.backend = backend_name(raw.backendType);
  info.kind = kind_name(raw.adapterType);

  for (std::size_t i = 0; has_heaps && i < heaps.heapCount; ++i) {
    const wgpu::MemoryHeapInfo& heap = heaps.heapInfo[i];
    if ((heap.properties & wgpu::HeapProperty::DeviceLocal) != wgpu::HeapProperty::None) {
      info.memory = std::max(info.memory, heap.size);  // Other heaps may be windows into it.
    }
  }

  Caps& caps = info.caps;
  caps.f16 = adapter.HasFeature(wgpu::FeatureName::ShaderF16);
  caps.subgroups = adapter.HasFeature(wgpu::FeatureName::Subgroups);
  caps.timestamps = adapter.HasFeature(wgpu::FeatureName::TimestampQuery);
  const AdapterFacts facts{info.kind, info.vendor, info.architecture, info.name};
  if (caps.subgroups) {
    caps.subgroup_min = raw.subgroupMinSize;
    caps.subgroup_max = raw.subgroupMaxSize;
    caps.subgroup_control = adapter.HasFeature(wgpu::FeatureName::SubgroupSizeControl);
  }
  // Whole multiples of 16, since every buffer is one.
  caps.max_buffer = limits.maxBufferSize / 16 * 16;
  caps.max_binding = std::min(limits.maxStorageBufferBindingSize / 16 * 16, caps.max_buffer);
  caps.binding_alignment = limits.minStorageBufferOffsetAlignment;
  caps.max_bindings = limits.maxStorageBuffersPerShaderStage;
  caps.workgroup_bytes = limits.maxComputeWorkgroupStorageSize;
  caps.workgroup_invocations = limits.maxComputeInvocationsPerWorkgroup;
  caps.max_workgroups = limits.maxComputeWorkgroupsPerDimension;
  if (has_matrices && caps.subgroups) {
    for (std::size_t i = 0; i < matrices.configCount; ++i) {
      const wgpu::SubgroupMatrixConfig& config = matrices.configs[i];
      const auto component = matrix_type(config.componentType);
      const auto result = matrix_type(config.resultComponentType);
      if (!component || !result) continue;
      MatrixConfig found{*component, *result, config.M, config.N, config.K};
      found.subgroup = matrix_subgroup(facts, caps, found);
      caps.matrix_configs.push_back(found);
    }
  }
  caps.subgroup_matrix = !caps.matrix_configs.empty();
  caps.traits = traits_for(facts, caps);
  return info;
}

std::vector<const char*> toggle_names(ToggleStage stage, Mode mode, bool on) {
  std::vector<const char*> names;
  for (const Toggle& toggle : toggle_table) {
    if (toggle.stage != stage) continue;
    const bool is_on =
        toggle.use == ToggleUse::on || (toggle.use == ToggleUse::fast_on && mode == Mode::fast);
    const bool is_off = toggle.use == ToggleUse::off;
    if (on ? is_on : is_off)
      names.push_back(toggle.name.data());  // Literals: they end with a zero.
  }
  return names;
}

Result<AdapterInfo> find_adapter(std::span<const AdapterInfo> adapters, std::string_view wanted) {
  if (adapters.empty()) {
    // A driver that finds no room for its libraries is one that is not there.
    Status room = check_address_space(2 * space_to_open, "No adapter was found: loading drivers");
    if (room) room = check_descriptors(files_to_open, "No adapter was found: loading drivers");
    if (!room) return std::unexpected(room.error());
    return fail(
        ErrorCode::not_found,
        "This machine has no adapter for WebGPU; a driver (for example Mesa's, which also has one "
        "in software) has to be installed.");
  }
  if (wanted.empty() || wanted == "high-performance") return best(adapters, false);
  if (wanted == "low-power") return best(adapters, true);
  std::uint32_t index = 0;
  const char* end = wanted.data() + wanted.size();
  const auto [rest, error] = std::from_chars(wanted.data(), end, index);
  if (error == std::errc{} && rest == end && index < adapters.size()) return adapters[index];
  for (const AdapterInfo& info : adapters) {
    if (lower(info.name).contains(lower(wanted))) return info;
  }
  std::string known;
  for (const AdapterInfo& info : adapters) {
    known += formatted("{}{} \"{}\"", known.empty() ? "" : ", ", info.index, info.name);
  }
  return fail(ErrorCode::not_found,
              "There is no adapter \"{}\"; this machine has {}, and \"high-performance\" and "
              "\"low-power\" work too.",
              wanted, known);
}

Result<Candidate> choose(const Discovery& discovery, std::string_view wanted) {
  std::vector<AdapterInfo> infos;
  for (const Candidate& candidate : discovery.candidates) infos.push_back(candidate.info);
  const Result<AdapterInfo> chosen = find_adapter(infos, wanted);
  if (!chosen) return std::unexpected(chosen.error());
  return discovery.candidates[chosen->index];
}

Result<std::vector<AdapterInfo>> list_adapters() {
  if (Status room = check_address_space(space_to_open, "Looking for adapters"); !room) {
    return std::unexpected(room.error());
  }
  if (Status room = check_file_size(file_to_open, "Looking for adapters"); !room) {
    return std::unexpected(room.error());
  }
  if (Status room = check_threads(threads_to_open(), "Looking for adapters"); !room) {
    return std::unexpected(room.error());
  }
  const Result<Discovery> discovery = discover();
  if (!discovery) return std::unexpected(discovery.error());
  std::vector<AdapterInfo> infos;
  for (const Candidate& candidate : discovery->candidates) infos.push_back(candidate.info);
  return infos;
}

}  // namespace weft::gpu
