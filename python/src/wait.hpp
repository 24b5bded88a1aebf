#pragma once

#include <functional>

#include "weft/weft.hpp"

namespace weft::python {

/// Runs work that waits for the device, without the interpreter's lock. On the main thread an
/// interrupt (Ctrl-C) ends the wait at once, as an exception; the work itself goes on on a thread
/// of its own, so it must own what it uses.
void wait_for(std::function<void()> work);

/// To be called when work has been queued: now and then it waits for the device, so that a program
/// that only queues (a loop of training steps) is never far ahead of it, and its end or Ctrl-C not
/// far behind. How often follows from how long such a wait takes: devices that keep up are hardly
/// ever waited for.
void pace(const Device& device);

/// Stands while the library calls a function of Python, which it does with its lock held: what such
/// a function waits for must be done by its own thread.
class Callback {
 public:
  Callback();
  ~Callback();
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
};

/// Notes that a device was opened, for left_by_fork().
void note_device();

/// For the child of a fork: where its parent had opened a device, it ends without the clean-up of
/// libraries. The driver's would wait for threads that only the parent has.
void left_by_fork();

/// Notes which thread is the main one, where Python calls the handlers of signals: the one that
/// imports the module.
void note_main_thread();

}  // namespace weft::python
