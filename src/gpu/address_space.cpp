#include "gpu/address_space.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace weft::gpu {
namespace {

/// Bytes that are mapped now; 0 where the system does not say.
std::uint64_t mapped_bytes() {
  unsigned long long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const bool read = std::fscanf(file, "%llu", &pages) == 1;
  std::fclose(file);
  return read ? pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

Status check_address_space(std::uint64_t bytes, std::string_view what) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  const std::uint64_t mapped = mapped_bytes();
  const std::uint64_t left = limit.rlim_cur > mapped ? limit.rlim_cur - mapped : 0;
  if (bytes <= left) return {};
  return fail(
      ErrorCode::out_of_memory,
      "{} needs {} MB of address space, but the process is limited to {} MB (ulimit -v), of "
      "which {} MB are left.",
      what, bytes >> 20, limit.rlim_cur >> 20, left >> 20);
}

}  // namespace weft::gpu
