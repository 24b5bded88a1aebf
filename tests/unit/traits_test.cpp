// Traits as text, and the files that `weft tune` keeps.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/format.hpp"
#include "device/tile_lists.hpp"
#include "device/traits_text.hpp"
#include "gpu/tuned.hpp"
#include "ops/tile_families.hpp"

namespace weft {
namespace {

class TunedFiles : public testing::Test {
 protected:
  ~TunedFiles() override { std::filesystem::remove_all(folder_); }

  gpu::AdapterInfo adapter(std::string name) const {
    gpu::AdapterInfo info;
    info.name = std::move(name);
    info.driver = "driver 1";
    info.backend = "Vulkan";
    return info;
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / formatted("weft_tuned_{}", ::getpid());
};

TEST(Traits, TextAndBack) {
  Traits traits;
  traits.processors = 132;
  traits.slow_compile = true;
  traits.launch_bytes = (1ULL << 40) + 1;
  traits.memory_rate = 0.5;
  const auto read = parse_traits(text_of(traits), Traits{});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, traits);
  const auto some = parse_traits("items=4\n overlaps=0 ", traits);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->items, 4U);
  EXPECT_FALSE(some->overlaps);
  EXPECT_EQ(some->processors, 132U);
}

TEST(Traits, TheHashOfAllTilesIsThatOfTheLists) {
  EXPECT_EQ(tile_lists, ops::tile_lists_hash()) << formatted(
      "The lists of tiles changed: src/device/tile_lists.hpp must say {:#018x}, so "
      "that numbers which mean other tiles now are not taken from files.",
      ops::tile_lists_hash());
  for (const ops::TileFamily& family : ops::tile_families()) {
    EXPECT_EQ(family.tiles.size(), family.count) << family.name;
  }
}

TEST(Traits, WrongTextsAreErrorsWithTheWord) {
  for (const std::string_view text :
       {"speed=9", "items", "items=", "items=x", "items=-1", "items=0", "items=1.5", "processors=0",
        "processors=5e9", "processors=65537", "items=17", "memory_rate=2e6", "overlaps=2",
        "memory_rate=nan", "memory_rate=0", "=3"}) {
    const auto read = parse_traits(text, Traits{});
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument) << text;
  }
  EXPECT_TRUE(parse_traits("speed=9", {}).error().message.starts_with("\"speed=9\" is no trait"));
}

TEST_F(TunedFiles, AreFoundForTheirDeviceAlone) {
  Traits traits;
  traits.processors = 7;
  const gpu::AdapterInfo mine = adapter("one");
  const gpu::AdapterInfo other = adapter("two");
  gpu::AdapterInfo updated = mine;
  updated.driver = "driver 2";
  const auto file = gpu::tuned_file(mine, folder_);
  EXPECT_NE(file, gpu::tuned_file(other, folder_));
  ASSERT_TRUE(gpu::store_tuned(mine, traits, file));
  const auto found = [&](const gpu::AdapterInfo& info, const std::string& setting) {
    const auto loaded = gpu::load_tuned(info, setting, folder_);
    return loaded && *loaded ? (*loaded)->processors : 0;
  };
  EXPECT_EQ(found(mine, ""), 7U);
  EXPECT_EQ(found(mine, "off"), 0U);
  EXPECT_EQ(found(other, ""), 0U);
  EXPECT_EQ(found(updated, ""), 0U);
  EXPECT_EQ(found(other, file.string()), 7U);  // a file that is named counts anywhere
  EXPECT_TRUE(gpu::tuned_file(mine, {}).empty());
  // Numbers that were found out with other lists of tiles mean other tiles.
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  std::string other_lists = text.str();
  other_lists.replace(other_lists.find(formatted("{:016x}", tile_lists)), 16, 16, '0');
  std::ofstream(file) << other_lists;
  EXPECT_EQ(found(mine, ""), 0U);
}

TEST_F(TunedFiles, WhatAProbeFoundCountsWhereNothingWasTuned) {
  const gpu::AdapterInfo mine = adapter("one");
  Traits traits;
  traits.processors = 5;
  ASSERT_TRUE(gpu::store_tuned(mine, traits, gpu::probed_file(mine, folder_)));
  const auto found = [&](const std::string& setting) {
    const auto loaded = gpu::load_tuned(mine, setting, folder_);
    return loaded && *loaded ? (*loaded)->processors : 0;
  };
  EXPECT_EQ(found(""), 5U);
  EXPECT_EQ(found("off"), 0U);
  EXPECT_EQ(found("probe"), 0U);
  traits.processors = 7;
  ASSERT_TRUE(gpu::store_tuned(mine, traits, gpu::tuned_file(mine, folder_)));
  EXPECT_EQ(found(""), 7U);
}

TEST_F(TunedFiles, DamagedOnesAreIgnoredUnlessTheyAreNamed) {
  const gpu::AdapterInfo mine = adapter("one");
  const auto file = gpu::tuned_file(mine, folder_);
  ASSERT_TRUE(gpu::store_tuned(mine, Traits{}, file));
  std::ofstream(file, std::ios::app) << "nonsense\n";
  const auto loaded = gpu::load_tuned(mine, "", folder_);
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->has_value());
  const auto named = gpu::load_tuned(mine, file.string(), folder_);
  ASSERT_FALSE(named);
  EXPECT_TRUE(named.error().message.contains("nonsense")) << named.error().message;
  EXPECT_FALSE(gpu::load_tuned(mine, (folder_ / "missing").string(), folder_));
}

TEST_F(TunedFiles, NamedOnesMustHaveTheSameTilesOrBeWrittenByHand) {
  const gpu::AdapterInfo mine = adapter("one");
  const auto file = folder_ / "named";
  ASSERT_TRUE(gpu::store_tuned(mine, Traits{}, file));
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  std::string other_lists = text.str();
  other_lists.replace(other_lists.find(formatted("{:016x}", tile_lists)), 16, 16, '0');
  std::ofstream(file) << other_lists;
  const auto other = gpu::load_tuned(mine, file.string(), folder_);
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().message.contains("another version")) << other.error().message;
  EXPECT_TRUE(other.error().message.contains("named")) << other.error().message;
  std::ofstream(file) << "processors=3\nitems=2\n";
  const auto by_hand = gpu::load_tuned(mine, file.string(), folder_);
  const Traits some = by_hand && *by_hand ? **by_hand : Traits{};
  EXPECT_EQ(some.processors, 3U);
  EXPECT_EQ(some.items, 2U);
}

TEST_F(TunedFiles, WhetherOneCanBeWrittenIsKnownBefore) {
  const auto file = folder_ / "new" / "file";
  ASSERT_TRUE(gpu::can_store(file));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_TRUE(std::filesystem::is_empty(file.parent_path()));
  const Status folder = gpu::can_store(folder_);
  ASSERT_FALSE(folder);
  EXPECT_TRUE(folder.error().message.contains("no plain file")) << folder.error().message;
  ASSERT_TRUE(gpu::store_tuned(adapter("one"), Traits{}, file));
  EXPECT_TRUE(gpu::can_store(file));
  const Status below = gpu::can_store(file / "below");
  ASSERT_FALSE(below);
  EXPECT_TRUE(below.error().message.contains("Not a directory")) << below.error().message;
}

TEST_F(TunedFiles, NobodyElseCanWriteThemAndNoPipeIsWaitedFor) {
  const gpu::AdapterInfo mine = adapter("one");
  const auto file = gpu::tuned_file(mine, folder_ / "new");
  const mode_t before = ::umask(0);
  const Status stored = gpu::store_tuned(mine, Traits{}, file);
  ::umask(before);
  ASSERT_TRUE(stored) << stored.error().message;
  const auto mode_of = [](const std::filesystem::path& path) {
    return std::filesystem::status(path).permissions() & std::filesystem::perms::mask;
  };
  EXPECT_EQ(mode_of(file) & std::filesystem::perms(022), std::filesystem::perms::none);
  EXPECT_EQ(mode_of(file.parent_path()), std::filesystem::perms::owner_all);
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(gpu::load_tuned(mine, pipe.string(), folder_));
  const Status nowhere = gpu::store_tuned(mine, Traits{}, file / "below");
  ASSERT_FALSE(nowhere);
  EXPECT_TRUE(nowhere.error().message.contains("Not a directory")) << nowhere.error().message;
}

}  // namespace
}  // namespace weft
