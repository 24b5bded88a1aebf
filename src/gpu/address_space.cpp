#include "gpu/address_space.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

namespace weft::gpu {
namespace {

struct Used {
  std::uint64_t mapped = 0;
  std::uint64_t data = 0;
};

/// Bytes that are mapped now, and those of them that are the process's own to write; 0 where the
/// system does not say.
Used used_bytes() {
  unsigned long long mapped = 0;
  unsigned long long data = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return {};
  const bool read = std::fscanf(file, "%llu %*u %*u %*u %*u %llu", &mapped, &data) == 2;
  std::fclose(file);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return read ? Used{mapped * page, data * page} : Used{};
}

bool is_limited(int resource, rlimit& limit) {
  return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

Status check_address_space(std::uint64_t bytes, std::string_view what) {
  const auto refused = [&](const rlimit& limit, std::uint64_t needed, std::uint64_t used,
                           const char* kind, char letter) -> Status {
    const std::uint64_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
    if (needed <= left) return {};
    return fail(
        ErrorCode::out_of_memory,
        "{} needs {} MB of {}, but the process is limited to {} MB (ulimit -{}), of which {} "
        "MB are left.",
        what, needed >> 20, kind, limit.rlim_cur >> 20, letter, left >> 20);
  };
  rlimit space{};
  rlimit data{};
  const bool by_space = is_limited(RLIMIT_AS, space);
  const bool by_data = is_limited(RLIMIT_DATA, data);
  if (!by_space && !by_data) return {};
  const Used used = used_bytes();
  if (by_space) {
    if (Status room = refused(space, bytes, used.mapped, "address space", 'v'); !room) return room;
  }
  // About a quarter of what is mapped is memory to write to; the rest are libraries, and files of
  // the driver.
  if (by_data) return refused(data, bytes / 4, used.data, "memory", 'd');
  return {};
}

Status check_file_size(std::uint64_t bytes, std::string_view what) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur) return {};
  return fail(ErrorCode::out_of_memory,
              "{} may take {} KB of a file in memory, but files of this process are limited to {} "
              "KB (ulimit -f).",
              what, bytes >> 10, limit.rlim_cur >> 10);
}

Status check_descriptors(std::size_t count, std::string_view what) {
  std::vector<int> opened;
  opened.reserve(count);
  while (opened.size() < count) {
    const int one = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (one < 0) break;
    opened.push_back(one);
  }
  const bool refused = opened.size() < count && (errno == EMFILE || errno == ENFILE);
  for (const int one : opened) ::close(one);
  if (!refused) return {};
  return fail(ErrorCode::out_of_memory,
              "{} needs up to {} more files, but this process may open only {} (ulimit -n).", what,
              count, opened.size());
}

#ifdef __EMSCRIPTEN__
Status check_threads(std::size_t /*count*/, std::string_view /*what*/) { return {}; }
#else
Status check_threads(std::size_t count, std::string_view what) {
  // Limits can be set in several ways and are shared with other processes, so all of them are
  // started.
  std::latch release(1);
  std::vector<std::jthread> threads;
  threads.reserve(count);
  // Whatever ends this function lets them go before it waits for them: the host may have no memory
  // left for a thread.
  struct Release {
    std::latch& latch;
    ~Release() { latch.count_down(); }
  } const at_the_end{release};
  try {
    while (threads.size() < count) threads.emplace_back([&release] { release.wait(); });
  } catch (const std::system_error& error) {
    return fail(ErrorCode::out_of_memory,
                "{} needs up to {} threads, but the system lets this process start only {} ({}; "
                "ulimit -u, or the limit of a container).",
                what, count, threads.size(), error.code().message());
  }
  return {};
}
#endif

std::size_t threads_to_open() { return 16 + std::thread::hardware_concurrency(); }

}  // namespace weft::gpu
