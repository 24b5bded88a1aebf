#include "onnx_bench.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <vector>

#include "commands.hpp"
#include "files.hpp"
#include "weft/ops.hpp"

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_lines = 20;

void print(const std::string& text) { std::fputs(shown(text).c_str(), stdout); }

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
  // Without waiting in between, as a server with many requests has it; never more than a few runs'
  // memory at once.
  constexpr int in_a_row = 10;
  std::vector<double> rows;
  const auto begin = Clock::now();
  do {
    const auto from = Clock::now();
    for (int i = 0; i < in_a_row; ++i) {
      for (const auto& [name, tensor] : model.run(tensors)) tensor.eval();
    }
    device.synchronize();
    rows.push_back(std::chrono::duration<double>(Clock::now() - from).count() / in_a_row);
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds / 2);
  std::ranges::sort(rows);
  print(formatted("{} runs in a row: {:.3f} ms each\n", in_a_row, rows[rows.size() / 2] * 1e3));
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
  double bytes = 0;
  double operations = 0;
  double least = 0;  ///< Seconds at the rates of the device.
};

/// What the device does in a second at most: bytes of a copy, and operations of a product of
/// matrices.
struct Rates {
  double bytes = 0;
  double operations = 0;
};

double best_seconds(const Device& device, const std::function<Tensor()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    device.synchronize();
    const auto start = Clock::now();
    work().eval();
    device.synchronize();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

Rates rates_of(const Device& device) {
  const std::uint64_t count = device.is_software() ? 1 << 22 : 1 << 26;
  const std::uint64_t side = device.is_software() ? 512 : 4096;
  const Tensor x = device.full({count}, 1.0);
  const Tensor a = device.full({side, side}, 1.0);
  x.eval();
  a.eval();
  const double copying = best_seconds(device, [&] { return x + 1.0; });
  const double product = best_seconds(device, [&] { return matmul(a, a); });
  const auto n = static_cast<double>(side);
  return {8.0 * static_cast<double>(count) / copying, 2 * n * n * n / product};
}

/// Each node by itself: what is fused or planned together in a run is not here, and the host waits
/// for each.
void time_operations(const Device& device, const onnx::Model& model,
                     const std::map<std::string, onnx::Value>& inputs, double seconds) {
  const Rates rates = rates_of(device);
  std::vector<std::pair<std::string, onnx::NodeTime>> best;  // nodes in their order
  const auto start = Clock::now();
  for (std::size_t pass = 0;
       pass < 3 || std::chrono::duration<double>(Clock::now() - start).count() < seconds; ++pass) {
    std::size_t next = 0;
    onnx::ModelAccess::run_timed(
        model, inputs, [&](const onnx::Node& node, const onnx::NodeTime& took) {
          if (next == best.size()) {
            best.emplace_back(node.domain.empty() ? node.op : node.domain + "." + node.op, took);
            best[next].second.seconds = std::numeric_limits<double>::infinity();
          }
          // The first pass compiles kernels and brings weights to the device.
          double& least = best[next].second.seconds;
          if (pass > 0) least = std::min(least, took.seconds);
          ++next;
        });
  }
  std::map<std::string, Kind> kinds;
  double all = 0;
  for (const auto& [name, took] : best) {
    Kind& kind = kinds[name];
    kind.name = name;
    ++kind.count;
    kind.seconds += took.seconds;
    kind.bytes += took.bytes;
    kind.operations += took.operations;
    kind.least += std::max(took.bytes / rates.bytes, took.operations / rates.operations);
    all += took.seconds;
  }
  std::vector<Kind> sorted;
  for (const auto& [name, kind] : kinds) sorted.push_back(kind);
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Kind::seconds);
  print(
      formatted("node by node, with waiting for each: {:.3f} ms for {} nodes; the device adds to "
                "{:.1f} GB/s and multiplies matrices with {:.1f} GFLOP/s, and `roof` is the share "
                "of these that is reached\n",
                all * 1e3, best.size(), rates.bytes / 1e9, rates.operations / 1e9));
  for (std::size_t i = 0; i < std::min(sorted.size(), most_lines); ++i) {
    const Kind& kind = sorted[i];
    const double took = std::max(kind.seconds, 1e-12);
    print(formatted(
        "{:>10.3f} ms {:>3.0f}% {:>9.2f} GB/s {:>9.2f} GFLOP/s {:>4.0f}% roof {:>6} {}\n",
        kind.seconds * 1e3, 100 * kind.seconds / std::max(all, 1e-12), kind.bytes / took / 1e9,
        kind.operations / took / 1e9, 100 * kind.least / took, kind.count, kind.name));
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
  time_operations(device, model, values, seconds);
}

}  // namespace weft::cli
