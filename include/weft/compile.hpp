#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/tensor.hpp"

namespace weft {

struct CompiledData;  // internal

/// A tensor with memory of its own that updates replace: a parameter, a moment of an optimizer, a
/// counter. It starts with the values of `initial`. Expressions that were written before an update
/// see the values from before it.
[[nodiscard]] Tensor variable(const Tensor& initial);

/// The new values of a variable; they have its shape and type.
struct Update {
  Tensor variable;
  Tensor value;
};

/// Computes all values, then gives them to their variables.
void apply(const std::vector<Update>& updates);

/// What a function to compile returns: results, and new values of variables, which all replace the
/// old ones at the end.
struct Outputs {
  Outputs() = default;
  Outputs(Tensor value) : values{std::move(value)} {}  // NOLINT: a result by itself
  Outputs(std::vector<Tensor> all,
          std::vector<Update> changed = {})  // NOLINT: results by themselves
      : values(std::move(all)), updates(std::move(changed)) {}
  Outputs(std::initializer_list<Tensor> all, std::vector<Update> changed = {})
      : values(all), updates(std::move(changed)) {}

  std::vector<Tensor> values;
  std::vector<Update> updates;
};

/// A graph at some point of its compilation.
struct PassReport {
  std::string pass;  ///< "trace" for the function as it was written, then the name of each pass
                     ///< (docs/graph.md).
  std::string text;  ///< One line per operation.
  std::string dot;   ///< The same in the DOT language.
};

/// How a function is compiled.
struct CompileOptions {
  std::string without;  ///< Passes to leave out, by name, separated by commas, or "all";
                        ///< WEFT_PASSES names more of them.
  std::function<void(const PassReport&)> on_pass;  ///< Called after each pass.
  /// Sets of input shapes to keep ready. Each has memory of its own; the one that was not used for
  /// the longest time makes way for a new one. Pipelines stay with the device, so that coming back
  /// to old shapes compiles nothing.
  std::size_t most_variants = 16;
  /// Indices out of range are an error of the next call that waits; see
  /// DeviceChoice::check_indices, which is for all functions of a device.
  bool check_indices = false;
};

/// What compiling a function for some shapes came to.
struct CompileReport {
  std::size_t nodes = 0;          ///< Operations after all passes.
  std::size_t dispatches = 0;     ///< Kernel launches of one call.
  std::uint64_t arena_bytes = 0;  ///< Memory for everything between inputs and outputs.
  std::uint64_t bound_bytes =
      0;                     ///< What that memory cannot be less than in this order of operations.
  std::size_t variants = 0;  ///< Sets of input shapes that are ready.
  std::size_t built = 0;     ///< How often the function was traced and planned so far.
};

/// A function on tensors that was traced, planned and recorded. A cheap handle; a call with inputs
/// of shapes and types that were seen before only copies the inputs, replays the recording and
/// copies the results.
class Compiled {
 public:
  /// Runs the function. It is traced again when the inputs have new shapes or types.
  [[nodiscard]] std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;
  /// The same for a function with one result.
  [[nodiscard]] Tensor one(const std::vector<Tensor>& inputs) const;
  /// What the last call ran.
  [[nodiscard]] CompileReport report() const;
  /// The graph that the last call ran, as text with one line per operation.
  [[nodiscard]] std::string text() const;
  /// The same in the DOT language.
  [[nodiscard]] std::string dot() const;

 private:
  friend struct Access;
  std::shared_ptr<CompiledData> data_;
};

/// A function from tensors to tensors. It is called once per set of input shapes and types, with
/// tensors that stand for the inputs and have no values yet, and must depend on nothing else that
/// changes, except variables.
using Function = std::function<Outputs(const std::vector<Tensor>& inputs)>;

/// Prepares a function to be run often.
[[nodiscard]] Compiled compile(Function function, CompileOptions options = {});

}  // namespace weft
