#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "convert.hpp"
#include "wait.hpp"
#include "weft/onnx.hpp"
#include "weft/profile.hpp"

// Models in ONNX files, and profiles.

namespace weft::python {
namespace {

/// name, type, and a shape of numbers, names and None.
nb::tuple port_tuple(const onnx::Port& port) {
  nb::object shape = nb::none();
  if (port.shape) {
    nb::list extents;
    for (const onnx::Extent& extent : *port.shape) {
      if (extent.value) {
        extents.append(*extent.value);
      } else if (!extent.symbol.empty()) {
        extents.append(text_from_file(extent.symbol));
      } else {
        extents.append(nb::none());
      }
    }
    shape = nb::tuple(extents);
  }
  return nb::make_tuple(text_from_file(port.name), port.type, shape, port.optional);
}

nb::list port_list(const std::vector<onnx::Port>& ports) {
  nb::list out;
  for (const onnx::Port& port : ports) out.append(port_tuple(port));
  return out;
}

nb::dict shapes_dict(const onnx::Model& self) {
  std::map<std::string, onnx::Port> found;
  {
    const Working lock;
    found = self.shapes();
  }
  nb::dict out;
  for (const auto& [name, port] : found) out[text_from_file(name)] = port_tuple(port);
  return out;
}

nb::dict run_model(const onnx::Model& self, const nb::dict& inputs) {
  std::map<std::string, Tensor> given;
  for (const auto& [key, value] : inputs) {
    given[text_of(key, {"run", "inputs"})] = tensor_of(value, {"run", "inputs"});
  }
  std::map<std::string, Tensor> found;
  {
    const Working lock;
    found = self.run(given);
  }
  nb::dict out;
  for (const auto& [name, tensor] : found) out[text_from_file(name)] = wrap(tensor);
  return out;
}

nb::dict report_dict(const onnx::Model& self) {
  const onnx::RunReport report = self.report();
  nb::dict out;
  out["replayed"] = report.replayed;
  out["why"] = report.why;
  out["dispatches"] = report.dispatches;
  return out;
}

}  // namespace

void add_more(nb::module_& m) {
  nb::class_<onnx::Model>(m, "OnnxModel")
      .def("inputs", [](const onnx::Model& self) { return port_list(self.inputs()); })
      .def("outputs", [](const onnx::Model& self) { return port_list(self.outputs()); })
      .def("opsets", [](const onnx::Model& self) { return self.opsets(); })
      .def("operations", [](const onnx::Model& self) { return self.operations(); })
      .def("unsupported", [](const onnx::Model& self) { return self.unsupported(); })
      .def("shapes", &shapes_dict)
      .def("run", &run_model)
      .def("report", &report_dict)
      .def("dot", &onnx::Model::dot);
  m.def("load_onnx", [](const Device& device, const std::string& path) {
    const Working lock;
    return onnx::load(device, std::filesystem::path(path));
  });
  m.def("load_onnx_bytes", [](const Device& device, const nb::bytes& bytes) {
    const std::span data(static_cast<const std::byte*>(bytes.data()), bytes.size());
    const Working lock;
    return onnx::load(device, data);
  });
  m.def("profiled_device", [](const std::string& adapter, bool safe) {
    const Working lock;
    note_device();
    return profiled_device({.adapter = adapter, .safe = safe});
  });
  m.def("take_profile", [](const Device& device) {
    ProfileReport report;
    {
      const Working lock;
      report = take_profile(device);
    }
    return nb::make_tuple(report.table, report.trace);
  });
}

}  // namespace weft::python
