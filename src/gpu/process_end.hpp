#pragma once

// Internal to src/gpu: what becomes of devices that are still open when the process ends.

namespace weft::gpu {

/// Whether static objects made before the first call of watch_process_end() are being destroyed.
bool process_ends();

/// Lets process_ends() become true when the process ends. Called by the first use of a device, not
/// by its making: a static object that holds a device then goes after the flag is set.
void watch_process_end();

/// Something is running that cannot be ended. What was registered since is done when the process
/// ends, and then it is over: a driver that takes itself apart while a kernel runs crashes.
void end_at_once();

/// Keeps an object reachable for ever, so that leak checkers know it.
void leave_open(void* object);

/// Deletes an object that holds a device or parts of one, unless the process ends: drivers close
/// down before static objects do, and NVIDIA's (580) then crashes when it is called; or this is a
/// fork of the process that made it, where closing would wait for threads that are not there. The
/// system takes back what a process leaves.
struct CloseUnlessProcessEnds {
  template <class T>
  void operator()(T* object) const {
    if (process_ends() || object->stays_open()) {
      leave_open(object);
    } else {
      delete object;
    }
  }
};

}  // namespace weft::gpu
