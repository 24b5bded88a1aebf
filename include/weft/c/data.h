#ifndef WEFT_C_DATA_H
#define WEFT_C_DATA_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_loader_handle* weft_loader;  ///< Gives examples in batches.

/// One property of all examples, in memory: pictures, say, or labels.
typedef struct weft_column {
  weft_dtype dtype;
  uint32_t rank;         ///< Dimensions of one example; 0 for one number.
  const int64_t* shape;  ///< Their extents.
  const void* bytes;     ///< Example after example; copied.
  uint64_t size;         ///< Bytes of all examples.
} weft_column;

/// Choices for a loader; all zero: batches of 32 in another order in each epoch, without a last one
/// that is not full.
typedef struct weft_loader_options {
  uint64_t batch;     ///< Examples of a batch; 0: 32.
  bool in_order;      ///< The examples as they are, in each epoch.
  uint64_t seed;      ///< Which order.
  bool keep_last;     ///< Give what does not fill a batch as well.
  uint32_t prefetch;  ///< Batches that a thread prepares ahead; 0: 2.
} weft_loader_options;

/// Gives the examples of some columns in batches of tensors [batch, shape…]; `options` may be NULL.
WEFT_API weft_status weft_loader_create(weft_device device, const weft_column* columns,
                                        uint32_t count, const weft_loader_options* options,
                                        weft_loader* loader);
/// How many examples there are, and batches in an epoch.
WEFT_API weft_status weft_loader_get_size(weft_loader loader, uint64_t* examples,
                                          uint64_t* batches);
/// Begins an epoch; what is left of the one before is dropped.
WEFT_API weft_status weft_loader_start(weft_loader loader, uint64_t epoch);
/// The next batch of the epoch, one tensor per column; `more` is false, and no tensor is given, at
/// its end.
WEFT_API weft_status weft_loader_next(weft_loader loader, weft_tensor* tensors, bool* more);
/// Gives a loader back.
WEFT_API weft_status weft_loader_free(weft_loader loader);

#ifdef __cplusplus
}
#endif

#endif
