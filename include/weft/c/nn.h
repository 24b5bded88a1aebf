#ifndef WEFT_C_NN_H
#define WEFT_C_NN_H

#include "weft/c/tensor.h"
#include "weft/c/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_init_handle* weft_init;      ///< What new modules start with.
typedef struct weft_module_handle* weft_module;  ///< A layer or a model with parameters.

/// Where the parameters of new modules lie, and the seed of their values: each takes the next
/// number, so that a model starts the same from the same seed on every device.
WEFT_API weft_status weft_init_create(weft_device device, uint64_t seed, weft_init* init);
/// Gives it back; modules that were made with it stay.
WEFT_API weft_status weft_init_free(weft_init init);

/// x · weightᵀ + bias for x […, in].
WEFT_API weft_status weft_module_linear(weft_init init, uint64_t in, uint64_t out, bool bias,
                                        weft_module* module);
/// Rows of a table [count, width] by indices.
WEFT_API weft_status weft_module_embedding(weft_init init, uint64_t count, uint64_t width,
                                           weft_module* module);

/// How the windows of a convolution lie. Zero stands for the default.
typedef struct weft_module_conv_options {
  uint32_t rank;            ///< Spatial dimensions, 1 to 3; 0: 2.
  uint64_t kernel[3];       ///< Extents of the kernel along them; 0: 3.
  uint64_t stride;          ///< The same along each dimension; 0: 1.
  uint64_t padding;         ///< Zeros on each side.
  uint64_t dilation;        ///< 0: 1.
  uint64_t groups;          ///< 0: 1.
  uint64_t output_padding;  ///< Of transposed ones.
  bool transposed;          ///< From windows to an image.
  bool no_bias;             ///< Without a bias.
} weft_module_conv_options;

/// A convolution over images [N, in, spatial…]; `options` may be NULL.
WEFT_API weft_status weft_module_conv(weft_init init, uint64_t in, uint64_t out,
                                      const weft_module_conv_options* options, weft_module* module);

/// Each channel of [N, C, …] with mean 0 and variance 1; while training of the batch, and running
/// means are kept for later. A momentum or eps of 0 stands for 0.1 and 1e-5.
WEFT_API weft_status weft_module_batch_norm(weft_init init, uint64_t channels, double momentum,
                                            double eps, weft_module* module);
/// Normalisations along the last dimension; an eps of 0 stands for 1e-5.
WEFT_API weft_status weft_module_layer_norm(weft_init init, uint64_t width, float eps, bool bias,
                                            weft_module* module);
WEFT_API weft_status weft_module_rms_norm(weft_init init, uint64_t width, float eps,
                                          weft_module* module);
/// Groups of channels of [N, C, …], each with mean 0 and variance 1.
WEFT_API weft_status weft_module_group_norm(weft_init init, uint64_t groups, uint64_t channels,
                                            float eps, weft_module* module);
/// While training, leaves out elements at random; needs weft_module_set_key() then.
WEFT_API weft_status weft_module_dropout(float rate, weft_module* module);
/// [N, …] as [N, the product of the others].
WEFT_API weft_status weft_module_flatten(weft_module* module);
/// An elementwise function by name, such as "relu".
WEFT_API weft_status weft_module_activation(const char* function, weft_module* module);
/// Linear layers of `count` widths with an activation between them.
WEFT_API weft_status weft_module_mlp(weft_init init, const uint64_t* widths, uint32_t count,
                                     const char* activation, weft_module* module);

/// How attention looks at a sequence.
typedef struct weft_module_attention_options {
  uint64_t
      kv_heads;  ///< Heads of keys and values, shared by several of queries; 0: as many as heads.
  bool causal;   ///< A position sees itself and what came before it.
  uint64_t window;   ///< With a value > 0 only so many positions up to its own.
  double rope_base;  ///< With a value > 0 queries and keys turn with their position.
  bool no_bias;      ///< Without biases.
} weft_module_attention_options;

/// Attention of sequences [batch, positions, width] to themselves, in several heads; `options` may
/// be NULL.
WEFT_API weft_status weft_module_multihead_attention(weft_init init, uint64_t width, uint64_t heads,
                                                     const weft_module_attention_options* options,
                                                     weft_module* module);

/// What a transformer block is made of.
typedef struct weft_module_block_options {
  weft_module_attention_options attention;
  uint64_t hidden;  ///< Width inside the MLP; 0: four times the width.
  bool gated;       ///< silu(x · gate) * (x · up) instead of gelu(x · up).
  bool rms;         ///< RMS norms instead of layer norms.
  float dropout;    ///< While training.
  float eps;        ///< Of the norms; 0: 1e-5.
} weft_module_block_options;

/// x + attention(norm(x)), then that + mlp(norm(that)). With `options` NULL it is causal.
WEFT_API weft_status weft_module_transformer_block(weft_init init, uint64_t width, uint64_t heads,
                                                   const weft_module_block_options* options,
                                                   weft_module* module);

/// How recurrent layers lie on top of each other.
typedef struct weft_module_recurrent_options {
  uint64_t layers;         ///< 0: 1.
  bool bidirectional;      ///< Two directions, side by side in the result.
  bool batch_first;        ///< x and y are [batch, tokens, …] instead of [tokens, batch, …].
  bool no_bias;            ///< Without biases.
  float dropout;           ///< Between layers, while training.
  uint64_t projection;     ///< Of an LSTM: the size of its output; 0: as many as `hidden`.
  const char* activation;  ///< Of an RNN: "tanh" (or NULL) or "relu".
} weft_module_recurrent_options;

/// Recurrent layers; `options` may be NULL.
WEFT_API weft_status weft_module_lstm(weft_init init, uint64_t in, uint64_t hidden,
                                      const weft_module_recurrent_options* options,
                                      weft_module* module);
WEFT_API weft_status weft_module_gru(weft_init init, uint64_t in, uint64_t hidden,
                                     const weft_module_recurrent_options* options,
                                     weft_module* module);
WEFT_API weft_status weft_module_rnn(weft_init init, uint64_t in, uint64_t hidden,
                                     const weft_module_recurrent_options* options,
                                     weft_module* module);

/// Modules one after the other; their names are "0", "1", …. The handles stay the caller's and can
/// be freed.
WEFT_API weft_status weft_module_sequential(const weft_module* modules, uint32_t count,
                                            weft_module* module);
/// A model of one's own: modules by name, and what it does with a tensor, which uses their handles.
/// Function and context must live as long as the module.
WEFT_API weft_status weft_module_custom(const char* const* names, const weft_module* modules,
                                        uint32_t count, weft_part forward, void* context,
                                        weft_module* module);

/// Gives a module back; those that are made of it keep it.
WEFT_API weft_status weft_module_free(weft_module module);

/// What a module makes of a tensor.
WEFT_API weft_status weft_module_forward(weft_module module, weft_tensor x, weft_tensor* y);
/// The same of attention and of a transformer block, with a mask that is added to the products (or
/// NULL) and keys and values of the positions before these: NULL at first, afterwards what the last
/// call put there, which this one frees and replaces.
WEFT_API weft_status weft_module_attend(weft_module module, weft_tensor x, weft_tensor mask,
                                        weft_tensor* keys, weft_tensor* values, weft_tensor* y);
/// The same of recurrent layers, with the first states and lengths (or NULL); places for the last
/// states may be NULL.
WEFT_API weft_status weft_module_recur(weft_module module, weft_tensor x, weft_tensor state,
                                       weft_tensor cell, weft_tensor lengths, weft_tensor* y,
                                       weft_tensor* last_state, weft_tensor* last_cell);

/// Gives `receiver` what an optimizer changes, by name, in the order of gradients; the handles are
/// the receiver's to free.
WEFT_API weft_status weft_module_parameters(weft_module module, weft_receiver receiver,
                                            void* context);
/// The same with buffers such as running means: what a file of weights holds.
WEFT_API weft_status weft_module_state(weft_module module, weft_receiver receiver, void* context);
/// Gives the state new values: every name must be there, and nothing else.
WEFT_API weft_status weft_module_load_state(weft_module module, const char* const* names,
                                            const weft_tensor* tensors, uint32_t count);
/// The state to and from a file whose name ends with ".safetensors" or ".gguf".
WEFT_API weft_status weft_module_save(weft_module module, const char* path);
WEFT_API weft_status weft_module_load(weft_module module, const char* path);
/// Keeps a copy of the state as it is now in the host's memory, for weft_device_recover().
WEFT_API weft_status weft_module_keep(weft_module module);
/// Whether dropout drops and batch norms measure; a new module does.
WEFT_API weft_status weft_module_train(weft_module module, bool on);
/// What dropout follows from in the next forward pass: u32[2].
WEFT_API weft_status weft_module_set_key(weft_module module, weft_tensor key);
/// Gives buffers (running means of batch norms) the values that forward passes had for them since
/// the last call.
WEFT_API weft_status weft_module_apply_updates(weft_module module);

#ifdef __cplusplus
}
#endif

#endif
