#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <utility>

#include "convert.hpp"
#include "wait.hpp"

namespace weft::python {

std::shared_ptr<nb::object> kept(nb::object function) {
  return {new nb::object(std::move(function)), [](nb::object* object) {
            if (nb::is_alive()) {
              const nb::gil_scoped_acquire python;
              delete object;
            }
          }};
}

namespace {

/// The variables that the function being compiled has changed so far.
struct Trace {
  std::vector<nb::object> changed;
};
thread_local std::vector<Trace*> traces;

int kind_of(DType type) {
  if (type == DType::boolean) return 0;
  if (is_integer(type)) return is_unsigned(type) ? 1 : 2;
  return 3;
}

std::string text(const Shape& shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i)
    out += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

/// New values for variables at once; in a function that is being compiled, at its end.
void assign(const std::vector<std::pair<nb::object, Tensor>>& changes) {
  std::vector<Update> updates;
  for (const auto& [object, value] : changes) {
    Array& array = nb::cast<Array&>(object);
    if (!array.variable) {
      array.now = value;
    } else if (!traces.empty()) {
      array.now = value;
      traces.back()->changed.push_back(object);
    } else {
      updates.push_back({array.variable, value});
    }
  }
  if (updates.empty()) return;
  const Working lock;
  apply(updates);
}

Tensor fitting(const Array& array, const Tensor& value, const char* function) {
  if (value.shape() != array.now.shape()) {
    raise_value(std::string(function) + "(): a result of shape " + text(value.shape()) +
                " cannot take the place of a tensor of shape " + text(array.now.shape()) + ".");
  }
  const DType from = value.dtype();
  const DType to = array.now.dtype();
  if (kind_of(from) > kind_of(to)) {
    raise_type(std::string(function) + "(): a result of " + std::string(name(from)) +
               " cannot take the place of elements of " + std::string(name(to)) +
               "; convert one of them first.");
  }
  return value.to(to, nowhere);
}

/// Ends a trace: its variables stand for themselves again.
std::vector<Update> finish(Trace& trace) {
  std::vector<Update> updates;
  for (const nb::object& object : trace.changed) {
    Array& array = nb::cast<Array&>(object);
    if (array.now.is(array.variable)) continue;  // noted before
    updates.push_back({array.variable, array.now});
    array.now = array.variable;
  }
  trace.changed.clear();
  return updates;
}

class Tracing {
 public:
  Tracing() { traces.push_back(&trace); }
  ~Tracing() {
    traces.pop_back();
    (void)finish(trace);
  }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
  Trace trace;
};

/// A function of Python on lists of tensors, as the library calls it: with its own lock held and
/// without the interpreter's.
std::vector<Tensor> call_python(const nb::object& function, const std::vector<Tensor>& inputs) {
  return tensors_of(function(wrap_all(inputs)), {"compile", "result"});
}

/// What Python calls a Compiled. The function lies beside it for the garbage collector, because it
/// may hold what holds this: a method that an object keeps compiled.
struct CompiledFunction {
  Compiled compiled;
  std::shared_ptr<nb::object> function;
};

int visit_function(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto* one = nb::inst_ptr<CompiledFunction>(self);
  if (one->function) Py_VISIT(one->function->ptr());
  return 0;
}

int let_go_of_function(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  const auto* one = nb::inst_ptr<CompiledFunction>(self);
  if (one->function) one->function->release().dec_ref();
  return 0;
}

CompiledFunction compile_function(nb::object function, const std::string& without,
                                  std::size_t most_variants, bool check_indices) {
  CompileOptions options;
  options.check_indices = check_indices;
  options.without = without;
  options.most_variants = most_variants;
  const std::shared_ptr<nb::object> held = kept(std::move(function));
  Compiled compiled = compile(
      [held](const std::vector<Tensor>& inputs) {
        const nb::gil_scoped_acquire python;
        const Callback callback;
        Tracing tracing;
        if (!held->is_valid()) raise_value("compile(): the function is gone, as garbage.");
        std::vector<Tensor> values = call_python(*held, inputs);
        return Outputs(std::move(values), finish(tracing.trace));
      },
      std::move(options));
  return {.compiled = std::move(compiled), .function = held};
}

nb::list run_compiled(const CompiledFunction& self, nb::handle inputs) {
  const std::vector<Tensor> given = tensors_of(inputs, {"compile", "inputs"});
  std::vector<Tensor> values;
  {
    const Working lock;
    values = self.compiled(given);
  }
  if (!given.empty()) pace(given.front().device());
  return wrap_all(values);
}

nb::list gradients(nb::handle loss, nb::handle by) {
  const Tensor value = tensor_of(loss, {"grad", "loss"});
  const std::vector<Tensor> tensors = tensors_of(by, {"grad", "by"});
  const Building lock;
  return wrap_all(grad(value, tensors));
}

nb::list weighted_gradients(nb::handle y, nb::handle weights, nb::handle by) {
  const Tensor value = tensor_of(y, {"vjp", "y"});
  const Tensor seeds = tensor_of(weights, {"vjp", "weights"});
  const std::vector<Tensor> tensors = tensors_of(by, {"vjp", "by"});
  const Building lock;
  return wrap_all(grad(value, seeds, tensors));
}

Array checkpointed(nb::object function, nb::handle inputs) {
  const std::vector<Tensor> given = tensors_of(inputs, {"checkpoint", "inputs"});
  const Building lock;
  return wrap(checkpoint(
      [held = kept(std::move(function))](const std::vector<Tensor>& tensors) {
        const nb::gil_scoped_acquire python;
        const Callback callback;
        return tensor_of((*held)(wrap_all(tensors)), {"checkpoint", "result"});
      },
      given, nowhere));
}

Array make_variable(nb::handle initial) {
  const Tensor value = tensor_of(initial, {"variable", "initial"});
  if (tracing())
    raise_value(
        "variable() cannot be called in a function that is being compiled; make it before.");
  const Working lock;
  const Tensor made = variable(value);
  return {made, made};
}

void assign_all(const nb::list& tensors, nb::handle values) {
  const Building lock;
  const std::vector<Tensor> given = tensors_of(values, {"assign", "values"});
  if (given.size() != tensors.size()) {
    raise_value("assign(): there are " + std::to_string(tensors.size()) + " tensors and " +
                std::to_string(given.size()) + " values.");
  }
  std::vector<std::pair<nb::object, Tensor>> changes;
  for (std::size_t i = 0; i < given.size(); ++i) {
    nb::object object = nb::borrow(tensors[i]);
    if (!nb::isinstance<Array>(object)) {
      raise_type("assign(): number " + std::to_string(i) + " of the tensors is a " +
                 nb::cast<std::string>(nb::handle(object.type()).attr("__name__")) + ".");
    }
    const Tensor value = fitting(nb::cast<Array&>(object), given[i], "assign");
    changes.emplace_back(std::move(object), value);
  }
  assign(changes);
}

}  // namespace

bool tracing() { return !traces.empty(); }

void replace(nb::handle self, Tensor value, const char* function) {
  const Tensor fitted = fitting(nb::cast<Array&>(self), value, function);
  assign({{nb::borrow(self), fitted}});
}

void add_graph(nb::module_& m) {
  static std::array<PyType_Slot, 3> slots{
      {{Py_tp_traverse, reinterpret_cast<void*>(&visit_function)},
       {Py_tp_clear, reinterpret_cast<void*>(&let_go_of_function)},
       {0, nullptr}}};
  nb::class_<CompiledFunction>(m, "Compiled", nb::type_slots(slots.data()))
      .def("__call__", &run_compiled)
      .def("report",
           [](const CompiledFunction& self) {
             const CompileReport report = self.compiled.report();
             nb::dict out;
             out["nodes"] = report.nodes;
             out["dispatches"] = report.dispatches;
             out["arena_bytes"] = report.arena_bytes;
             out["bound_bytes"] = report.bound_bytes;
             out["variants"] = report.variants;
             out["built"] = report.built;
             return out;
           })
      .def("text", [](const CompiledFunction& self) { return self.compiled.text(); })
      .def("dot", [](const CompiledFunction& self) { return self.compiled.dot(); });
  m.def("compile", &compile_function);
  m.def("grad", &gradients);
  m.def("weighted_grad", &weighted_gradients);
  m.def("checkpoint", &checkpointed);
  m.def("variable", &make_variable);
  m.def("assign", &assign_all);
  m.def("tracing", &tracing);
  m.def("eval_all", [](nb::handle tensors) {
    const std::vector<Tensor> given = tensors_of(tensors, {"eval", "tensors"});
    {
      const Working lock;
      for (const Tensor& tensor : given) tensor.eval();
    }
    if (!given.empty()) pace(given.front().device());
  });
}

}  // namespace weft::python
