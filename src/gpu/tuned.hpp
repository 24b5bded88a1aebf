#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "gpu/gpu.hpp"

namespace weft::gpu {

/// What is found out about devices, by `weft tune` and by a short look at unknown ones (probe.hpp):
/// a file for each device, driver, version of Weft and its lists of tiles, which holds their names
/// and the traits. A file that cannot be read, or that is about something else, is as good as none.

/// Where the traits of an adapter are kept; empty where nothing is kept on disk.
std::filesystem::path tuned_file(const AdapterInfo& info, const std::filesystem::path& cache);
/// The same for what a probe found, which counts where nothing was tuned.
std::filesystem::path probed_file(const AdapterInfo& info, const std::filesystem::path& cache);

/// What a probe found and kept, if one did.
std::optional<Traits> load_probed(const AdapterInfo& info, const std::filesystem::path& cache);

/// Whether a file can be written, before anything is found out that it is for.
Status can_store(const std::filesystem::path& file);
Status store_tuned(const AdapterInfo& info, const Traits& traits,
                   const std::filesystem::path& file);

/// What a file says, whatever device it was made on, over what is known. One that begins with the
/// name of its device must have been made with this version's lists of tiles.
Result<Traits> read_tuned(const std::filesystem::path& file, const Traits& known);

/// The traits that an adapter has been tuned to, or that a probe found, if any. `setting` is
/// WEFT_TUNE: empty, "off", "probe", with which nothing is read either, or the file to read, which
/// must be there and right then, whatever device it was made on.
Result<std::optional<Traits>> load_tuned(const AdapterInfo& info, const std::string& setting,
                                         const std::filesystem::path& cache);

}  // namespace weft::gpu
