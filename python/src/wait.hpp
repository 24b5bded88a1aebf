#pragma once

#include <functional>

namespace weft::python {

/// Runs work that waits for the device, without the interpreter's lock. On the main thread an
/// interrupt (Ctrl-C) ends the wait at once, as an exception; the work itself goes on on a thread
/// of its own, so it must own what it uses.
void wait_for(std::function<void()> work);

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
