#include "weft/memory.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "convert.hpp"
#include "wait.hpp"

// What the memory of a device is used for, and what the device can do.

namespace weft::python {
namespace {

nb::dict report_dict(const Device& device) {
  const MemoryReport report = memory_report(device);
  nb::dict out;
  out["in_use"] = report.in_use;
  out["asked"] = report.asked;
  out["pooled"] = report.pooled;
  out["peak"] = report.peak;
  out["staging"] = report.staging;
  out["limit"] = report.limit;
  out["fragmentation"] = report.fragmentation;
  nb::list classes;
  for (const MemoryClass& one : report.classes) {
    classes.append(nb::make_tuple(one.bytes, one.used, one.kept));
  }
  out["classes"] = classes;
  return out;
}

void limit_memory(const Device& device, std::uint64_t bytes, nb::object listener, double near) {
  std::function<void(const MemoryEvent&)> told;
  if (!listener.is_none()) {
    told = [held = kept(std::move(listener))](const MemoryEvent& event) {
      const nb::gil_scoped_acquire python;
      const Callback callback;
      try {
        (*held)(event.full, event.in_use, event.pooled, event.limit, event.asked);
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("a listener of set_memory_limit()");
      }
    };
  }
  set_memory_limit(device, bytes, std::move(told), near);
}

nb::dict hints_dict(const Device& device) {
  const DeviceHints hints = device_hints(device);
  nb::dict out;
  out["workgroup"] = hints.workgroup;
  out["most_invocations"] = hints.most_invocations;
  out["workgroup_bytes"] = hints.workgroup_bytes;
  out["most_workgroups"] = hints.most_workgroups;
  out["subgroup_min"] = hints.subgroup_min;
  out["subgroup_max"] = hints.subgroup_max;
  out["binding_alignment"] = hints.binding_alignment;
  out["most_bindings"] = hints.most_bindings;
  out["max_binding_bytes"] = hints.max_binding_bytes;
  out["max_buffer_bytes"] = hints.max_buffer_bytes;
  out["processors"] = hints.processors;
  out["memory_rate"] = hints.memory_rate;
  out["cache_bytes"] = hints.cache_bytes;
  out["launch_bytes"] = hints.launch_bytes;
  out["f16_rate"] = hints.f16_rate;
  out["matrix_units"] = hints.matrix_units;
  return out;
}

/// Whether `function`, which takes a list of tensors and gives one, can be computed with inputs of
/// these types.
nb::tuple ask_support(const Device& device, const nb::list& types, const nb::object& function) {
  std::vector<TensorType> inputs;
  for (nb::handle type : types) {
    inputs.push_back(
        {dtype_of(type[0], {"supports", "types"}), shape_of(type[1], {"supports", "types"})});
  }
  Support found;
  {
    const Working lock;
    found = supports(device, inputs, [&](const std::vector<Tensor>& given) {
      const nb::gil_scoped_acquire python;
      const Callback callback;
      return tensor_of(function(wrap_all(given)), {"supports", "result"});
    });
  }
  return nb::make_tuple(found.supported, found.reason, found.dispatches);
}

/// An upload under way, and the elements that it reads.
struct Uploading {
  nb::object bytes;
  std::optional<Upload> upload;
};

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Uploading start_upload(const Device& device, const Dtype& dtype, nb::handle shape,
                       const nb::object& bytes) {
  const auto elements = nb::cast<Bytes>(bytes);
  return {.bytes = bytes,
          .upload = upload(device, dtype.value, shape_of(shape, {"upload", "shape"}),
                           std::as_bytes(std::span(elements.data(), elements.size())))};
}

Array uploaded(Uploading& self) {
  if (!self.upload) raise_value("An upload gives its tensor once.");
  Upload taken = std::move(*self.upload);
  self.upload.reset();
  Tensor tensor;
  {
    const nb::gil_scoped_release others_run;
    tensor = taken.get();
  }
  self.bytes.reset();
  return wrap(std::move(tensor));
}

}  // namespace

void add_memory(nb::module_& m) {
  nb::class_<Uploading>(m, "Upload", "Elements on their way to a device: weft.upload() makes one.")
      .def(
          "ready", [](const Uploading& self) { return !self.upload || self.upload->ready(); },
          "Whether get() would return without waiting.")
      .def("get", &uploaded, "Waits and gives the tensor, once.");
  m.def("start_upload", &start_upload);
  m.def("memory_report", &report_dict);
  m.def("defragment", [](const Device& device) {
    const Working lock;
    return defragment(device);
  });
  m.def("set_memory_limit", &limit_memory, nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  m.def("device_hints", &hints_dict);
  m.def("supports", &ask_support);
}

}  // namespace weft::python
