#pragma once

namespace weft::gpu {

/// What the WebGPU implementation lets a program do; a browser's lets less than Dawn's.
struct Host {
  bool unchecked = true;  ///< Checks can be turned off; without it every device is in safe mode.
  bool pipeline_blobs = true;  ///< Compiled pipelines can be kept on disk.
  /// The host can wait for an answer, or ask for it again and again, in any call. Without it
  /// answers come only while a call that reads a value waits: uploads and allocations go on without
  /// one, and what was wrong with them is returned by a later call.
  bool blocking = true;
};

}  // namespace weft::gpu
