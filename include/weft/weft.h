#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

/// The C API of Weft (docs/c-api.md), usable from every language that can call C. The same rules
/// hold for all of it:
///
/// - Every call that can fail returns a weft_status, and weft_last_error() has the sentence that
/// explains it.
/// - Handles are numbers in the form of pointers. Each call checks them: NULL, a freed handle or
/// one of another kind is
///   the error WEFT_INVALID_HANDLE. Freeing a handle never invalidates what was made from it.
/// - Results come through the last parameters; they are set to NULL or left alone when the call
/// fails.
/// - All calls may be made from several threads, also on the same handle.
/// - Work is queued: a call may return before the device is done. What reads values waits for them.

#include "weft/c/buffer.h"
#include "weft/c/buffer_ops.h"
#include "weft/c/data.h"
#include "weft/c/device.h"
#include "weft/c/graph.h"
#include "weft/c/kernel.h"
#include "weft/c/memory.h"
#include "weft/c/nn.h"
#include "weft/c/onnx.h"
#include "weft/c/ops.h"
#include "weft/c/optim.h"
#include "weft/c/recover.h"
#include "weft/c/status.h"
#include "weft/c/tensor.h"
#include "weft/c/train.h"

#endif
