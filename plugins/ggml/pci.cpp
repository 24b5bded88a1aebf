#include "pci.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <vector>

namespace weft::plugin {
namespace {

/// The number in a file such as "0x10de".
std::uint32_t number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::uint32_t number = 0;
  return file >> std::hex >> number ? number : 0;
}

}  // namespace

std::string pci_address(const std::filesystem::path& devices, std::uint32_t vendor,
                        std::uint32_t model, std::size_t before) {
  if (vendor == 0 || model == 0) return {};
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(devices, error)) {
    if (number_in(entry.path() / "vendor") == vendor &&
        number_in(entry.path() / "device") == model) {
      found.push_back(entry.path().filename().string());
    }
  }
  std::ranges::sort(found);  // The order in which drivers number cards of one model.
  if (before >= found.size()) return {};
  std::string address = found[before];
  std::ranges::transform(address, address.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return address;
}

}  // namespace weft::plugin
