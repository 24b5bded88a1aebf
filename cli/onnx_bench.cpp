#include "onnx_bench.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <vector>

#include "commands.hpp"

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_lines = 20;

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

void time_runs(const Device& device, const onnx::Model& model,
               const std::map<std::string, Tensor>& tensors, double seconds) {
  const auto once = [&] {
    const auto start = Clock::now();
    for (const auto& [name, tensor] : model.run(tensors)) tensor.eval();
    const auto queued = Clock::now();
    device.synchronize();
    const auto end = Clock::now();
    return std::pair(std::chrono::duration<double>(end - start).count(),
                     std::chrono::duration<double>(queued - start).count());
  };
  const double first = once().first;
  std::vector<std::pair<double, double>> times;
  const auto start = Clock::now();
  do {
    times.push_back(once());
  } while (times.size() < 3 ||
           std::chrono::duration<double>(Clock::now() - start).count() < seconds);
  std::ranges::sort(times);
  const auto [middle, host] = times[times.size() / 2];
  print(
      formatted("{:.3f} ms a run (the middle of {}; best {:.3f}, first {:.1f}), {:.3f} ms of it on "
                "the host\n",
                middle * 1e3, times.size(), times.front().first * 1e3, first * 1e3, host * 1e3));
  const onnx::RunReport report = model.report();
  if (report.replayed)
    print(formatted("replayed: {} kernel launches\n", report.dispatches));
  else
    print(formatted("not replayed: {}\n", report.why));
}

/// The nodes of one kind: the best time of each, added up.
struct Kind {
  std::string name;
  std::size_t count = 0;
  double seconds = 0;
};

/// Each node by itself: what is fused or planned together in a run is not here, and the host waits for each.
void time_operations(const onnx::Model& model, const std::map<std::string, onnx::Value>& inputs,
                     double seconds) {
  std::vector<std::pair<std::string, double>> best;  // nodes in their order
  const auto start = Clock::now();
  for (std::size_t pass = 0;
       pass < 3 || std::chrono::duration<double>(Clock::now() - start).count() < seconds; ++pass) {
    std::size_t next = 0;
    onnx::ModelAccess::run_timed(model, inputs, [&](const onnx::Node& node, double took) {
      if (next == best.size())
        best.emplace_back(node.domain.empty() ? node.op : node.domain + "." + node.op,
                          std::numeric_limits<double>::infinity());
      // The first pass compiles kernels and brings weights to the device.
      if (pass > 0) best[next].second = std::min(best[next].second, took);
      ++next;
    });
  }
  std::map<std::string, Kind> kinds;
  double all = 0;
  for (const auto& [name, took] : best) {
    Kind& kind = kinds[name];
    kind.name = name;
    ++kind.count;
    kind.seconds += took;
    all += took;
  }
  std::vector<Kind> sorted;
  for (const auto& [name, kind] : kinds) sorted.push_back(kind);
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Kind::seconds);
  print(formatted("node by node, with waiting for each: {:.3f} ms for {} nodes\n", all * 1e3,
                  best.size()));
  for (std::size_t i = 0; i < std::min(sorted.size(), most_lines); ++i) {
    const Kind& kind = sorted[i];
    print(formatted("{:>10.3f} ms {:>3.0f}% {:>6} {}\n", kind.seconds * 1e3,
                    100 * kind.seconds / std::max(all, 1e-12), kind.count, kind.name));
  }
  if (sorted.size() > most_lines)
    print(formatted("and {} kinds more\n", sorted.size() - most_lines));
}

}  // namespace

void bench_onnx(const Device& device, const onnx::Model& model,
                const std::map<std::string, onnx::Value>& inputs, double seconds) {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, onnx::Value> values;
  for (const auto& [name, value] : inputs) {
    tensors[name] = value.on(device);
    values.emplace(name, onnx::Value(tensors[name]));
  }
  time_runs(device, model, tensors, seconds);
  time_operations(model, values, seconds);
}

}  // namespace weft::cli
