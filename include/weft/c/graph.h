#ifndef WEFT_C_GRAPH_H
#define WEFT_C_GRAPH_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Operations on tensors are noted down and run when a value is asked for. What is noted down can
/// be differentiated, and a function that is run often can be compiled.

/// Computes a tensor now, without waiting for the device.
WEFT_API weft_status weft_tensor_eval(weft_tensor tensor);

/// A tensor with memory of its own, which updates replace: a parameter, a moment of an optimizer, a
/// counter. It starts with the values of `initial`. What was written with it before an update sees
/// the values from before.
WEFT_API weft_status weft_tensor_variable(weft_tensor initial, weft_tensor* variable);

/// Computes `count` values, then gives each to its variable.
WEFT_API weft_status weft_tensor_update(const weft_tensor* variables, const weft_tensor* values,
                                        uint32_t count);

/// The derivatives of sum(y·weights) by `count` tensors that `y` was computed from. With `weights`
/// NULL, `y` has one element. The results are tensors like all others, and can be differentiated
/// again.
WEFT_API weft_status weft_tensor_grad(weft_tensor y, weft_tensor weights, const weft_tensor* by,
                                      uint32_t count, weft_tensor* gradients);

/// A function from tensors to tensors, written in terms of this API. It is called once per set of
/// input shapes and types, with stand-ins that have no values; the handles of the inputs are
/// Weft's. The handles that it puts into `outputs` become Weft's as well: first the results, then
/// the new values of the variables. A status other than WEFT_OK ends the compilation.
typedef weft_status (*weft_function)(void* context, const weft_tensor* inputs, uint32_t input_count,
                                     weft_tensor* outputs);

/// Gets the graph of a function that is being compiled, as text and in the DOT language: after
/// "trace", as it was written, and after each pass (docs/graph.md). The texts are valid during the
/// call, which must not use compiled functions.
typedef void (*weft_pass_receiver)(void* context, const char* pass, const char* text,
                                   const char* dot);

/// What a function is compiled from.
typedef struct weft_function_source {
  weft_function function;
  void* context;                 ///< Given to the function as it is.
  uint32_t results;              ///< Results of the function.
  const weft_tensor* variables;  ///< Variables that get new values at the end of each call,
  uint32_t variable_count;       ///< and how many.
  const char*
      without;  ///< Passes to leave out, by name, with commas between them, or "all"; may be NULL.
  weft_pass_receiver on_pass;  ///< Called with `context` after each pass; may be NULL.
  uint32_t most_variants;      ///< Sets of input shapes to keep ready; 0: 16.
  bool check_indices;  ///< Indices out of range are an error of the next call that reads or waits.
} weft_function_source;

/// What the last call of a compiled function ran.
typedef struct weft_compile_report {
  uint64_t operations;   ///< After all passes.
  uint64_t dispatches;   ///< Kernel launches of one call.
  uint64_t arena_bytes;  ///< Memory between inputs and results.
  uint64_t bound_bytes;  ///< What that memory cannot be less than in this order of operations.
  uint64_t variants;     ///< Sets of input shapes that are ready to run.
  uint64_t built;        ///< How often the function was traced and planned so far.
} weft_compile_report;

/// Prepares a function to be run often: it is traced and planned at its first call and then only
/// replayed. Function and context must live as long as the handle.
WEFT_API weft_status weft_compile(const weft_function_source* source, weft_compiled* compiled);

/// Gives a compiled function back.
WEFT_API weft_status weft_compiled_free(weft_compiled compiled);

/// Runs a compiled function on `count` inputs, at least one; `results` has room for as many handles
/// as it has results.
WEFT_API weft_status weft_compiled_run(weft_compiled compiled, const weft_tensor* inputs,
                                       uint32_t count, weft_tensor* results);

/// What the last call ran; all zero before the first.
WEFT_API weft_status weft_compiled_get_report(weft_compiled compiled, weft_compile_report* report);

/// The graph that the last call ran, one line per operation or in the DOT language, as
/// weft_tensor_to_text gives texts.
WEFT_API weft_status weft_compiled_to_text(weft_compiled compiled, bool dot, char* text,
                                           size_t capacity, size_t* length);

#ifdef __cplusplus
}
#endif

#endif
