#include "profile.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "api.hpp"
#include "base/format.hpp"

namespace weft::plugin {
namespace {

std::string wanted() {
  const char* value = std::getenv("WEFT_PROFILE");
  return value == nullptr || std::string_view(value) == "0" ? "" : value;
}

std::string graph_table(GraphCache& graphs) {
  std::string text;
  for (const auto& [launches, times] : graphs.take_times()) {
    text += formatted("{:>8} {:>8} {:>11.2f}\n", times.count, launches,
                      times.seconds / static_cast<double>(times.count) * 1e6);
  }
  return text.empty() ? text
                      : formatted("{:>8} {:>8} {:>11}\n{}", "graphs", "launches", "mean us", text);
}

}  // namespace

Profiling profiling() {
  const std::string value = wanted();
  if (value.empty()) return Profiling::none;
  return value == "graphs" ? Profiling::graphs : Profiling::kernels;
}

void report_profile(DeviceContext& device) {
  Engine* engine = device.opened();
  if (engine == nullptr || profiling() == Profiling::none) return;
  const auto profile = engine->device.profile();
  if (!profile) {
    log(GGML_LOG_LEVEL_ERROR,
        formatted("{}: There is no profile: {}", device.name(), profile.error().message));
    return;
  }
  std::string text = graph_table(engine->graphs);
  if (!profile->gpu.empty() || !profile->host.empty()) text += gpu::profile_table(*profile);
  if (text.empty()) return;
  const GraphCache::Stats stats = engine->graphs.stats();
  // Not through ggml's log, which programs silence.
  std::fputs(
      formatted("{}: so far {} graphs recorded with {} nodes fused into others, {} "
                "replayed, {} launches\n{}\n",
                device.name(), stats.recorded, stats.fused, stats.replayed, stats.launches, text)
          .c_str(),
      stderr);
  const std::string file = wanted();
  if (file == "1" || file == "graphs") return;
  if (const Status written = gpu::write_trace(*profile, file); !written) {
    std::fputs(formatted("{}: {}\n", device.name(), written.error().message).c_str(), stderr);
  }
}

}  // namespace weft::plugin
