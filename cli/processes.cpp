#include "processes.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "commands.hpp"

namespace weft::cli {
namespace {

/// The module lies beside the program where it was built, in the library folder where it is
/// installed.
std::string module_path() {
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path built = folder / "libweft-mpi.so";
  return std::filesystem::exists(built) ? built : folder / WEFT_MODULE_FOLDER / "libweft-mpi.so";
}

}  // namespace

Processes Processes::join() {
  Processes processes;
  processes.exceptions_ = std::uncaught_exceptions();
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size == nullptr || std::atoi(size) < 2) return processes;
  // Stays open: MPI cannot be started twice, and its libraries do not like to be unloaded.
  const std::string path = module_path();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    throw CommandError(formatted(
        "mpirun started {} processes, but {} cannot be opened ({}); Weft is built with it "
        "where CMake finds MPI.",
        size, path, dlerror()));
  }
  const auto start = reinterpret_cast<MpiStart>(dlsym(library, "weft_mpi_start"));
  if (start == nullptr || start(&processes.module_) != 0) {
    throw CommandError(formatted("MPI does not start in {}.", path));
  }
  return processes;
}

Processes::Processes(Processes&& other) noexcept
    : module_(std::exchange(other.module_, {})), exceptions_(other.exceptions_) {}

Processes::~Processes() {
  if (module_.end != nullptr) module_.end(std::uncaught_exceptions() > exceptions_);
}

void Processes::sum(std::span<float> values) const {
  if (count() < 2) return;
  constexpr std::size_t most = std::size_t{1} << 20U;
  std::vector<float> all(std::min(most, values.size()) * count());
  while (!values.empty()) {
    const auto part = values.first(std::min(most, values.size()));
    if (module_.gather(part.data(), all.data(), static_cast<std::int32_t>(part.size())) != 0) {
      throw CommandError("The processes cannot exchange their gradients.");
    }
    std::copy_n(all.begin(), part.size(), part.begin());
    for (std::size_t rank = 1; rank < count(); ++rank) {
      const auto other = std::span(all).subspan(rank * part.size(), part.size());
      std::ranges::transform(part, other, part.begin(), std::plus<>());
    }
    values = values.subspan(part.size());
  }
}

}  // namespace weft::cli
