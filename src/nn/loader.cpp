#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <thread>

#include "base/format.hpp"
#include "nn/random.hpp"
#include "weft/data.hpp"

namespace weft::data {

struct Loader::Data {
  Device device;
  std::vector<Column> columns;
  LoaderOptions options;
  std::uint64_t examples = 0;
  std::uint64_t batches = 0;
  std::vector<std::size_t> example_bytes;  ///< Of each column.

  /// The examples in the order of an epoch.
  [[nodiscard]] std::vector<std::uint64_t> order(std::uint64_t epoch) const {
    std::vector<std::uint64_t> all(examples);
    std::iota(all.begin(), all.end(), 0);
    if (!options.shuffle) return all;
    nn::Random random(options.seed, "order", epoch);
    for (std::uint64_t i = examples; i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
    return all;
  }

  [[nodiscard]] std::vector<Tensor> batch(std::span<const std::uint64_t> chosen) const {
    std::vector<Tensor> tensors;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::size_t each = example_bytes[c];
      std::vector<std::byte> bytes(each * chosen.size());
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        std::memcpy(bytes.data() + i * each, columns[c].bytes.data() + chosen[i] * each, each);
      }
      Shape shape{chosen.size()};
      shape.insert(shape.end(), columns[c].shape.begin(), columns[c].shape.end());
      tensors.push_back(device.tensor(columns[c].dtype, shape, bytes));
    }
    return tensors;
  }
};

Loader::Loader(const Device& device, std::vector<Column> columns, const LoaderOptions& options) {
  if (columns.empty() || options.batch == 0) {
    throw Error(ErrorCode::invalid_argument,
                formatted("A Loader needs columns and a batch of at least one example; it has {} "
                          "columns and a batch of {}.",
                          columns.size(), options.batch));
  }
  auto data = std::make_shared<Data>(Data{device, std::move(columns), options});
  for (std::size_t c = 0; c < data->columns.size(); ++c) {
    const Column& column = data->columns[c];
    const auto count = std::accumulate(column.shape.begin(), column.shape.end(), std::uint64_t{1},
                                       std::multiplies<>());
    if (is_quantized(column.dtype) || count == 0) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("Column {} of a Loader has examples of {} elements of {}.", c, count,
                            name(column.dtype)));
    }
    const std::size_t each = count * size_of(column.dtype);
    const std::uint64_t examples = column.bytes.size() / each;
    if (column.bytes.size() % each != 0 || (c > 0 && examples != data->examples)) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("Column {} of a Loader has {} bytes, which are not {} examples of {} "
                            "bytes.",
                            c, column.bytes.size(), c > 0 ? data->examples : examples, each));
    }
    data->examples = examples;
    data->example_bytes.push_back(each);
  }
  const std::uint64_t whole = data->examples / options.batch;
  data->batches = whole + (options.drop_last || data->examples % options.batch == 0 ? 0 : 1);
  data_ = std::move(data);
}

std::uint64_t Loader::examples() const { return data_->examples; }

std::uint64_t Loader::batches() const { return data_->batches; }

/// A queue of batches that a thread fills, or nothing of the kind without prefetch.
struct Loader::Epoch::State {
  std::shared_ptr<const Data> data;
  std::vector<std::uint64_t> order;
  std::uint64_t made = 0;  ///< Batches so far; of the thread alone, where there is one.
  std::mutex mutex;
  std::condition_variable_any changed;
  std::deque<std::vector<Tensor>> ready;
  bool done = false;
  std::exception_ptr error;
  std::jthread thread;  ///< Last: it uses the members above.

  [[nodiscard]] std::vector<Tensor> make() {
    if (made == data->batches) return {};
    const std::uint64_t first = made++ * data->options.batch;
    const std::uint64_t count = std::min(data->options.batch, data->examples - first);
    return data->batch(std::span(order).subspan(first, count));
  }

  void fill(const std::stop_token& stop) {
    try {
      while (true) {
        std::vector<Tensor> batch = make();
        std::unique_lock lock(mutex);
        if (batch.empty()) break;
        const bool room =
            changed.wait(lock, stop, [&] { return ready.size() < data->options.prefetch; });
        if (!room) return;
        ready.push_back(std::move(batch));
        changed.notify_all();
      }
    } catch (...) {
      const std::scoped_lock lock(mutex);
      error = std::current_exception();
    }
    const std::scoped_lock lock(mutex);
    done = true;
    changed.notify_all();
  }
};

Loader::Epoch::Epoch(std::shared_ptr<const Data> data, std::uint64_t number)
    : state_(std::make_unique<State>()) {
  state_->order = data->order(number);
  state_->data = std::move(data);
  if (state_->data->options.prefetch > 0) {
    State* state = state_.get();
    state_->thread = std::jthread([state](const std::stop_token& stop) { state->fill(stop); });
  }
}

Loader::Epoch::~Epoch() = default;
Loader::Epoch::Epoch(Epoch&&) noexcept = default;

std::vector<Tensor> Loader::Epoch::next() {
  if (!state_->thread.joinable()) return state_->make();
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return !state_->ready.empty() || state_->done; });
  if (state_->ready.empty()) {
    if (state_->error) std::rethrow_exception(std::exchange(state_->error, nullptr));
    return {};
  }
  std::vector<Tensor> batch = std::move(state_->ready.front());
  state_->ready.pop_front();
  state_->changed.notify_all();
  return batch;
}

}  // namespace weft::data
