// The plug-in and the ggml that it is loaded into: what it takes that ggml for, and which it
// refuses.
#include <ggml.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/format.hpp"
#include "card_memory.hpp"
#include "layout.hpp"
#include "op_names.hpp"
#include "pci.hpp"
#include "process.hpp"

namespace weft::test {
namespace {

TEST(GgmlHost, DescribesTheInterfaceOfThePinnedRelease) {
  const Layout described = described_layout();
  const Layout pinned = pinned_layout();
  ASSERT_EQ(described.size(), pinned.size());
  for (std::size_t i = 0; i < pinned.size(); ++i) {
    EXPECT_EQ(described[i].first, pinned[i].first);
    EXPECT_EQ(described[i].second, pinned[i].second) << pinned[i].first;
  }
}

TEST(GgmlHost, NamesTheOperationsAsThePinnedReleaseDoes) {
  for (std::size_t i = 0; i < plugin::op_names.size(); ++i) {
    EXPECT_EQ(plugin::op_names.at(i), ggml_op_name(static_cast<ggml_op>(i)));
  }
}

TEST(GgmlHost, TellsCardsApartByTheirPlaceOnTheBus) {
  namespace fs = std::filesystem;
  const fs::path bus = fs::path(testing::TempDir()) / "weft-pci";
  fs::remove_all(bus);
  const auto card = [&](const char* address, const char* vendor, const char* model) {
    fs::create_directories(bus / address);
    std::ofstream(bus / address / "vendor") << vendor << '\n';
    std::ofstream(bus / address / "device") << model << '\n';
  };
  card("0000:C1:00.0", "0x10de", "0x2335");
  card("0000:01:00.0", "0x10de", "0x2335");
  card("0000:00:02.0", "0x8086", "0x2335");
  EXPECT_EQ(plugin::pci_address(bus, 0x10de, 0x2335, 0), "0000:01:00.0");
  EXPECT_EQ(plugin::pci_address(bus, 0x10de, 0x2335, 1), "0000:c1:00.0");
  EXPECT_EQ(plugin::pci_address(bus, 0x10de, 0x2335, 2), "");
  EXPECT_EQ(plugin::pci_address(bus, 0x10de, 1, 0), "");
  EXPECT_EQ(plugin::pci_address(bus, 0, 0, 0), "");
  EXPECT_EQ(plugin::pci_address(bus / "none", 0x10de, 0x2335, 0), "");
  fs::remove_all(bus);
}

TEST(GgmlHost, TwoEqualCardsHaveMemoryOfTheirOwn) {
  namespace fs = std::filesystem;
  const fs::path bus = fs::path(testing::TempDir()) / "weft-pci-memory";
  fs::remove_all(bus);
  const auto card = [&](const char* address, const char* total, const char* used) {
    fs::create_directories(bus / address);
    std::ofstream(bus / address / "mem_info_vram_total") << total << '\n';
    std::ofstream(bus / address / "mem_info_vram_used") << used << '\n';
  };
  card("0000:01:00.0", "1000", "900");
  card("0000:c1:00.0", "1000", "300");
  card("0000:c2:00.0", "1000", "1001");
  fs::create_directories(bus / "0000:c3:00.0");
  const auto free_of = [&](const char* address) {
    const auto figures = plugin::amd_memory(bus, address);
    return figures && figures->total == 1000 ? static_cast<int>(figures->free) : -1;
  };
  EXPECT_EQ(free_of("0000:01:00.0"), 100);
  EXPECT_EQ(free_of("0000:c1:00.0"), 700);
  EXPECT_EQ(free_of("0000:c2:00.0"), 0);   // More in use than there is: none is free.
  EXPECT_EQ(free_of("0000:c3:00.0"), -1);  // Not one of AMD's.
  EXPECT_EQ(free_of("0000:c4:00.0"), -1);
  EXPECT_EQ(free_of(""), -1);
  fs::remove_all(bus);
}

TEST(GgmlHost, AsksTheDriverForTheCardAtItsPlace) {
  const auto free_of = [](const char* address, const char* name) {
    const auto figures = plugin::nvidia_memory(WEFT_FAKE_NVML, address, name);
    return figures ? static_cast<int>(figures->free) : -1;
  };
  EXPECT_EQ(free_of("0000:01:00.0", "NVIDIA Model A"), 100);
  EXPECT_EQ(free_of("0000:c1:00.0", "NVIDIA Model A"), 700);
  EXPECT_EQ(free_of("0000:c5:00.0", "NVIDIA Model A"), -1);
  EXPECT_EQ(free_of("", "NVIDIA Model A"), -1);  // Which of the two is not known.
  EXPECT_EQ(free_of("", "NVIDIA Model B (driver 1.2)"), 50);
  EXPECT_FALSE(plugin::nvidia_memory("libweft-none.so.1", "0000:01:00.0", "NVIDIA Model A"));
}

/// What a program with another ggml is told; the first word is the API number of the plug-in, or
/// "refused".
std::string told(const std::string& kind) {
  return run_command(formatted("{} {} {} 2>&1", WEFT_FAKE_HOST, WEFT_PLUGIN, kind)).text;
}

TEST(GgmlHost, RefusesAGgmlThatCountsOtherwise) {
  EXPECT_EQ(told("swapped"),
            "weft: The program's ggml 0.99 counts its operations otherwise than the releases that "
            "Weft was built for: operation 6 is MUL there and SUB here.\nrefused\n");
  EXPECT_EQ(told("short"),
            "weft: The program's ggml 0.99 counts its operations otherwise than the releases that "
            "Weft was built for: operation 90 is none there and DSV4_HC_POST here.\nrefused\n");
}

TEST(GgmlHost, RefusesAGgmlThatIsTooOld) {
  const std::string text = run_command(formatted("{} {}", WEFT_OLD_HOST, WEFT_PLUGIN)).text;
  EXPECT_EQ(
      text,
      "weft: The program's ggml of an unknown release has no function ggml_log_get; Weft needs "
      "ggml 0.24 or later.\nrefused\n");
}

TEST(GgmlHost, TakesTheApiNumberOfTheProgram) {
  EXPECT_TRUE(told("same").ends_with("2\n")) << told("same");
  const std::string text =
      run_command(formatted("{} {} same 2>&1", WEFT_FAKE_HOST_3, WEFT_PLUGIN)).text;
  EXPECT_TRUE(text.ends_with("3\n")) << text;
}

}  // namespace
}  // namespace weft::test
