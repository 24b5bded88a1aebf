#pragma once

#include <ggml-backend.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::test {

/// Loads ggml's CPU backend and the plug-in, once, and collects the log. The plug-in offers the
/// adapter three times.
void load_backends();

/// Device `number` of the plug-in; fails the test when there is none.
ggml_backend_dev_t weft_device(std::size_t number);

/// What a device has done so far; `nodes` counts those of one op, `bytes` is the memory of its
/// buffers, and the seconds are the host's for graphs that were recorded.
struct DeviceStats {
  std::uint64_t recorded = 0;
  std::uint64_t replayed = 0;
  std::uint64_t nodes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t fused = 0;
  std::uint64_t launches = 0;
  std::uint64_t compiled = 0;
  std::uint64_t planned = 0;
  std::uint64_t reused = 0;
  double plan_seconds = 0;
  double record_seconds = 0;
};
DeviceStats device_stats(ggml_backend_dev_t device, ggml_op op = GGML_OP_NONE);

/// The last lines of ggml's and llama.cpp's log.
std::string captured_log();
/// Lets the log start anew.
void forget_log();

}  // namespace weft::test
