#include "device/profiles.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>
#include <string>
#include <vector>

namespace weft {
namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t gib = 1 << 30;

/// Traits of GPUs of `processors`, the rest as estimated for GPUs of their size.
Traits gpu(std::uint32_t processors, double memory_rate, std::uint64_t cache_bytes,
           double f16_rate) {
  Traits traits;
  traits.processors = processors;
  traits.memory_rate = memory_rate;
  traits.cache_bytes = cache_bytes;
  traits.f16_rate = f16_rate;
  // A launch costs about 5 µs where nothing else is known.
  traits.launch_bytes = static_cast<std::uint64_t>(memory_rate * 5000);
  return traits;
}

Traits with_units(Traits traits, double matrix_rate, std::uint32_t registers) {
  traits.matrix_rate = matrix_rate;
  traits.registers = registers;
  return traits;
}

Traits h200() {
  Traits traits = with_units(gpu(132, 4000, 50 * mib, 1), 280, 256);
  traits.launch_bytes =
      4 * mib;  // 1.0 µs at 4.2 TB/s: below this, packing costs more than it gains
  return traits;
}

Traits software() {
  Traits traits;
  traits.processors = 4;
  traits.overlaps = false;
  traits.slow_barriers = traits.slow_compile = traits.slow_scatter = true;
  traits.near_memory = traits.matrix_units = false;
  traits.items = 4;
  traits.launch_bytes = 0;  // Arithmetic takes so long that a launch that spares some always pays.
  traits.memory_rate = 10;
  traits.cache_bytes = 16 * mib;
  traits.matrix_rate = 0.01;
  return traits;
}

Traits mobile(std::uint32_t processors, bool near_memory) {
  Traits traits = gpu(processors, 40, 2 * mib, 2);
  traits.near_memory = near_memory;
  traits.slow_compile = true;
  traits.registers = 64;
  return traits;
}

/// Limits as Dawn reports them for such devices, without matrices.
Caps caps_of(Traits traits, std::uint32_t subgroup_min, std::uint32_t subgroup_max,
             std::uint64_t binding, std::uint32_t workgroup_bytes, std::uint32_t invocations) {
  Caps caps;
  caps.f16 = caps.subgroups = caps.timestamps = true;
  caps.subgroup_min = subgroup_min;
  caps.subgroup_max = subgroup_max;
  caps.subgroup_control = subgroup_min > 0;
  caps.max_binding = binding;
  caps.max_buffer = std::max(binding, 4 * gib);
  caps.max_bindings = 10;
  caps.workgroup_bytes = workgroup_bytes;
  caps.workgroup_invocations = invocations;
  caps.traits = traits;
  return caps;
}

Caps with_matrices(Caps caps, std::vector<MatrixConfig> configs) {
  caps.subgroup_matrix = true;
  caps.matrix_configs = std::move(configs);
  return caps;
}

/// WebGPU's own limits with nothing optional.
Caps plain(Traits traits) {
  Caps caps = caps_of(traits, 0, 0, 128 * mib, 16 << 10, 256);
  caps.f16 = caps.subgroups = false;
  caps.max_buffer = 256 * mib;
  caps.max_bindings = 8;
  return caps;
}

Caps compatibility() {
  Caps caps = plain(mobile(4, false));
  caps.workgroup_invocations = 128;
  caps.timestamps = false;
  return caps;
}

Caps swiftshader_caps() {
  Caps caps = caps_of(software(), 4, 4, 128 * mib, 32 << 10, 256);
  caps.f16 = caps.subgroup_control = false;
  return caps;
}

std::vector<Profile> make_profiles() {
  constexpr auto f16 = MatrixType::f16;
  constexpr auto f32 = MatrixType::f32;
  constexpr auto i8 = MatrixType::i8;
  constexpr auto u8 = MatrixType::u8;
  constexpr auto i32 = MatrixType::i32;
  constexpr auto u32 = MatrixType::u32;
  const Caps large = caps_of(h200(), 32, 32, 2 * gib, 48 << 10, 1024);
  const std::vector<MatrixConfig> nvidia{
      {f16, f32, 16, 16, 16, 32}, {f16, f32, 16, 8, 16, 32}, {f16, f16, 16, 16, 16, 32}};
  const std::vector<MatrixConfig> apple{{f16, f16, 8, 8, 8, 32}, {f32, f32, 8, 8, 8, 32}};
  return {
      {"swiftshader", "software", "google", "swiftshader", "",
       "measured on Chromium's software adapter with 2 cores: subgroups of four, and at every "
       "place "
       "that reads memory it looks whether lanes read neighbours, the same, or anything",
       swiftshader_caps(), true},
      {"software", "software", "", "", "", "measured on Mesa's llvmpipe with 2 to 4 cores",
       with_matrices(caps_of(software(), 8, 8, 128 * mib, 32 << 10, 1024), {{f16, f32, 8, 8, 8, 8},
                                                                            {f16, f16, 8, 8, 8, 8},
                                                                            {i8, i32, 8, 8, 8, 8},
                                                                            {u8, u32, 8, 8, 8, 8}}),
       true},
      {"h200", "", "nvidia", "", "h200", "measured: 132 multiprocessors, 1.7 us for a launch",
       with_matrices(large, nvidia), true},
      {"hopper", "", "nvidia", "hopper", "",
       "estimated from the H200: the same multiprocessors, slower memory",
       with_matrices(caps_of(with_units(gpu(132, 3000, 50 * mib, 1), 250, 256), 32, 32, 2 * gib,
                             48 << 10, 1024),
                     nvidia)},
      {"geforce", "", "nvidia", "", "",
       "estimated: a desktop card of 2020 or later with some 46 multiprocessors",
       with_matrices(
           caps_of(with_units(gpu(46, 450, 4 * mib, 1), 40, 256), 32, 32, 2 * gib, 48 << 10, 1024),
           nvidia)},
      {"apple-max", "", "apple", "", "max",
       "estimated: 32 to 40 cores; f16 runs as fast as f32 and needs half the registers",
       with_matrices(
           caps_of(with_units(gpu(36, 400, 48 * mib, 1), 10, 128), 32, 32, 4 * gib, 32 << 10, 1024),
           apple)},
      {"apple", "", "apple", "", "",
       "estimated: 8 to 10 cores of the M series; subgroup matrices keep the type of their inputs",
       with_matrices(
           caps_of(with_units(gpu(10, 100, 8 * mib, 1), 3, 128), 32, 32, 4 * gib, 32 << 10, 1024),
           apple)},
      {"rdna3", "", "amd", "rdna-3", "",
       "estimated: a desktop card with 60 compute units; matrices work with subgroups of 32 of the "
       "32 to 64 that a kernel may get",
       with_matrices(
           caps_of(with_units(gpu(60, 600, 64 * mib, 2), 60, 256), 32, 64, 2 * gib, 32 << 10, 1024),
           {{f16, f32, 16, 16, 16, 32}, {f16, f16, 16, 16, 16, 32}, {i8, i32, 16, 16, 16, 32}})},
      {"amd", "", "amd", "", "", "estimated: 36 compute units without matrices",
       caps_of(with_units(gpu(36, 400, 4 * mib, 2), 20, 256), 32, 64, 2 * gib, 32 << 10, 1024)},
      {"xe2", "", "intel", "xe-2", "",
       "estimated: 20 cores; matrices work with subgroups of 16 of the 16 to 32",
       with_matrices(
           caps_of(with_units(gpu(20, 400, 18 * mib, 2), 40, 128), 16, 32, 2 * gib, 32 << 10, 1024),
           {{f16, f32, 8, 16, 16, 16}, {f16, f16, 8, 16, 16, 16}, {i8, i32, 8, 16, 32, 16}})},
      {"intel", "", "intel", "", "", "estimated: integrated, 6 to 8 cores",
       caps_of(gpu(6, 60, 4 * mib, 2), 8, 32, 1 * gib, 32 << 10, 1024)},
      {"adreno", "", "qualcomm", "", "",
       "estimated: 6 cores; the driver compiles slowly on the phone's own processor",
       caps_of(mobile(6, true), 64, 128, 128 * mib, 32 << 10, 1024)},
      {"mali", "", "arm", "", "",
       "estimated: 10 cores, whose workgroup memory is ordinary cached memory",
       caps_of(mobile(10, false), 16, 16, 128 * mib, 32 << 10, 512)},
      {"compatibility", "", "", "", "weft-compatibility",
       "the limits of WebGPU's compatibility mode, which no name tells", compatibility()},
      {"old", "", "", "", "weft-old",
       "a desktop card of 2014: neither f16 nor subgroups, WebGPU's own limits",
       plain(gpu(16, 200, 2 * mib, 1))},
  };
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

}  // namespace

std::span<const Profile> profiles() {
  static const std::vector<Profile> rows = make_profiles();
  return rows;
}

const Profile* find_profile(const AdapterFacts& facts) {
  const std::string vendor = lower(facts.vendor);
  const std::string architecture = lower(facts.architecture);
  const std::string device = lower(facts.device);
  const auto fits = [&](const Profile& row) {
    return (row.kind.empty() ? facts.kind != "software" : row.kind == facts.kind) &&
           (row.vendor.empty() || row.vendor == vendor) &&
           architecture.starts_with(row.architecture) && device.contains(row.device);
  };
  const auto row = std::ranges::find_if(profiles(), fits);
  return row == profiles().end() ? nullptr : &*row;
}

bool needs_probe(const AdapterFacts& facts) {
  const Profile* row = find_profile(facts);
  return row == nullptr || !row->measured;
}

Traits traits_for(const AdapterFacts& facts, const Caps& caps) {
  if (const Profile* row = find_profile(facts)) return row->caps.traits;
  // Less than what WebGPU asks for by default: an old phone in compatibility mode.
  if (caps.workgroup_invocations < 256 || caps.workgroup_bytes < 16 << 10) return mobile(4, false);
  // Nobody knows: a card of its own is some 32 processors, one in another chip has 8.
  Traits traits = facts.kind == "discrete" ? gpu(32, 300, 4 * mib, 1) : gpu(8, 50, 2 * mib, 1);
  // As many operations in a processor's matrix units as in those of other makers.
  if (caps.subgroup_matrix) traits.matrix_rate = traits.processors;
  return traits;
}

std::uint32_t matrix_subgroup(const AdapterFacts& facts, const Caps& caps,
                              const MatrixConfig& config) {
  if (caps.subgroup_min == caps.subgroup_max) return caps.subgroup_max;
  if (!caps.subgroup_control) return 0;
  if (const Profile* row = find_profile(facts)) {
    for (const MatrixConfig& known : row->caps.matrix_configs) {
      if (known.same_shape(config)) return known.subgroup;
    }
  }
  // Nobody says: 32 is what most matrix units are made for; Intel's have as many lanes as columns.
  const std::uint32_t wanted = lower(facts.vendor) == "intel" ? config.n : 32;
  return std::clamp(wanted, caps.subgroup_min, caps.subgroup_max);
}

Result<Caps> restrict_to_profile(Caps caps, std::string_view name) {
  const auto row = std::ranges::find(profiles(), name, &Profile::name);
  if (row == profiles().end()) {
    std::string known;
    for (const Profile& each : profiles()) {
      known += known.empty() ? "" : ", ";
      known += each.name;
    }
    return fail(ErrorCode::invalid_argument,
                "The capability mask names the unknown profile \"{}\"; the known ones are {}.",
                name, known);
  }
  const Caps& wanted = row->caps;
  caps.traits = wanted.traits;
  caps.f16 = caps.f16 && wanted.f16;
  caps.timestamps = caps.timestamps && wanted.timestamps;
  if (caps.subgroups && !wanted.subgroups) {
    caps.subgroups = false;
    caps.subgroup_min = caps.subgroup_max = 0;
    caps.subgroup_control = false;
  }
  std::erase_if(caps.matrix_configs, [&](const MatrixConfig& config) {
    return !caps.subgroups || !caps.f16 ||
           std::ranges::none_of(wanted.matrix_configs, [&](const MatrixConfig& other) {
             return other.same_shape(config);
           });
  });
  caps.subgroup_matrix = !caps.matrix_configs.empty();
  caps.max_buffer = std::min(caps.max_buffer, wanted.max_buffer);
  caps.max_binding = std::min(caps.max_binding, wanted.max_binding);
  caps.max_bindings = std::min(caps.max_bindings, wanted.max_bindings);
  caps.workgroup_bytes = std::min(caps.workgroup_bytes, wanted.workgroup_bytes);
  caps.workgroup_invocations = std::min(caps.workgroup_invocations, wanted.workgroup_invocations);
  return caps;
}

}  // namespace weft
