#include "bench_programs.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/weft.hpp"

namespace weft::cli {
namespace {

constexpr int repetitions = 5;

/// Two layers of LSTM over whole sequences, in f16; with_backward also gives the gradients of
/// everything.
ProgramBench lstm_bench(bool with_backward) {
  constexpr std::uint64_t layers = 2;
  constexpr std::uint64_t hidden = 1024;
  constexpr std::uint64_t tokens = 128;
  constexpr std::uint64_t batch = 32;
  constexpr std::uint64_t weights = layers * 2 * 4 * hidden * hidden;
  constexpr std::uint64_t rows = tokens * batch;
  ProgramBench bench;
  bench.title = with_backward ? "lstm/2x1024_128x32_f16_with_backward" : "lstm/2x1024_128x32_f16";
  const int passes = with_backward ? 3 : 1;  // The way back is two products for each.
  bench.flops = passes * 2.0 * static_cast<double>(rows * weights);
  bench.bytes = static_cast<double>(2 * rows * hidden + weights) * 2 * (with_backward ? 2 : 1);
  bench.make = [with_backward](const Device& device) -> std::function<void()> {
    random::Generator numbers(device, 1);
    const auto normal = [&](const Shape& shape, double deviation) {
      Tensor x = (numbers.normal(shape) * deviation).to(DType::f16);
      x.eval();
      return x;
    };
    std::vector<Tensor> inputs{normal({tokens, batch, hidden}, 1)};
    for (std::uint64_t i = 0; i < layers; ++i) {
      for (int j = 0; j < 2; ++j) inputs.push_back(normal({1, 4 * hidden, hidden}, 0.02));
    }
    const Compiled f = compile([with_backward](const std::vector<Tensor>& in) -> Outputs {
      Tensor y = in[0];
      for (std::size_t i = 1; i < in.size(); i += 2) y = lstm(y, in[i], in[i + 1]).y;
      return with_backward ? Outputs(grad(y, y, in)) : Outputs(y);
    });
    return [f, inputs] { (void)f(inputs); };
  };
  return bench;
}

}  // namespace

std::vector<ProgramBench> program_benches() { return {lstm_bench(false), lstm_bench(true)}; }

Measurement measure(const Device& device, const ProgramBench& bench, double target_seconds) {
  const auto call = bench.make(device);
  const auto seconds_of = [&](int times) {
    device.synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) call();
    device.synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
  };
  seconds_of(2);  // The first call compiles.
  const double once = seconds_of(1);
  const int times = static_cast<int>(
      std::clamp(target_seconds / repetitions / std::max(once, 1e-6), 1.0, 1000.0));
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) seconds.push_back(seconds_of(times));
  std::ranges::sort(seconds);
  const std::size_t slash = bench.title.find('/');
  Measurement out{.op = bench.title.substr(0, slash),
                  .name = bench.title.substr(slash + 1),
                  .bytes = bench.bytes,
                  .flops = bench.flops};
  out.seconds = seconds[seconds.size() / 2];
  out.spread = (seconds.back() - seconds.front()) / out.seconds;
  return out;
}

}  // namespace weft::cli
