#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace weft::plugin {

/// Free and total bytes of a device's memory.
struct MemoryFigures {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

/// What NVIDIA's management library, which is part of the driver and knows what all processes use,
/// says of the card at a place on the PCI bus. Where the place is not known (empty), the card with
/// this name, if there is only one: of two equal ones it would be a guess.
std::optional<MemoryFigures> nvidia_memory(const char* library, const std::string& address,
                                           const std::string& name);

/// What the kernel says of the memory of AMD's card at a place, among the `devices` of the bus.
std::optional<MemoryFigures> amd_memory(const std::filesystem::path& devices,
                                        const std::string& address);

}  // namespace weft::plugin
