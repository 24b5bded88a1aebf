// The plug-in and the ggml that it is loaded into: what it takes that ggml for, and which it
// refuses.
#include <ggml.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/format.hpp"
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
