#ifndef WEFT_C_ONNX_H
#define WEFT_C_ONNX_H

#include "weft/c/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_model_handle* weft_model;  ///< A model of an ONNX file, ready to run.

/// Reads an ONNX model (docs/onnx.md).
WEFT_API weft_status weft_model_load(weft_device device, const char* path, weft_model* model);
/// The same from bytes, which are copied.
WEFT_API weft_status weft_model_load_bytes(weft_device device, const void* bytes, uint64_t size,
                                           weft_model* model);

/// Gives a model back.
WEFT_API weft_status weft_model_free(weft_model model);

/// What a model takes and gives, the shapes of all its values, its operations, those that Weft
/// cannot run, and how the last run went, as JSON; or the graph that was compiled last, in the DOT
/// language. As weft_tensor_to_text gives texts.
WEFT_API weft_status weft_model_to_text(weft_model model, bool dot, char* text, size_t capacity,
                                        size_t* length);

/// Runs a model on tensors for its inputs by name. `receiver` gets each result; the handle is the
/// receiver's to free.
WEFT_API weft_status weft_model_run(weft_model model, const char* const* names,
                                    const weft_tensor* tensors, uint32_t count,
                                    weft_receiver receiver, void* context);

#ifdef __cplusplus
}
#endif

#endif
