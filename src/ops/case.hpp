#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "device/caps.hpp"
#include "ops/plan.hpp"
#include "ops/view.hpp"

namespace weft::ops {

/// What a tensor of a case holds before the op runs.
enum class Fill : std::uint8_t {
  uniform,      ///< Uniform in [low, high], rounded to the type (integers: whole numbers).
  integers,     ///< Whole numbers in [low, high], also for float types: sums of them are exact.
  masked,       ///< Uniform, with about every third element -infinity (float types only).
  sorted,       ///< Whole numbers in [low, high] that ascend along the last dimension, with equal
                ///< neighbours.
  permutation,  ///< The numbers from 0 on along the last dimension, each once, in any order.
};

/// One tensor of a case: type, shape, contents and how it lies in memory.
struct TensorSpec {
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  Fill fill = Fill::uniform;
  double low = -1;
  double high = 1;
  bool output =
      false;  ///< Compared with the reference afterwards (its fill is the content before).
  std::vector<std::uint32_t>
      order;                 ///< Dimensions from slowest to fastest in memory; empty: row-major.
  std::uint64_t pad = 0;     ///< Unused elements behind each run of the fastest dimension.
  std::uint64_t step = 1;    ///< Stride of the fastest dimension, in elements.
  std::uint64_t offset = 0;  ///< Unused elements in front.
  int same_as = -1;  ///< Shares buffer and place with that tensor of the case (in-place ops).
  std::vector<std::uint32_t> repeat;  ///< Dimensions with stride 0 (inputs only).

  /// The view of this tensor in its own buffer, which starts `front` bytes before the tensor's
  /// elements.
  [[nodiscard]] View view(Slot slot, std::uint64_t front) const;
};

/// Values of a tensor in logical row-major order, as doubles that its type can hold exactly.
struct HostTensor {
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  std::vector<double> values;
  std::vector<std::byte> blocks;  ///< Quantized types: the blocks that `values` are decoded from.

  /// Gives a tensor of a quantized type these blocks and their values.
  void set_blocks(std::vector<std::byte> bytes);
};

/// One test of an op, and a benchmark where `bench` is set. Tests, benchmarks, shader validation
/// and docs/ops.md are all derived from the cases.
struct Case {
  std::string name;  ///< Letters, digits and _; unique within the op.
  std::vector<TensorSpec> tensors;
  std::function<Result<Plan>(std::span<const View>, const Caps&)> plan;
  /// Sets the outputs from the inputs; accumulates in double. Empty for benchmarks that no test
  /// checks.
  std::function<void(std::span<HostTensor>)> reference;
  double epsilons = 8;  ///< Allowed error: this many f32 epsilons of max(scale, |expected|), plus
                        ///< rounding to the type.
  double scale = 1;
  double matrix_epsilons =
      0;  ///< Allowed instead where the plan uses matrix units, if they round more; 0: the same.
  bool test = true;
  bool bench = false;
  double flops = 0;  ///< For benchmarks: arithmetic, if that is what bounds the op.
  double bytes = 0;  ///< For benchmarks: fewest bytes moved; 0: every tensor once.
};

/// An op as tests, benchmarks and documentation see it.
struct Op {
  std::string_view name;
  std::string_view summary;
  std::string_view types;
  std::vector<Case> (*cases)(std::uint64_t seed);
};

/// Every op of the library, from ops.inc.
std::span<const Op> all_ops();

/// A small, reproducible random generator for shapes and values (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// A whole number in [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high);
  double uniform(double low, double high);
  template <class T>
  const T& pick(const std::vector<T>& choices) {
    return choices[next() % choices.size()];
  }

 private:
  std::uint64_t state_;
};

/// `value` rounded to what `type` can hold.
double round_to(DType type, double value);

/// A tensor's bytes ↔ its values; `raw` is the whole buffer that `view` lies in. The values of
/// plain types can be stored, the contents of any tensor can be.
void store_values(const View& view, std::span<const double> values, std::span<std::byte> raw);
void store_host(const View& view, const HostTensor& host, std::span<std::byte> raw);
std::vector<double> load_values(const View& view, std::span<const std::byte> raw);

/// Copies the bytes of a view's elements from one image of its buffer to another.
void copy_elements(const View& view, std::span<const std::byte> from, std::span<std::byte> to);

/// Random contents of a tensor, rounded to its type. Quantized ones get random blocks whose scales
/// are such that most values lie between `low` and `high`.
HostTensor make_host(const TensorSpec& spec, Random& random);

/// The epsilons that a case allows with this plan.
double allowed_epsilons(const Case& test, const Plan& plan);

/// The error that a case allows at an expected value.
double allowed_error(const Case& test, DType type, double expected);

/// Steps through all index tuples of a shape in row-major order: `for (Index i(shape); !i.done();
/// i.next())`.
class Index {
 public:
  explicit Index(std::span<const std::uint64_t> shape);
  [[nodiscard]] bool done() const { return done_; }
  void next();
  std::uint64_t operator[](std::size_t dim) const { return at_[dim]; }
  [[nodiscard]] std::span<const std::uint64_t> values() const { return at_; }

 private:
  std::vector<std::uint64_t> shape_;
  std::vector<std::uint64_t> at_;
  bool done_ = false;
};

}  // namespace weft::ops
