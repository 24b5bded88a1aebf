#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace weft::plugin {

/// Where the kernel lists the devices of the PCI bus.
inline const std::filesystem::path pci_devices = "/sys/bus/pci/devices";

/// The address of a card on the PCI bus, such as "0000:01:00.0": of those in `devices` with these
/// numbers of vendor and model, the one that has `before` others before it. Empty where there is
/// none. Programs tell by it that two backends offer the same GPU.
std::string pci_address(const std::filesystem::path& devices, std::uint32_t vendor,
                        std::uint32_t model, std::size_t before);

}  // namespace weft::plugin
