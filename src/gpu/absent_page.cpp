#include "gpu/address_space.hpp"
#include "gpu/disk_cache.hpp"
#include "gpu/probe.hpp"
#include "gpu/tuned.hpp"

// In the place of address_space.cpp, disk_cache.cpp, probe.cpp and tuned.cpp, for pages: there a
// process has no limits that can be asked for, no disk, and no call that waits for a launch to be
// measured.

namespace weft::gpu {

Status check_address_space(std::uint64_t, std::string_view) { return {}; }
Status check_file_size(std::uint64_t, std::string_view) { return {}; }
Status check_descriptors(std::size_t, std::string_view) { return {}; }
Status check_threads(std::size_t, std::string_view) { return {}; }
std::size_t threads_to_open() { return 0; }

std::filesystem::path cache_directory(const std::filesystem::path&) { return {}; }

DiskCache::DiskCache(std::filesystem::path, std::uint64_t) : max_bytes_(0), usable_(false) {}
std::size_t DiskCache::load(std::span<const std::byte>, std::span<std::byte>) noexcept { return 0; }
void DiskCache::store(std::span<const std::byte>, std::span<const std::byte>) noexcept {}

Result<Traits> probe(Device, Traits, double) {
  return fail(ErrorCode::unsupported, "A page cannot find out what a device is good at.");
}

std::filesystem::path probed_file(const AdapterInfo&, const std::filesystem::path&) { return {}; }

Status store_tuned(const AdapterInfo&, const Traits&, const std::filesystem::path& file) {
  return fail(ErrorCode::unsupported, "A page keeps no traits of devices, in {} or elsewhere.",
              file.string());
}

Result<std::optional<Traits>> load_tuned(const AdapterInfo&, const std::string& setting,
                                         const std::filesystem::path&) {
  if (setting.empty() || setting == "off" || setting == "probe") return std::nullopt;
  return fail(ErrorCode::unsupported,
              "WEFT_TUNE is \"{}\", but traits of devices are not read from files in a page.",
              setting);
}

}  // namespace weft::gpu
