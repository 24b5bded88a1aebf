// The table of known devices: which row an adapter gets, and what a row leaves of another device.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "device/profile_text.hpp"
#include "device/profiles.hpp"

namespace weft {
namespace {

const Profile& row(std::string_view name) {
  return *std::ranges::find(profiles(), name, &Profile::name);
}

std::string_view found(const AdapterFacts& facts) {
  const Profile* profile = find_profile(facts);
  return profile == nullptr ? "none" : profile->name;
}

TEST(Profiles, AdaptersFindTheirRows) {
  EXPECT_EQ(found({"software", "mesa", "software", "llvmpipe (LLVM 21.1.8, 256 bits)"}),
            "software");
  EXPECT_EQ(found({"software", "google", "swiftshader", "SwiftShader Device"}), "swiftshader");
  EXPECT_EQ(found({"software", "google", "", ""}), "software");
  EXPECT_EQ(found({"discrete", "nvidia", "hopper", "NVIDIA H200"}), "h200");
  EXPECT_EQ(found({"discrete", "nvidia", "hopper", "NVIDIA H100 PCIe"}), "hopper");
  EXPECT_EQ(found({"discrete", "nvidia", "ampere", "NVIDIA GeForce RTX 3070"}), "geforce");
  EXPECT_EQ(found({"integrated", "apple", "metal-3", "Apple M2"}), "apple");
  EXPECT_EQ(found({"integrated", "apple", "metal-3", "Apple M3 Max"}), "apple-max");
  EXPECT_EQ(found({"discrete", "amd", "rdna-3", "AMD Radeon RX 7800 XT"}), "rdna3");
  EXPECT_EQ(found({"discrete", "amd", "rdna-2", "AMD Radeon RX 6700"}), "amd");
  EXPECT_EQ(found({"discrete", "intel", "xe-2hpg", "Intel(R) Arc(tm) B580"}), "xe2");
  EXPECT_EQ(found({"integrated", "intel", "gen-12lp", "Intel(R) Xe"}), "intel");
  EXPECT_EQ(found({"integrated", "qualcomm", "adreno-7xx", "Adreno (TM) 740"}), "adreno");
  EXPECT_EQ(found({"integrated", "arm", "valhall", "Mali-G715"}), "mali");
  // A browser may tell nothing but a vendor.
  EXPECT_EQ(found({"unknown", "Apple", "", ""}), "apple");
  EXPECT_EQ(found({"discrete", "imagination", "", "some card"}), "none");
}

TEST(Profiles, DevicesThatNobodyMeasuredAreProbed) {
  EXPECT_FALSE(needs_probe({"discrete", "nvidia", "hopper", "NVIDIA H200"}));
  EXPECT_FALSE(needs_probe({"software", "mesa", "software", "llvmpipe (LLVM 21.1.8, 256 bits)"}));
  EXPECT_TRUE(needs_probe({"discrete", "nvidia", "hopper", "NVIDIA H100 PCIe"}));
  EXPECT_TRUE(needs_probe({"discrete", "nvidia", "ampere", "NVIDIA GeForce RTX 3070"}));
  EXPECT_TRUE(needs_probe({"integrated", "apple", "metal-3", "Apple M2"}));
  EXPECT_TRUE(needs_probe({"discrete", "imagination", "", "some card"}));
  for (const Profile& profile : profiles()) {
    EXPECT_EQ(profile.measured, profile.why.starts_with("measured")) << profile.name;
  }
}

TEST(Profiles, UnknownDevicesAreEstimatedByTheirKind) {
  const Caps caps;
  const Traits card = traits_for({"discrete", "nobody", "", "card"}, caps);
  const Traits chip = traits_for({"integrated", "nobody", "", "chip"}, caps);
  EXPECT_GT(card.processors, chip.processors);
  EXPECT_FALSE(card.slow_barriers);
  EXPECT_EQ(traits_for({"discrete", "nvidia", "hopper", "NVIDIA H200"}, caps),
            row("h200").caps.traits);
  Caps small;
  small.workgroup_invocations = 128;
  const Traits phone = traits_for({"integrated", "nobody", "", "chip"}, small);
  EXPECT_TRUE(phone.slow_compile);
  EXPECT_EQ(phone.registers, 64U);
  Caps units;
  units.subgroup_matrix = true;
  EXPECT_NE(traits_for({"integrated", "nobody", "", "chip"}, units).matrix_rate, chip.matrix_rate);
}

TEST(Profiles, NumbersOfWorkgroupsFollowTheProcessors) {
  const Traits& large = row("h200").caps.traits;
  EXPECT_EQ(large.groups(2), 264U);
  EXPECT_EQ(large.fill(2), 256U);
  EXPECT_EQ(large.fill(16), 2048U);
  EXPECT_EQ(row("software").caps.traits.fill(16), 4U);  // one workgroup at a time on each core
}

TEST(Profiles, RowsHaveNamesReasonsAndCapsThatAgree) {
  std::set<std::string_view> names;
  for (const Profile& profile : profiles()) {
    EXPECT_TRUE(names.insert(profile.name).second) << profile.name;
    EXPECT_FALSE(profile.why.empty()) << profile.name;
    const Caps& caps = profile.caps;
    EXPECT_EQ(caps.subgroup_matrix, !caps.matrix_configs.empty()) << profile.name;
    EXPECT_EQ(caps.subgroups, caps.subgroup_min > 0) << profile.name;
    EXPECT_LE(caps.subgroup_min, caps.subgroup_max) << profile.name;
    EXPECT_LE(caps.max_binding, caps.max_buffer) << profile.name;
    EXPECT_GE(caps.workgroup_invocations, 128U) << profile.name;
    EXPECT_GT(caps.traits.processors, 0U) << profile.name;
  }
}

TEST(Profiles, MatricesNameTheSubgroupsThatTheyWorkWith) {
  constexpr MatrixConfig square{MatrixType::f16, MatrixType::f32, 16, 16, 16};
  constexpr MatrixConfig flat{MatrixType::f16, MatrixType::f32, 8, 16, 16};
  Caps caps;
  caps.subgroups = caps.subgroup_matrix = caps.subgroup_control = true;
  caps.subgroup_min = 16;
  caps.subgroup_max = 64;
  const AdapterFacts radeon{"discrete", "amd", "rdna-3", "AMD Radeon RX 7800 XT"};
  const AdapterFacts arc{"discrete", "intel", "xe-2hpg", "Intel(R) Arc(tm) B580"};
  const AdapterFacts other{"discrete", "nobody", "", "card"};
  EXPECT_EQ(matrix_subgroup(radeon, caps, square), 32U);
  EXPECT_EQ(matrix_subgroup(arc, caps, flat), 16U);
  EXPECT_EQ(matrix_subgroup(other, caps, flat), 32U);
  // Alchemist, which is in no row with matrices.
  const AdapterFacts alchemist{"discrete", "intel", "gen-12hp", "Intel(R) Arc(tm) A770 Graphics"};
  caps.subgroup_min = 8;
  EXPECT_EQ(matrix_subgroup(alchemist, caps, {MatrixType::f16, MatrixType::f32, 8, 8, 16}), 8U);
  caps.subgroup_min = 16;
  caps.subgroup_control = false;
  EXPECT_EQ(matrix_subgroup(radeon, caps, square), 0U);  // nobody could ask for them
  caps.subgroup_min = caps.subgroup_max = 8;
  EXPECT_EQ(matrix_subgroup(other, caps, square), 8U);
  EXPECT_EQ(subgroup_of(caps, square), 8U);
  caps.subgroup_max = 32;
  EXPECT_EQ(subgroup_of(caps, square), 0U);
  for (const Profile& profile : profiles()) {
    for (const MatrixConfig& config : profile.caps.matrix_configs) {
      EXPECT_EQ(subgroup_of(profile.caps, config), config.subgroup) << profile.name;
    }
  }
}

TEST(Profiles, RowsAreWrittenAsCpp) {
  Caps caps = row("rdna3").caps;
  caps.traits = Traits{};
  caps.traits.processors = 60;
  caps.traits.slow_scatter = true;
  caps.traits.f16_rate = 2;
  caps.matrix_configs.resize(2);
  Profile card{"radeon", "discrete", "amd", "rdna-3", "a \"card\"", "measured", caps};
  EXPECT_EQ(
      row_text(card),
      "{\"radeon\", \"discrete\", \"amd\", \"rdna-3\", \"a \\\"card\\\"\", \"measured\",\n"
      " with_matrices(caps_of(Traits{.processors = 60, .slow_scatter = 1, .f16_rate = 2}, 32, "
      "64, 2147483648, 32768, 1024), {{f16, f32, 16, 16, 16, 32}, {f16, f16, 16, 16, 16, "
      "32}})},\n");
  card.caps = row("old").caps;
  card.caps.traits = Traits{};
  EXPECT_TRUE(row_text(card).ends_with("\n plain(Traits{})},\n")) << row_text(card);
  card.measured = true;
  EXPECT_TRUE(row_text(card).ends_with("\n plain(Traits{}), true},\n")) << row_text(card);
}

TEST(Profiles, AProfileOnlyTakesAway) {
  const Caps software = row("software").caps;
  const Result<Caps> rdna = apply_caps_mask(software, "profile=rdna3");
  ASSERT_TRUE(rdna);
  EXPECT_EQ(rdna->traits, row("rdna3").caps.traits);
  EXPECT_TRUE(rdna->f16);
  EXPECT_EQ(rdna->subgroup_min, 8U);    // what the device has …
  EXPECT_FALSE(rdna->subgroup_matrix);  // … and not what it has otherwise
  EXPECT_EQ(rdna->max_binding, software.max_binding);
  const Result<Caps> apple = apply_caps_mask(software, "profile=apple");
  ASSERT_TRUE(apple);
  ASSERT_EQ(apple->matrix_configs.size(), 1U);  // f16 into f16, with the device's own subgroups
  EXPECT_EQ(apple->matrix_configs[0].result, MatrixType::f16);
  EXPECT_EQ(apple->matrix_configs[0].subgroup, 8U);
  const Result<Caps> small = apply_caps_mask(software, "profile=compatibility");
  ASSERT_TRUE(small);
  EXPECT_FALSE(small->f16);
  EXPECT_FALSE(small->subgroups);
  EXPECT_EQ(small->workgroup_invocations, 128U);
  EXPECT_EQ(small->workgroup_bytes, 16U << 10);
  const Result<Caps> unknown = apply_caps_mask(software, "profile=voodoo2");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().message.contains("voodoo2")) << unknown.error().message;
  EXPECT_TRUE(unknown.error().message.contains("rdna3")) << unknown.error().message;
}

}  // namespace
}  // namespace weft
