#include <new>

#include "convert.hpp"
#include "wait.hpp"

namespace weft::python {
namespace {

/// The exception of Python that stands for a kind of error.
PyObject* exception_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return PyExc_ValueError;
    case ErrorCode::unsupported: return PyExc_NotImplementedError;
    case ErrorCode::out_of_memory: return PyExc_MemoryError;
    case ErrorCode::not_found: return PyExc_LookupError;
    case ErrorCode::io: return PyExc_OSError;
    default: return PyExc_RuntimeError;
  }
}

void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    // What it quotes of a file may be no UTF-8.
    PyErr_SetObject(exception_of(error.code()), text_from_file(error.what()).ptr());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "This machine has not enough memory for that.");
  }
}

}  // namespace
}  // namespace weft::python

NB_MODULE(_core, m) {
  using namespace weft::python;
  nb::set_leak_warnings(false);  // tensors in global variables live as long as the program
  nb::register_exception_translator(translate);
  m.doc() = "The compiled part of weft.";
  note_main_thread();
  Call::watch_forks();
  m.def("left_by_fork", &left_by_fork);
  add_types(m);
  nb::class_<Array> tensor = add_tensor(m);
  add_operators(tensor);
  add_graph(m);
  add_files(m);
  add_more(m);
  add_memory(m);
  nb::module_ functions = m.def_submodule("functions", "Every described function.");
  add_functions(functions, tensor);
}
