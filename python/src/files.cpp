#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "convert.hpp"
#include "wait.hpp"

namespace weft::python {
namespace {

void save_file(const std::string& path, const nb::dict& tensors,
               const std::map<std::string, std::string>& texts) {
  NamedTensors contents;
  contents.texts = texts;
  for (const auto& [key, value] : tensors) {
    contents.tensors[text_of(key, {"save", "tensors"})] = tensor_of(value, {"save", "tensors"});
  }
  const Working lock;
  save(path, contents);
}

nb::tuple load_file(const Device& device, const std::string& path) {
  NamedTensors contents;
  {
    const Working lock;
    contents = load(device, path);
  }
  nb::dict tensors;
  for (const auto& [key, tensor] : contents.tensors) tensors[text_from_file(key)] = wrap(tensor);
  nb::dict texts;
  for (const auto& [key, text] : contents.texts) {
    texts[text_from_file(key)] = text_from_file(text);
  }
  return nb::make_tuple(tensors, texts);
}

Kernel make_kernel(const Device& device, const std::string& wgsl, const std::vector<bool>& writes,
                   const std::string& entry, const std::string& label, std::uint32_t scalars,
                   const std::vector<std::pair<std::string, double>>& constants) {
  const Working lock;
  return device.kernel({.wgsl = wgsl,
                        .label = label,
                        .entry = entry,
                        .writes = writes,
                        .scalars = scalars,
                        .constants = constants});
}

void run_kernel(const Kernel& self, nb::handle tensors, nb::handle workgroups, nb::handle scalars) {
  const std::vector<Tensor> given = tensors_of(tensors, {"Kernel", "tensors"});
  std::vector<std::uint32_t> grid = words_of(workgroups, {"Kernel", "workgroups"});
  if (grid.empty() || grid.size() > 3)
    raise_value("`workgroups` of Kernel() has " + std::to_string(grid.size()) +
                " numbers; there are 1 to 3.");
  grid.resize(3, 1);
  const std::vector<std::uint32_t> words = words_of(scalars, {"Kernel", "scalars"});
  const Working lock;
  self.run(given, {grid[0], grid[1], grid[2]}, words);
}

}  // namespace

void add_files(nb::module_& m) {
  m.def("save", &save_file);
  m.def("load", &load_file);
  m.def("is_lost", [](const Device& device) { return is_lost(device); });
  m.def("recover", [](const Device& device) {
    const Working lock;
    recover(device);
  });
  m.def("recover_automatically", [](const Device& device) { recover_automatically(device); });
  m.def("set_watchdog",
        [](const Device& device, double seconds) { set_watchdog(device, seconds); });
  m.def("keep", [](nb::handle tensor) {
    const Tensor kept = tensor_of(tensor, {"keep", "x"});
    wait_for([kept] { keep(kept); });
  });
  nb::class_<Kernel>(m, "Kernel").def("run", &run_kernel);
  m.def("kernel", &make_kernel);
}

}  // namespace weft::python
