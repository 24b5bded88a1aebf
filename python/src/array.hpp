#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <mutex>

#include "weft/weft.hpp"

namespace weft::python {

namespace nb = nanobind;

/// Calls do not come from a line of C++: messages then name only the operation.
inline constexpr Where nowhere{};

/// What Python calls a Tensor. Changing it in place means that the object stands for another tensor
/// from then on; where it is a variable, the variable gets the new values, in a function that is
/// being compiled at the end of each call.
struct Array {
  Tensor now;
  Tensor variable{};  ///< Empty unless it was made by variable().
};

/// What Python calls a dtype.
struct Dtype {
  DType value = DType::f32;
};

/// A call that is under way. In the child of a fork the locks that other threads of the parent held
/// at that moment stay locked for ever: where a call was under way, every one is an error there.
class Call {
 public:
  Call();
  ~Call() { --under_way; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  static void watch_forks();

 private:
  static inline std::atomic<int> under_way = 0;
  static inline std::atomic<bool> torn_by_fork = false;
};

/// One lock for everything that notes expressions down: threads may do so while others wait for the
/// device without the interpreter's lock. Whoever must wait for it lets go of the interpreter, so
/// that the two locks cannot wait for each other.
class Building {
 public:
  Building() {
    if (mutex().try_lock()) return;
    const nb::gil_scoped_release others_run;
    mutex().lock();
  }
  ~Building() { mutex().unlock(); }
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;

  static std::recursive_mutex& mutex();

 private:
  Call call_;
};

/// The same for work that takes long and needs nothing of Python: the interpreter runs on
/// meanwhile.
class Working {
 public:
  Working() { Building::mutex().lock(); }
  ~Working() { Building::mutex().unlock(); }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  Call call_;
  nb::gil_scoped_release others_run_;
};

/// Puts new values in the place of a tensor's own: of another type of the same kind, but of its
/// shape.
void replace(nb::handle self, Tensor value, const char* function);

/// Another node with the same elements: a gradient by it leaves out other uses of the tensor.
Tensor alias(const Tensor& tensor);

/// Whether a function is being compiled on this thread.
bool tracing();

void add_types(nb::module_& m);
nb::class_<Array> add_tensor(nb::module_& m);
void add_operators(nb::class_<Array>& tensor);
void add_graph(nb::module_& m);
void add_files(nb::module_& m);
void add_more(nb::module_& m);
void add_memory(nb::module_& m);
/// Written by python/generate.py: every described function, and those that are methods too.
void add_functions(nb::module_& m, nb::class_<Array>& tensor);

}  // namespace weft::python
