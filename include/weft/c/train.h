#ifndef WEFT_C_TRAIN_H
#define WEFT_C_TRAIN_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Steps of optimizers, and what keeps memory small in training.

/// Choices for a step of an optimizer; NULL means all zero.
typedef struct weft_step_options {
  weft_tensor
      scale;  ///< Optional, one f32: gradients are multiplied by it; nothing happens when it is not finite.
  bool has_working;    ///< Also give the new weights in another type,
  weft_dtype working;  ///< this one: WEFT_F16 or WEFT_BF16.
  bool coupled;        ///< Adam as first published: decay is added to the gradients.
} weft_step_options;

/// What a step gives: the next values of its variables, to be handed to weft_tensor_update or returned from a compiled
/// function. Members that were not asked for are NULL.
typedef struct weft_step {
  weft_tensor weights;
  weft_tensor m;        ///< Adam's first moment, or the momentum.
  weft_tensor v;        ///< Adam's second moment.
  weft_tensor working;  ///< The weights in the working type.
} weft_step;

/// One step of AdamW for f32 weights and moments of one shape. `numbers` are seven f32: rate, beta1, beta2, eps, decay,
/// 1 / (1 - beta1^step) and 1 / (1 - beta2^step).
WEFT_API weft_status weft_tensor_adamw(weft_tensor weights, weft_tensor gradients, weft_tensor m,
                                       weft_tensor v, weft_tensor numbers,
                                       const weft_step_options* options, weft_step* step);

/// One step of gradient descent; `momentum` is optional. `numbers` are f32: rate, decay and, with momentum, its factor.
WEFT_API weft_status weft_tensor_sgd(weft_tensor weights, weft_tensor gradients,
                                     weft_tensor momentum, weft_tensor numbers,
                                     const weft_step_options* options, weft_step* step);

/// What brings `count` gradients together to a norm of at most `max_norm` (0: as they are): one f32 for
/// weft_step_options::scale, and that norm. `loss_scale`, optional, is one f32 by which the gradients are too large.
WEFT_API weft_status weft_tensor_clip_by_norm(const weft_tensor* gradients, uint32_t count,
                                              float max_norm, weft_tensor loss_scale,
                                              weft_tensor* scale, weft_tensor* norm);

/// A function from tensors to one tensor. The handles of the inputs are Weft's, the one it puts into `output` becomes Weft's.
typedef weft_status (*weft_part)(void* context, const weft_tensor* inputs, uint32_t count,
                                 weft_tensor* output);

/// part(inputs), for which gradients keep nothing but the inputs: what they need is computed a second time on the way back.
/// Gradients flow to the inputs only. The part is called now and whenever a gradient is asked for, so it and its context must
/// live as long as the result and what is made from it.
WEFT_API weft_status weft_tensor_checkpoint(weft_part part, void* context,
                                            const weft_tensor* inputs, uint32_t count,
                                            weft_tensor* y);

#ifdef __cplusplus
}
#endif

#endif
