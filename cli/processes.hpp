#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "mpi_module.hpp"

namespace weft::cli {

/// The processes that train one model together, as mpirun started them; a process by itself is one
/// of one.
class Processes {
 public:
  /// Joins the others. Throws CommandError where mpirun started this process, but Weft was built
  /// without MPI.
  static Processes join();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  Processes(Processes&& other) noexcept;
  Processes& operator=(Processes&&) = delete;
  /// Leaves; when an error is under way, the other processes are ended.
  ~Processes();

  [[nodiscard]] std::uint64_t rank() const { return static_cast<std::uint64_t>(module_.rank); }
  [[nodiscard]] std::uint64_t count() const { return static_cast<std::uint64_t>(module_.count); }
  /// Replaces values by their sums over all processes, added in the order of the ranks: every
  /// process gets the same bits, in every run.
  void sum(std::span<float> values) const;

 private:
  Processes() = default;
  MpiModule module_;
  int exceptions_ = 0;  ///< That were under way when this was made.
};

}  // namespace weft::cli
