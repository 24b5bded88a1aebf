#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/device.hpp"

/// Batches of examples, made while the device works.
namespace weft::data {

/// One property of all examples, in memory: pictures, say, or labels.
struct Column {
  DType dtype = DType::f32;
  Shape shape;                   ///< Of one example; {} for one number.
  std::vector<std::byte> bytes;  ///< Example after example.
};

/// A column from values in row-major order.
template <class T>
[[nodiscard]] Column column(const Shape& shape, const std::vector<T>& values) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  return {dtype_of<T>(), shape, {bytes.begin(), bytes.end()}};
}

/// Choices for a Loader.
struct LoaderOptions {
  std::uint64_t batch = 32;
  bool shuffle =
      true;  ///< Another order in each epoch, which follows from the seed and its number.
  std::uint64_t seed = 0;
  bool drop_last = true;     ///< Leave out what does not fill a batch: all batches have one shape.
  std::size_t prefetch = 2;  ///< Batches that a thread prepares ahead; 0: none.
};

/// Gives the examples of some columns in batches of tensors [batch, shape…].
class Loader {
  struct Data;

 public:
  Loader(const Device& device, std::vector<Column> columns, const LoaderOptions& options = {});

  /// The number of examples, and of batches in an epoch.
  [[nodiscard]] std::uint64_t examples() const;
  [[nodiscard]] std::uint64_t batches() const;

  /// The batches of one epoch, to be gone through once: for (const std::vector<Tensor>& batch :
  /// loader.epoch(0)) …
  class Epoch {
   public:
    Epoch(std::shared_ptr<const Data> data, std::uint64_t number);
    ~Epoch();
    Epoch(Epoch&&) noexcept;
    Epoch& operator=(Epoch&&) = delete;
    /// The next batch: a tensor per column; nothing when there are no more.
    [[nodiscard]] std::vector<Tensor> next();

    class Iterator {
     public:
      using difference_type = std::ptrdiff_t;
      using value_type = std::vector<Tensor>;
      explicit Iterator(Epoch* epoch) : epoch_(epoch), batch_(epoch->next()) {}
      const std::vector<Tensor>& operator*() const { return batch_; }
      Iterator& operator++() {
        batch_ = epoch_->next();
        return *this;
      }
      void operator++(int) { ++*this; }
      bool operator==(std::default_sentinel_t /*end*/) const { return batch_.empty(); }

     private:
      Epoch* epoch_;
      std::vector<Tensor> batch_;
    };
    [[nodiscard]] Iterator begin() { return Iterator(this); }
    [[nodiscard]] static std::default_sentinel_t end() { return {}; }

   private:
    struct State;
    std::unique_ptr<State> state_;
  };
  [[nodiscard]] Epoch epoch(std::uint64_t number) const { return {data_, number}; }

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace weft::data
