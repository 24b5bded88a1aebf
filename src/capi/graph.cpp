#include "weft/c/graph.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "capi/tensors.hpp"
#include "weft/c/memory.h"
#include "weft/c/tensor.h"

namespace weft::capi {
namespace {

/// Whether this thread is in a callback of a compilation. That holds locks which a second one might
/// wait for, so such a callback may make tensors, but neither run nor look at compiled functions.
thread_local bool tracing = false;

struct Tracing {
  Tracing() { tracing = true; }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
  ~Tracing() { tracing = false; }
};

std::unique_lock<std::mutex> lock_calls(const CompiledObject& object) {
  if (tracing) {
    raise(ErrorCode::invalid_argument,
          "Compiled functions cannot be used from inside a function that is being compiled.");
  }
  return std::unique_lock(*object.mutex);
}

/// Handles that are freed with this object.
class Handles {
 public:
  explicit Handles(std::size_t count) : handles_(count) {}
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    for (weft_tensor handle : handles_) {
      if (handle != nullptr) weft_tensor_free(handle);
    }
  }
  [[nodiscard]] weft_tensor* data() { return handles_.data(); }
  [[nodiscard]] weft_tensor operator[](std::size_t i) const { return handles_[i]; }

 private:
  std::vector<weft_tensor> handles_;
};

/// Runs the caller's function on stand-ins.
Outputs trace(const weft_function_source& source, const std::vector<Tensor>& variables,
              const std::vector<Tensor>& inputs) {
  Handles given(inputs.size());
  put_all(inputs, given.data());
  Handles made(source.results + variables.size());
  const weft_status status = [&] {
    const Tracing now;
    return source.function(source.context, given.data(), static_cast<std::uint32_t>(inputs.size()),
                           made.data());
  }();
  if (status != WEFT_OK) {
    raise(ErrorCode::invalid_argument, "The function to compile returned {} ({}); {}",
          weft_status_name(status), static_cast<int>(status), weft_last_error());
  }
  Outputs outputs;
  for (std::size_t i = 0; i < source.results; ++i) {
    outputs.values.push_back(tensor_of(made[i], formatted("outputs[{}]", i)));
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::size_t place = source.results + i;
    outputs.updates.push_back(
        {variables[i], tensor_of(made[place], formatted("outputs[{}]", place))});
  }
  return outputs;
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_tensor_eval(weft_tensor tensor) {
  return call(__func__, [&] { (void)place_of(tensor_of(tensor, "tensor")); });
}

weft_status weft_supports(weft_device device, const weft_tensor_type* inputs, uint32_t input_count,
                          weft_function function, void* context, bool* supported,
                          uint64_t* dispatches, char* reason, size_t capacity) {
  return call(__func__, [&] {
    const auto object = get<DeviceObject>(device, "device");
    required(supported, "supported");
    if (input_count > 0) required(inputs, "inputs");
    if (function == nullptr) raise(ErrorCode::invalid_argument, "`function` is NULL.");
    if (capacity > 0) required(reason, "reason");
    std::vector<TensorType> types;
    for (std::uint32_t i = 0; i < input_count; ++i) {
      types.push_back(
          {any_dtype_of(inputs[i].dtype, formatted("inputs[{}].dtype", i)),
           shape_of(inputs[i].rank, inputs[i].shape, formatted("inputs[{}].shape", i))});
    }
    weft_function_source source{};
    source.function = function;
    source.context = context;
    source.results = 1;
    const Support found = supports(object->device, types, [&](const std::vector<Tensor>& given) {
      return trace(source, {}, given).values.front();
    });
    *supported = found.supported;
    if (dispatches != nullptr) *dispatches = found.dispatches;
    if (capacity > 0) give_text(found.reason, reason, capacity, nullptr);
  });
}

weft_status weft_tensor_variable(weft_tensor initial, weft_tensor* variable) {
  return call(__func__, [&] {
    weft_tensor& out = result(variable, "variable");
    const Tensor from = tensor_of(initial, "initial");
    const auto lock = lock_values(from);
    out = put(TensorObject{weft::variable(from)});
  });
}

weft_status weft_tensor_update(const weft_tensor* variables, const weft_tensor* values,
                               uint32_t count) {
  return call(__func__, [&] {
    const std::vector<Tensor> old = tensors_of(variables, count, "variables");
    const std::vector<Tensor> replaced = tensors_of(values, count, "values");
    if (old.empty()) return;
    const auto lock = lock_values(old.front());
    std::vector<Update> updates;
    for (std::size_t i = 0; i < old.size(); ++i) updates.push_back({old[i], replaced[i]});
    apply(updates);
  });
}

weft_status weft_tensor_grad(weft_tensor y, weft_tensor weights, const weft_tensor* by,
                             uint32_t count, weft_tensor* gradients) {
  return call(__func__, [&] {
    if (count > 0) std::fill_n(required(gradients, "gradients"), count, nullptr);
    const Tensor from = tensor_of(y, "y");
    const std::vector<Tensor> sources = tensors_of(by, count, "by");
    const auto lock = lock_values(from);
    put_all(weights == nullptr ? grad(from, sources)
                               : grad(from, tensor_of(weights, "weights"), sources),
            gradients);
  });
}

weft_status weft_compile(const weft_function_source* source, weft_compiled* compiled) {
  return call(__func__, [&] {
    weft_compiled& out = result(compiled, "compiled");
    const weft_function_source given = *required(source, "source");
    if (given.function == nullptr) {
      raise(ErrorCode::invalid_argument, "`source.function` is NULL.");
    }
    std::vector<Tensor> variables =
        tensors_of(given.variables, given.variable_count, "source.variables");
    constexpr std::uint32_t most_results = 1U << 16;
    if (given.results > most_results) {
      raise(ErrorCode::invalid_argument, "A function has at most {} results; {} were asked for.",
            most_results, given.results);
    }
    CompileOptions options;
    if (given.without != nullptr) options.without = given.without;
    if (given.most_variants > 0) options.most_variants = given.most_variants;
    options.check_indices = given.check_indices;
    if (given.on_pass != nullptr) {
      options.on_pass = [receiver = given.on_pass, context = given.context](const PassReport& at) {
        const Tracing now;
        receiver(context, at.pass.c_str(), at.text.c_str(), at.dot.c_str());
      };
    }
    weft_function_source kept = given;
    kept.variables = nullptr;  // the caller's array may go; the tensors are kept instead
    kept.without = nullptr;
    Compiled made =
        compile([kept, variables = std::move(variables)](
                    const std::vector<Tensor>& inputs) { return trace(kept, variables, inputs); },
                std::move(options));
    out = put(CompiledObject{std::move(made), given.results, std::make_shared<std::mutex>()});
  });
}

weft_status weft_compiled_free(weft_compiled compiled) {
  return call(__func__, [&] { drop<CompiledObject>(compiled, "compiled"); });
}

weft_status weft_compiled_run(weft_compiled compiled, const weft_tensor* inputs, uint32_t count,
                              weft_tensor* results) {
  return call(__func__, [&] {
    const auto object = get<CompiledObject>(compiled, "compiled");
    if (object->results > 0) std::fill_n(required(results, "results"), object->results, nullptr);
    const std::vector<Tensor> given = tensors_of(inputs, count, "inputs");
    const auto lock = lock_calls(*object);
    put_all(object->compiled(given), results);
  });
}

weft_status weft_compiled_get_report(weft_compiled compiled, weft_compile_report* report) {
  return call(__func__, [&] {
    const auto object = get<CompiledObject>(compiled, "compiled");
    weft_compile_report& out = *required(report, "report");
    const auto lock = lock_calls(*object);
    const CompileReport made = object->compiled.report();
    out = {made.nodes,       made.dispatches, made.arena_bytes,
           made.bound_bytes, made.variants,   made.built};
  });
}

weft_status weft_compiled_to_text(weft_compiled compiled, bool dot, char* text, size_t capacity,
                                  size_t* length) {
  return call(__func__, [&] {
    const auto object = get<CompiledObject>(compiled, "compiled");
    const auto lock = lock_calls(*object);
    give_text(dot ? object->compiled.dot() : object->compiled.text(), text, capacity, length);
  });
}
