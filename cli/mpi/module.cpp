#include "mpi_module.hpp"

#include <mpi.h>

namespace {

int gather(const float* mine, float* all, std::int32_t values) {
  return MPI_Allgather(mine, values, MPI_FLOAT, all, values, MPI_FLOAT, MPI_COMM_WORLD);
}

void end(bool failed) {
  if (failed) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  } else {
    MPI_Finalize();
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int weft_mpi_start(weft::cli::MpiModule* module) {
  // Other threads (of the device) never call MPI.
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &module->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &module->count);
  module->gather = gather;
  module->end = end;
  return 0;
}
