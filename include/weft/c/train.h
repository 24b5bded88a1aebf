#ifndef WEFT_C_TRAIN_H
#define WEFT_C_TRAIN_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A function from tensors to one tensor. The handles of the inputs are Weft's, the one it puts
/// into `output` becomes Weft's.
typedef weft_status (*weft_part)(void* context, const weft_tensor* inputs, uint32_t count,
                                 weft_tensor* output);

/// part(inputs), for which gradients keep nothing but the inputs: what they need is computed a
/// second time on the way back. Gradients flow to the inputs only. The part is called now and
/// whenever a gradient is asked for, so it and its context must live as long as the result and what
/// is made from it.
WEFT_API weft_status weft_tensor_checkpoint(weft_part part, void* context,
                                            const weft_tensor* inputs, uint32_t count,
                                            weft_tensor* y);

#ifdef __cplusplus
}
#endif

#endif
