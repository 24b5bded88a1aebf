#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include <weft/weft.hpp>

// What is run with failing calls: each scenario holds a device and what lives on it, and can be run
// again and again.

namespace weft::test {

/// Whether everything is to be run (`./weft test --full` sets WEFT_FULL) or a sample.
bool full();

/// Something to run. A run gives numbers, the same ones every time, or throws.
struct Scenario {
  std::string name;
  Device device;
  std::function<std::vector<float>()> run;
  /// Lets what it needs survive a loss of the device.
  std::function<void()> keep = [] {};
};

/// A compiled function that is called with new inputs.
Scenario inference();
/// One step of a small network: loss, gradients, updates of its variables, from the same values
/// each time.
Scenario training();
/// A function that is compiled anew in every run, and a kernel whose text nobody has seen before.
Scenario compiling();
/// Tensors of several sizes that are made from values of the host.
Scenario uploading();
/// Tensors of several sizes that are read whole.
Scenario reading();
/// Four threads that call one compiled function at the same time.
Scenario threads();
/// A model in ONNX's format, which is kept (its weights come back by themselves), and one that is
/// read anew in every run.
Scenario models();
/// A device that was lost, and a function on it.
Scenario recovering();
/// Tensors of files of both kinds, as they come and added up.
Scenario loading(const std::filesystem::path& folder);

/// From now on the allocations of this thread are counted, and one of them fails (0: none).
void count_allocations(std::uint64_t number);
/// Ends that, and gives their number.
std::uint64_t counted_allocations();

/// What a process holds: open descriptors and threads.
struct Held {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
};
Held held();

/// Bytes of memory that the process has in use.
std::uint64_t resident_bytes();

}  // namespace weft::test
