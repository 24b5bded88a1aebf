#pragma once

#include <cstdint>

// What libweft-mpi.so offers to the weft program, which opens it only when it was started by
// mpirun: the program itself does not need MPI.

namespace weft::cli {

/// A process among others.
struct MpiModule {
  int rank = 0;
  int count = 1;
  /// Puts the values of all processes one after the other into `all`; 0 when that worked.
  int (*gather)(const float* mine, float* all, std::int32_t values) = nullptr;
  /// The last call. After a failure the other processes are ended, too.
  void (*end)(bool failed) = nullptr;
};

/// The one exported function, named weft_mpi_start: joins the other processes. Returns 0 when that
/// worked.
using MpiStart = int (*)(MpiModule*);

}  // namespace weft::cli
