#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "convert.hpp"
#include "wait.hpp"
#include "weft/devices.hpp"

namespace weft::python {
namespace {

/// The elements as numpy has them. numpy gets the memory that they were read to.
template <class T, class Shown = T>
nb::object host_as(const Tensor& tensor) {
  const auto values = std::make_shared<std::vector<T>>();
  wait_for([values, tensor] { *values = tensor.to_vector<T>(); });
  using Kept = std::shared_ptr<std::vector<T>>;
  const nb::capsule owner(new Kept(values), [](void* p) noexcept { delete static_cast<Kept*>(p); });
  const Shape& shape = tensor.shape();
  std::vector<std::size_t> extents(shape.begin(), shape.end());
  static T nothing{};  // numpy asks for a place even where there are no elements
  auto* data = values->empty() ? &nothing : values->data();
  return nb::cast(nb::ndarray<nb::numpy, Shown>(reinterpret_cast<Shown*>(data), extents.size(),
                                                extents.data(), owner));
}

/// The interpreter lets modules go before it ends, and what still runs then (a `__del__`) cannot
/// have arrays: nanobind would end the program where it does not find numpy.
void require_numpy() {
  if (nb::steal(PyImport_ImportModule("numpy")).is_valid()) return;
  PyErr_Clear();
  PyErr_SetString(PyExc_RuntimeError,
                  "The interpreter is ending: elements of tensors cannot be read any more.");
  throw nb::python_error();
}

/// Floats come as float32 whatever their width: numpy has no type for all of them.
nb::object host(const Array& self) {
  require_numpy();
  Tensor tensor = self.now;
  const DType type = tensor.dtype();
  {
    const Working lock;
    if ((is_float(type) && type != DType::f32) || is_quantized(type))
      tensor = tensor.to(DType::f32, nowhere);
    tensor.eval();
  }
  switch (tensor.dtype()) {
    case DType::i32: return host_as<std::int32_t>(tensor);
    case DType::u32: return host_as<std::uint32_t>(tensor);
    case DType::i64: return host_as<std::int64_t>(tensor);
    case DType::i16: return host_as<std::int16_t>(tensor);
    case DType::i8: return host_as<std::int8_t>(tensor);
    case DType::u8: return host_as<std::uint8_t>(tensor);
    case DType::boolean: return host_as<std::uint8_t, bool>(tensor);
    default: return host_as<float>(tensor);
  }
}

nb::tuple shape_tuple(const Tensor& tensor) {
  nb::list out;
  for (const std::uint64_t extent : tensor.shape()) out.append(extent);
  return nb::tuple(out);
}

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Array upload(const Device& device, const Dtype& dtype, nb::handle shape, const Bytes& bytes) {
  const Shape extents = shape_of(shape, {"array", "shape"});
  const Working lock;
  return wrap(
      device.tensor(dtype.value, extents, std::as_bytes(std::span(bytes.data(), bytes.size()))));
}

/// x[place] for a whole number, which loops ask for often.
Array row_of(const Array& self, std::int64_t place) {
  const Shape& shape = self.now.shape();
  if (shape.empty()) throw nb::index_error("There are 1 indices for a tensor of shape ().");
  const auto extent = static_cast<std::int64_t>(shape[0]);
  if (place < -extent || place >= extent) {
    throw nb::index_error(("There is no element " + std::to_string(place) +
                           " along axis 0, which has " + std::to_string(extent) + ".")
                              .c_str());
  }
  const Building lock;
  const Tensor row = self.now.slice(0, place < 0 ? place + extent : place, 1, 1, nowhere);
  return wrap(row.reshape(Shape(shape.begin() + 1, shape.end()), nowhere));
}

/// The product of two tensors of matrices with one type of floats; None for everything else.
nb::object product_of(const Array& a, const Array& b) {
  const Shape& left = a.now.shape();
  const Shape& right = b.now.shape();
  const DType type = a.now.dtype();
  if (type != b.now.dtype() || !is_float(type) || left.size() < 2 || right.size() < 2 ||
      left.back() != right[right.size() - 2]) {
    return nb::none();
  }
  const Building lock;
  return nb::cast(wrap(matmul({a.now, nowhere}, b.now)));
}

}  // namespace

Tensor alias(const Tensor& tensor) {
  Shape wider = tensor.shape();
  if (wider.size() == 8) return tensor.reshape({tensor.size()}, nowhere).reshape(wider, nowhere);
  wider.insert(wider.begin(), 1);
  return tensor.reshape(wider, nowhere).reshape(tensor.shape(), nowhere);
}

void add_types(nb::module_& m) {
  nb::class_<Dtype>(
      m, "dtype", "The type of a tensor's elements: weft.float32, weft.int64, weft.bool and so on.")
      .def(
          "__init__",
          [](Dtype* self, nb::handle value) {
            new (self) Dtype{dtype_of(value, {"dtype", "value"})};
          },
          nb::arg("value"), nb::sig("def __init__(self, value: DTypeLike) -> None"))
      .def_prop_ro(
          "short_name", [](const Dtype& self) { return std::string(weft::name(self.value)); },
          "The name in C++ and in files, such as 'f32'.")
      .def_prop_ro(
          "itemsize", [](const Dtype& self) { return block_bytes(self.value); },
          "Bytes of an element; of quantized types those of a block.")
      .def_prop_ro(
          "block", [](const Dtype& self) { return block_elements(self.value); },
          "How many elements share a block; 1 but for quantized types.")
      .def_prop_ro("is_quantized", [](const Dtype& self) { return weft::is_quantized(self.value); })
      .def_prop_ro("is_floating", [](const Dtype& self) { return is_float(self.value); })
      .def_prop_ro("is_integer", [](const Dtype& self) { return is_integer(self.value); })
      .def_prop_ro("is_unsigned", [](const Dtype& self) { return is_unsigned(self.value); })
      .def("__hash__", [](const Dtype& self) { return static_cast<int>(self.value); });
  m.def("dtype_named", [](const std::string& name) -> nb::object {
    const auto found = dtype_from_name(name);
    return found ? nb::cast(Dtype{*found}) : nb::none();
  });
  m.def("promote", [](const Dtype& a, const Dtype& b) { return Dtype{promote(a.value, b.value)}; });
  m.def("set_hooks", [](nb::object array, nb::object dtype, nb::object default_device) {
    hooks() = {std::move(array), std::move(dtype), std::move(default_device)};
  });
  m.def("version", [] { return std::string(version()); });

  nb::class_<Device>(
      m, "Device",
      "A GPU, or a software stand-in for one. `with device:` makes it the default one.")
      .def(
          "__init__",
          [](Device* self, nb::handle adapter, bool safe, bool check_indices) {
            const std::string wanted =
                adapter.is_none() ? std::string() : nb::cast<std::string>(nb::str(adapter));
            const Working lock;
            new (self) Device(
                DeviceChoice{.adapter = wanted, .safe = safe, .check_indices = check_indices});
            note_device();
          },
          nb::arg("adapter") = nb::none(), nb::arg("safe") = false,
          nb::arg("check_indices") = false,
          nb::sig("def __init__(self, adapter: str | int | None = None, safe: bool = False, "
                  "check_indices: bool = False) -> None"),
          "Opens the best adapter of this machine, or the one that is named: by its index, by a "
          "part of its name, "
          "\"high-performance\" or \"low-power\". With `safe`, every check of WebGPU is on. "
          "With `check_indices`, indices out of range are an error of the next call that reads or "
          "waits.")
      .def(
          "__eq__",
          [](const Device& self, nb::handle other) {
            return nb::isinstance<Device>(other) && id_of(self) == id_of(nb::cast<Device>(other));
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const Device& self) { return static_cast<std::int64_t>(id_of(self) >> 4); })
      .def_prop_ro("name", &Device::name, "The adapter's name.")
      .def_prop_ro("is_software", &Device::is_software,
                   "Whether this is a CPU that stands in for a GPU.")
      .def(
          "synchronize",
          [](const Device& self) { wait_for([device = self] { device.synchronize(); }); },
          "Waits until everything queued is done.");
}

nb::class_<Array> add_tensor(nb::module_& m) {
  m.def("upload", &upload);
  nb::class_<Array> tensor(m, "Tensor", nb::dynamic_attr(), nb::is_weak_referenceable(),
                           "An array on a device, or an expression that will be one: operations "
                           "are noted down, and run when a value is asked for.\n\n"
                           "weft.array() makes one. Assigning to elements, and operators such as "
                           "+=, change what this object stands for; other "
                           "tensors that were made from it keep their values, because there are no "
                           "views that share memory.");
  tensor
      .def_prop_ro(
          "shape", [](const Array& self) { return shape_tuple(self.now); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "The extents of all dimensions.")
      .def_prop_ro(
          "dtype", [](const Array& self) { return Dtype{self.now.dtype()}; },
          "The type of the elements.")
      .def_prop_ro(
          "ndim", [](const Array& self) { return self.now.shape().size(); },
          "The number of dimensions.")
      .def_prop_ro(
          "size", [](const Array& self) { return self.now.size(); }, "The number of elements.")
      .def_prop_ro(
          "device", [](const Array& self) { return self.now.device(); }, "Where the tensor lies.")
      .def_prop_ro(
          "is_variable", [](const Array& self) { return static_cast<bool>(self.variable); },
          "Whether the tensor was made by weft.variable().")
      .def(
          "eval",
          [](nb::handle self) {
            const Tensor now = nb::cast<Array&>(self).now;
            {
              const Working lock;
              now.eval();
            }
            pace(now.device());
            return nb::borrow(self);
          },
          nb::sig("def eval(self) -> Tensor"),
          "Computes the tensor now, without waiting for the device; gives the tensor itself.")
      .def("_host", &host)
      .def("_text",
           [](const Array& self) {
             const Tensor now = self.now;
             const Working lock;
             return now.to_string();
           })
      .def("_replace",
           [](nb::handle self, nb::handle value) {
             const Building lock;
             replace(self, tensor_of(value, {"__setitem__", "value"}), "__setitem__");
           })
      .def("_same", [](const Array& self, const Array& other) { return self.now.is(other.now); })
      .def("_row", &row_of)
      .def("_product", &product_of)
      .def("_handle", [](const Array& self) { return wrap(self.now); })
      .def("_alias", [](const Array& self) {
        const Building lock;
        return wrap(alias(self.now));
      });
  return tensor;
}

}  // namespace weft::python
