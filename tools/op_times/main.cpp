// ggml-op-times LIBRARY=DEVICE [LIBRARY=DEVICE] [--list]: times of single ggml ops on one or two
// devices, each with the library of its backend. Reads the names of ops from the input, one a line,
// and writes for each of them the name and, for every device, the best time on the clock and of the
// processor in microseconds ("-" where the device does not support the op), with tabs between.
// --list writes the names of all ops. tools/compare_webgpu.py runs it.
//
// The devices take turns, so that other work on the machine meets both alike, and the best turn of
// each counts. A turn is as many runs as fill some milliseconds: what a thread used since it was
// last put to sleep may be missing when the clock is read, so that of single runs the luckiest
// would count. On a software adapter all work is the processor's, and its time is hardly disturbed
// by what else the machine does.
//
// test-backend-ops perf puts 32 GB or 100 GFLOP of work into one graph, which a software adapter
// does not finish in time; here a graph is one op, or a few copies of it with operands of their
// own, so that nothing is shared among them.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <format>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cases.hpp"

namespace op_times {
namespace {

// Small ops come several times in a graph, so that starting it does not count for much. One copy of
// a large op is enough, and stays in the caches, where other work on the machine disturbs it less
// than in memory.
constexpr int small_copies = 4;
constexpr std::size_t small_bytes = 1 << 18;
constexpr double turn = 5e-3;    // Seconds of a turn, or one run.
constexpr double enough = 0.25;  // Seconds of measuring for one op and device…
constexpr int fewest_turns = 5;  // …and turns at least.

/// Numbers of quantized tensors repeat after so many rows: some types take long to quantize.
constexpr std::int64_t different_rows = 16;

std::vector<std::byte> numbers(const ggml_tensor* tensor, std::mt19937& random) {
  const std::int64_t row = tensor->ne[0];
  const std::int64_t rows = ggml_nrows(tensor);
  const std::int64_t fresh =
      ggml_is_quantized(tensor->type) ? std::min(rows, different_rows) : rows;
  std::uniform_real_distribution<float> number(0.1F, 1);
  std::vector<float> values(static_cast<std::size_t>(row * fresh));
  std::ranges::generate(values, [&] { return number(random); });
  std::vector<std::byte> bytes(ggml_nbytes(tensor));
  const std::vector<float> importance(static_cast<std::size_t>(row), 1);
  ggml_quantize_chunk(tensor->type, values.data(), bytes.data(), 0, fresh, row, importance.data());
  const auto done = static_cast<std::size_t>(fresh) * ggml_row_size(tensor->type, row);
  for (std::size_t i = done; i < bytes.size(); ++i) bytes[i] = bytes[i - done];
  return bytes;
}

/// Different integers below `limit`, as far as there are so many.
template <typename T>
std::vector<std::byte> integers(const ggml_tensor* tensor, std::int64_t limit) {
  std::vector<T> values(static_cast<std::size_t>(ggml_nelements(tensor)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(static_cast<std::int64_t>(i) * 37 % limit);
  }
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

void fill(ggml_tensor* tensor, std::int64_t limit, std::mt19937& random) {
  std::vector<std::byte> bytes;
  switch (tensor->type) {
    case GGML_TYPE_I16: bytes = integers<std::int16_t>(tensor, limit); break;
    case GGML_TYPE_I32: bytes = integers<std::int32_t>(tensor, limit); break;
    case GGML_TYPE_I64: bytes = integers<std::int64_t>(tensor, limit); break;
    default: bytes = numbers(tensor, random);
  }
  ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
}

/// Processor time of all threads of this process in seconds.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + (static_cast<double>(now.tv_nsec) * 1e-9);
}

/// Seconds of one op.
struct Times {
  double wall = std::numeric_limits<double>::infinity();
  double processor = std::numeric_limits<double>::infinity();
};

/// Bytes of the operands of an op.
std::size_t bytes(const Case& work) {
  std::size_t sum = 0;
  for (const Input& input : work.inputs) {
    std::size_t rows = 1;
    for (std::size_t i = 1; i < input.shape.size(); ++i) {
      rows *= static_cast<std::size_t>(input.shape[i]);
    }
    sum += rows * ggml_row_size(input.type, input.shape[0]);
  }
  return sum;
}

/// One device and, between prepare() and forget(), the graph of one op on it.
class Runner {
 public:
  explicit Runner(ggml_backend_dev_t device)
      : backend_(ggml_backend_dev_init(device, nullptr), ggml_backend_free) {}

  /// False where the device does not support the op or cannot hold it.
  bool prepare(const Case& work) {
    forget();
    copies_ = bytes(work) <= small_bytes ? small_copies : 1;
    constexpr ggml_init_params size{.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true};
    context_.reset(ggml_init(size));
    graph_ = ggml_new_graph(context_.get());
    std::vector<Tensors> inputs;
    for (int i = 0; i < copies_; ++i) {
      Tensors& mine = inputs.emplace_back();
      for (const Input& input : work.inputs) {
        mine.push_back(ggml_new_tensor(context_.get(), input.type,
                                       static_cast<int>(input.shape.size()), input.shape.data()));
      }
      ggml_tensor* result = work.op(context_.get(), mine);
      if (!ggml_backend_supports_op(backend_.get(), result)) return false;
      ggml_build_forward_expand(graph_, result);
    }
    buffer_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend_.get()));
    if (!buffer_) return false;
    std::mt19937 random(1);
    for (const Tensors& mine : inputs) {
      for (std::size_t i = 0; i < mine.size(); ++i) fill(mine[i], work.inputs[i].limit, random);
    }
    best_ = {};
    total_ = 0;
    turns_ = 0;
    return run().has_value();  // Compiles.
  }

  void forget() {
    buffer_.reset();
    context_.reset();
  }

  /// One turn; false where it failed.
  bool measure() {
    Times sum{.wall = 0, .processor = 0};
    int runs = 0;
    do {
      const auto times = run();
      if (!times) return false;
      sum = {sum.wall + times->wall, sum.processor + times->processor};
      ++runs;
    } while (sum.wall * copies_ < turn);
    best_ = {std::min(best_.wall, sum.wall / runs),
             std::min(best_.processor, sum.processor / runs)};
    total_ += sum.wall * copies_;
    ++turns_;
    return true;
  }

  [[nodiscard]] bool done() const { return turns_ >= fewest_turns && total_ >= enough; }
  [[nodiscard]] Times best() const { return best_; }

 private:
  std::optional<Times> run() {
    const auto start = std::chrono::steady_clock::now();
    const double used = processor_seconds();
    if (ggml_backend_graph_compute(backend_.get(), graph_) != GGML_STATUS_SUCCESS) return {};
    const double processor = processor_seconds() - used;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    return Times{.wall = wall.count() / copies_, .processor = processor / copies_};
  }

  std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)> backend_;
  std::unique_ptr<ggml_context, decltype(&ggml_free)> context_{nullptr, ggml_free};
  std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)> buffer_{
      nullptr, ggml_backend_buffer_free};
  ggml_cgraph* graph_ = nullptr;
  int copies_ = 1;
  Times best_;
  double total_ = 0;
  int turns_ = 0;
};

/// The times of one op on every device; nothing where a device does not support it.
std::vector<std::optional<Times>> measure(const Case& work, std::span<Runner> runners) {
  std::vector<Runner*> able(runners.size());
  for (std::size_t i = 0; i < runners.size(); ++i) {
    if (runners[i].prepare(work)) able[i] = &runners[i];
  }
  const auto busy = [](const Runner* r) { return r != nullptr && !r->done(); };
  while (std::ranges::any_of(able, busy)) {
    for (Runner*& runner : able) {
      if (runner != nullptr && !runner->measure()) runner = nullptr;
    }
  }
  std::vector<std::optional<Times>> times;
  for (const Runner* runner : able) {
    times.push_back(runner == nullptr ? std::nullopt : std::optional(runner->best()));
  }
  for (Runner& runner : runners) runner.forget();
  return times;
}

ggml_backend_dev_t device_of(std::string_view word) {
  const std::size_t sign = word.rfind('=');
  if (sign == std::string_view::npos) {
    throw std::runtime_error(std::format("{} is not LIBRARY=DEVICE", word));
  }
  ggml_backend_load(std::string(word.substr(0, sign)).c_str());
  const std::string name(word.substr(sign + 1));
  ggml_backend_dev_t device = ggml_backend_dev_by_name(name.c_str());
  if (device == nullptr) throw std::runtime_error(std::format("there is no device {}", name));
  return device;
}

Cases all_cases() {
  Cases cases;
  add_elementwise(cases);
  add_rows(cases);
  add_copies(cases);
  add_heavy(cases);
  return cases;
}

int run(std::span<char*> words) {
  const Cases cases = all_cases();
  if (words.size() == 1 && std::string_view(words[0]) == "--list") {
    for (const Case& work : cases) std::puts(work.name.c_str());
    return 0;
  }
  if (words.empty()) {
    std::fputs("usage: ggml-op-times --list | LIBRARY=DEVICE [LIBRARY=DEVICE] < NAMES\n", stderr);
    return 2;
  }
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  std::vector<Runner> runners;
  for (const char* word : words) runners.emplace_back(device_of(word));
  for (std::string name; std::getline(std::cin, name);) {
    const auto work = std::ranges::find(cases, name, &Case::name);
    if (work == cases.end()) throw std::runtime_error(std::format("there is no op {}", name));
    std::printf("%s", name.c_str());
    std::fflush(stdout);
    for (const auto& times : measure(*work, runners)) {
      const std::string text =
          times ? std::format("{:.2f}\t{:.2f}", times->wall * 1e6, times->processor * 1e6) : "-\t-";
      std::printf("\t%s", text.c_str());
    }
    std::puts("");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

std::string title(std::string_view name, ggml_type type, const Shape& shape) {
  std::string text = std::format("{} {} [", name, ggml_type_name(type));
  for (const std::int64_t size : shape) std::format_to(std::back_inserter(text), "{},", size);
  text.back() = ']';
  return text;
}

std::vector<ggml_type> quantized_types() {
  return {GGML_TYPE_Q1_0,  GGML_TYPE_Q4_0,    GGML_TYPE_Q4_1,  GGML_TYPE_Q5_0,    GGML_TYPE_Q5_1,
          GGML_TYPE_Q8_0,  GGML_TYPE_Q2_K,    GGML_TYPE_Q3_K,  GGML_TYPE_Q4_K,    GGML_TYPE_Q5_K,
          GGML_TYPE_Q6_K,  GGML_TYPE_IQ1_S,   GGML_TYPE_IQ1_M, GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS,
          GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S, GGML_TYPE_IQ4_NL,  GGML_TYPE_IQ4_XS,
          GGML_TYPE_MXFP4, GGML_TYPE_NVFP4};
}

std::vector<ggml_type> common_types() {
  return {GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K};
}

}  // namespace op_times

int main(int count, char** words) {
  try {
    return op_times::run(std::span(words, static_cast<std::size_t>(count)).subspan(1));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ggml-op-times: %s\n", error.what());
    return 1;
  }
}
