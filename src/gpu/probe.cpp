#include "gpu/probe.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"

namespace weft::gpu {
namespace {

constexpr std::uint64_t most_copied_bytes = 4 << 20;
constexpr std::uint32_t chain_steps = 256;
constexpr std::uint32_t barrier_steps = 32;
constexpr double slow_barrier_seconds = 1e-6;
constexpr std::uint32_t most_groups = 4096;
constexpr std::uint32_t most_invocations = 128;  // of a workgroup

/// Each invocation stores one word of what it computed, so that nothing is left out.
constexpr std::string_view store =
    "  y[(group.x * 64u + i % 64u) % arrayLength(&y)] = u32(sum);\n}\n";
constexpr std::string_view head =
    "@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;\n"
    "@group(0) @binding(1) var<storage, read_write> y: array<u32>;\n";

std::string copy_text(std::uint32_t invocations) {
  return formatted(
      "@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;\n"
      "@group(0) @binding(1) var<storage, read_write> y: array<vec4<u32>>;\n"
      "@compute @workgroup_size({})\n"
      "fn main(@builtin(global_invocation_id) i: vec3<u32>) {{\n"
      "  if (i.x < arrayLength(&y)) {{ y[i.x] = x[i.x]; }}\n}}\n",
      invocations);
}

/// Four chains of multiplications and additions: as many as a processor needs to be busy with one
/// workgroup.
std::string chain_text(std::string_view type, std::uint32_t invocations) {
  return formatted(
      "{0}{1}@compute @workgroup_size({5})\n"
      "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) "
      "{{\n"
      "  let by = {2}(x[0].x & 1u) + {2}(0.5);\n"
      "  var v = vec4<{2}>({2}(i), {2}(i + 1u), {2}(i + 2u), {2}(i + 3u));\n"
      "  for (var n = 0u; n < {3}u; n++) {{ v = fma(v, vec4<{2}>(by), vec4<{2}>({2}(0.25))); }}\n"
      "  let sum = v.x + v.y + v.z + v.w;\n{4}",
      type == "f16" ? "enable f16;\n" : "", head, type, chain_steps, store, invocations);
}

std::string barrier_text(std::uint32_t invocations) {
  return formatted(
      "{0}var<workgroup> shared_words: array<u32, {3}>;\n"
      "@compute @workgroup_size({3})\n"
      "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) "
      "{{\n"
      "  var sum = x[0].x;\n"
      "  for (var n = 0u; n < {1}u; n++) {{\n"
      "    shared_words[i] = sum;\n    workgroupBarrier();\n"
      "    sum += shared_words[i ^ 1u];\n    workgroupBarrier();\n  }}\n{2}",
      head, barrier_steps, store, invocations);
}

class Prober {
 public:
  Prober(Device device, double seconds) : device_(std::move(device)), seconds_(seconds) {}

  Result<Traits> run(Traits traits) {
    copied_bytes_ = std::min(most_copied_bytes, device_.caps().max_binding);
    auto x = device_.allocate(copied_bytes_);
    if (!x) return std::unexpected(x.error());
    auto y = device_.allocate(copied_bytes_);
    if (!y) return std::unexpected(y.error());
    bindings_ = {whole(*x), whole(*y)};
    const auto chain = time_of(chain_text("f32", invocations_), 1, 1);
    if (!chain) return std::unexpected(chain.error());
    if (const Status ok = memory(traits); !ok) return std::unexpected(ok.error());
    if (const Status ok = processors(traits, *chain); !ok) return std::unexpected(ok.error());
    if (!late()) {
      const auto barriers = time_of(barrier_text(invocations_), 1, 1);
      if (!barriers) return std::unexpected(barriers.error());
      traits.slow_barriers = *barriers / (2 * barrier_steps) > slow_barrier_seconds;
    }
    if (!late() && device_.caps().f16) {
      const auto halves = time_of(chain_text("f16", invocations_), 1, 1);
      if (!halves) return std::unexpected(halves.error());
      traits.f16_rate = *chain / *halves > 1.5 ? 2 : 1;
    }
    return traits;
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool late() const {
    return std::chrono::duration<double>(Clock::now() - start_).count() > 0.75 * seconds_;
  }

  /// The time of one of `launches` launches of `groups` workgroups, the shorter of two.
  Result<double> time_of(const std::string& text, std::uint32_t groups, int launches) {
    auto kernel = device_.compile({.label = "probe",
                                   .wgsl = text,
                                   .bindings = {Access::read, Access::write},
                                   .trusted = true});
    if (!kernel) return std::unexpected(kernel.error());
    Stream stream = device_.stream();
    if (const Status ok = stream.begin_recording(); !ok) return std::unexpected(ok.error());
    for (int i = 0; i < launches; ++i) {
      const Status ok = stream.dispatch(*kernel, bindings_, {}, {.x = groups});
      if (!ok) return std::unexpected(ok.error());
    }
    auto recording = stream.end_recording();
    if (!recording) return std::unexpected(recording.error());
    double least = 0;
    for (int i = 0; i < 2; ++i) {
      const auto seconds = stream.time_replay(*recording);
      if (!seconds) return seconds;
      least = i == 0 ? *seconds : std::min(least, *seconds);
    }
    return std::max(least / launches, 1e-9);
  }

  /// What a launch costs, and how fast memory is.
  Status memory(Traits& traits) {
    const auto launch = time_of(copy_text(invocations_), 1, 16);
    if (!launch) return std::unexpected(launch.error());
    const auto groups = static_cast<std::uint32_t>(copied_bytes_ / 16 / invocations_);
    const auto copy = time_of(copy_text(invocations_), groups, 1);
    if (!copy) return std::unexpected(copy.error());
    const double rate =
        2.0 * static_cast<double>(copied_bytes_) / (std::max(*copy - *launch, *copy / 4) * 1e9);
    traits.memory_rate = std::clamp(rate, 1.0, 20000.0);
    traits.launch_bytes = static_cast<std::uint64_t>(traits.memory_rate * *launch * 1e9);
    return {};
  }

  /// Workgroups that take as long together as one alone.
  Status processors(Traits& traits, double alone) {
    double most = 1;
    for (std::uint32_t groups = 2; groups <= most_groups && !late(); groups *= 2) {
      const auto together = time_of(chain_text("f32", invocations_), groups, 1);
      if (!together) return std::unexpected(together.error());
      most = std::max(most, groups * alone / *together);
      if (*together > 3 * alone) break;
    }
    traits.processors = static_cast<std::uint32_t>(std::clamp(std::round(most), 1.0, 1024.0));
    return {};
  }

  Device device_;
  double seconds_;
  std::uint32_t invocations_ =
      std::min(most_invocations, std::bit_floor(device_.caps().workgroup_invocations));
  std::uint64_t copied_bytes_ = 0;
  Clock::time_point start_ = Clock::now();
  std::vector<Slice> bindings_;
};

}  // namespace

Result<Traits> probe(Device device, Traits estimate, double seconds) {
  auto traits = Prober(std::move(device), seconds).run(estimate);
  if (!traits) return wrap(traits.error(), "looking at what a device is good at");
  return traits;
}

}  // namespace weft::gpu
