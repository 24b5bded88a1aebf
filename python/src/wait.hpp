#pragma once

#include <functional>

namespace weft::python {

/// Runs work that waits for the device, without the interpreter's lock. On the main thread an
/// interrupt (Ctrl-C) ends the wait at once, as an exception; the work itself goes on on a thread
/// of its own, so it must own what it uses.
void wait_for(std::function<void()> work);

/// Notes which thread is the main one, where Python calls the handlers of signals: the one that
/// imports the module.
void note_main_thread();

}  // namespace weft::python
