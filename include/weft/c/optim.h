#ifndef WEFT_C_OPTIM_H
#define WEFT_C_OPTIM_H

#include "weft/c/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_optimizer_handle* weft_optimizer;  ///< A rule that turns gradients into steps.
typedef struct weft_ema_handle* weft_ema;              ///< The moving average of parameters.
typedef struct weft_step_handle* weft_step;            ///< A compiled training step.

/// Parameters whose names contain a text, and what is different for them. The first group that fits
/// counts.
typedef struct weft_parameter_group {
  const char* contains;
  double lr_scale;      ///< Times the learning rate of a step.
  double weight_decay;  ///< Instead of the optimizer's.
} weft_parameter_group;

/// What rules have in common; all zero is a default. A rule takes from it what it knows.
typedef struct weft_optimizer_options {
  double momentum;                     ///< Of SGD.
  bool nesterov;                       ///< Of SGD.
  double beta1;                        ///< Of Adam and Lion; 0: 0.9.
  double beta2;                        ///< 0: 0.999 (Lion: 0.99).
  double eps;                          ///< Of Adam; 0: 1e-8.
  double weight_decay;                 ///< Of all.
  const weft_parameter_group* groups;  ///< Groups that are treated in another way,
  uint32_t group_count;                ///< and how many.
} weft_optimizer_options;

/// Optimizers of a module's parameters; `options` may be NULL. Memory for the rule is made now.
WEFT_API weft_status weft_optimizer_sgd(weft_module module, const weft_optimizer_options* options,
                                        weft_optimizer* optimizer);
WEFT_API weft_status weft_optimizer_adam(weft_module module, const weft_optimizer_options* options,
                                         weft_optimizer* optimizer);
WEFT_API weft_status weft_optimizer_adamw(weft_module module, const weft_optimizer_options* options,
                                          weft_optimizer* optimizer);
WEFT_API weft_status weft_optimizer_lion(weft_module module, const weft_optimizer_options* options,
                                         weft_optimizer* optimizer);
/// Gives an optimizer back.
WEFT_API weft_status weft_optimizer_free(weft_optimizer optimizer);

/// The parameters in the order of the gradients, one handle each; `capacity` handles fit, and
/// `count` says how many there are.
WEFT_API weft_status weft_optimizer_parameters(weft_optimizer optimizer, weft_tensor* parameters,
                                               uint32_t capacity, uint32_t* count);
/// One step at once, from a gradient per parameter.
WEFT_API weft_status weft_optimizer_apply(weft_optimizer optimizer, const weft_tensor* gradients,
                                          uint32_t count, double rate);
/// What a checkpoint must keep, by name, and the way back.
WEFT_API weft_status weft_optimizer_state(weft_optimizer optimizer, weft_receiver receiver,
                                          void* context);
WEFT_API weft_status weft_optimizer_load_state(weft_optimizer optimizer, const char* const* names,
                                               const weft_tensor* tensors, uint32_t count);
/// Keeps a copy of that as it is now in the host's memory, for weft_device_recover().
WEFT_API weft_status weft_optimizer_keep(weft_optimizer optimizer);

/// How a learning rate goes down after the warm-up.
typedef enum weft_decay {
  WEFT_DECAY_CONSTANT = 0,
  WEFT_DECAY_LINEAR = 1,
  WEFT_DECAY_COSINE = 2
} weft_decay;

/// Learning rates over a training: up in a straight line over `warmup` steps, then down to `floor`
/// times the highest.
typedef struct weft_schedule {
  double lr;
  uint64_t steps;
  uint64_t warmup;
  int32_t decay;  ///< A weft_decay.
  double floor;
} weft_schedule;
/// The rate of a step, counted from 0.
WEFT_API weft_status weft_schedule_rate(const weft_schedule* schedule, uint64_t step, double* rate);

/// average = decay · average + (1 - decay) · parameter, for all parameters of a module, as a part
/// of a training step.
WEFT_API weft_status weft_ema_create(weft_module module, double decay, weft_ema* ema);
/// Gives `receiver` the averages under the names of the parameters.
WEFT_API weft_status weft_ema_averages(weft_ema ema, weft_receiver receiver, void* context);
/// Gives it back.
WEFT_API weft_status weft_ema_free(weft_ema ema);

/// Choices for a training step.
typedef struct weft_step_options {
  double clip;    ///< Largest norm of all gradients together; 0: as they are.
  uint64_t seed;  ///< Of what dropout drops.
  weft_ema ema;   ///< May be NULL.
  /// What the loss is multiplied by at first, for models that compute in f16; it is halved after a
  /// step that overflowed, and doubled from time to time. 0: the loss stays as it is.
  double loss_scale;
} weft_step_options;

/// A training step that is compiled and replayed: loss, gradients, clipping, the optimizer, running
/// means. `loss` makes one element of a batch, and is called once per set of shapes; it and its
/// context must live as long as the step, which keeps module and optimizer itself. `options` may be
/// NULL.
WEFT_API weft_status weft_step_create(weft_module module, weft_optimizer optimizer, weft_part loss,
                                      void* context, const weft_step_options* options,
                                      weft_step* step);
/// Takes one step, and gives the loss without waiting for it.
WEFT_API weft_status weft_step_run(weft_step step, const weft_tensor* batch, uint32_t count,
                                   double rate, weft_tensor* loss);
/// Steps so far, which dropout follows from. A training that goes on sets it.
WEFT_API weft_status weft_step_get_count(weft_step step, uint32_t* count);
WEFT_API weft_status weft_step_set_count(weft_step step, uint32_t count);
/// Gives a step back.
WEFT_API weft_status weft_step_free(weft_step step);

#ifdef __cplusplus
}
#endif

#endif
