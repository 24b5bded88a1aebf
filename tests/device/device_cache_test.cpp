#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/format.hpp"
#include "device_fixture.hpp"
#include "gpu/disk_cache.hpp"

// Compiled pipelines on the disk.

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using gpu::Device;
using gpu::DiskCache;

/// A directory of its own that goes with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(fs::temp_directory_path() / formatted("weft-test-{:08x}", std::random_device{}())) {
    fs::create_directories(path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<std::byte> some_bytes(std::size_t count, std::uint8_t first) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

gpu::KernelDesc heavy_kernel() {
  gpu::KernelDesc desc;
  desc.label = "cached";
  desc.wgsl = R"(
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  var x = data[id.x];
  for (var i = 0u; i < 9u; i++) { x = sin(x) * cos(x + f32(i)) + exp(-x * x); }
  data[id.x] = x;
}
)";
  desc.bindings = {gpu::Access::write};
  return desc;
}

TEST(DeviceCache, StoresAndLoadsBlobs) {
  const TemporaryDirectory directory;
  DiskCache cache(directory.path() / "deep" / "er", 1 << 20);
  const auto key = some_bytes(40, 1);
  const auto other = some_bytes(41, 1);
  const auto value = some_bytes(1000, 7);
  std::vector<std::byte> room(1000);
  EXPECT_EQ(cache.load(key, {}), 0U);
  cache.store(key, value);
  EXPECT_EQ(cache.load(key, {}), 1000U);
  EXPECT_EQ(cache.hits(), 0U) << "asking for the size is no hit";
  EXPECT_EQ(cache.load(key, room), 1000U);
  EXPECT_EQ(room, value);
  EXPECT_EQ(cache.load(other, {}), 0U);
  EXPECT_EQ(cache.hits(), 1U);
  EXPECT_EQ(cache.stores(), 1U);
  DiskCache again(directory.path() / "deep" / "er", 1 << 20);
  EXPECT_EQ(again.load(key, room), 1000U);
}

TEST(DeviceCache, BrokenFilesAreMisses) {
  const TemporaryDirectory directory;
  DiskCache cache(directory.path(), 1 << 20);
  const auto key = some_bytes(40, 1);
  const auto value = some_bytes(1000, 7);
  cache.store(key, value);
  const auto files = files_in(directory.path());
  ASSERT_EQ(files.size(), 1U);
  const auto size = fs::file_size(files[0]);
  for (const std::uintmax_t shorter : {size - 1, size / 2, std::uintmax_t{10}, std::uintmax_t{0}}) {
    fs::resize_file(files[0], shorter);
    EXPECT_EQ(cache.load(key, {}), 0U) << shorter;
  }
  cache.store(key, value);
  {
    std::fstream file(files[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size) - 5);
    file.put('!');
  }
  EXPECT_EQ(cache.load(key, {}), 0U) << "a changed byte must be noticed";
}

TEST(DeviceCache, PrunesTheOldestWhenItIsFull) {
  const TemporaryDirectory directory;
  {
    DiskCache cache(directory.path(), 1 << 20);
    for (std::uint8_t i = 0; i < 10; ++i) {
      cache.store(some_bytes(16, i), some_bytes(10'000, i));
      // The times decide, and stores may fall into one tick of the clock.
      for (const fs::path& file : files_in(directory.path())) {
        fs::last_write_time(file, fs::last_write_time(file) - std::chrono::seconds(1));
      }
    }
    std::ofstream(directory.path() / "not ours.txt") << std::string(100'000, 'x');
  }
  DiskCache cache(directory.path(), 35'000);
  EXPECT_EQ(cache.load(some_bytes(16, 0), {}), 10'000U) << "who reads removes nothing";
  cache.store(some_bytes(16, 10), some_bytes(4, 10));
  EXPECT_EQ(cache.load(some_bytes(16, 0), {}), 0U);
  EXPECT_EQ(cache.load(some_bytes(16, 6), {}), 0U);
  EXPECT_EQ(cache.load(some_bytes(16, 7), {}), 10'000U);
  EXPECT_EQ(cache.load(some_bytes(16, 9), {}), 10'000U);
  EXPECT_TRUE(fs::exists(directory.path() / "not ours.txt"));
}

TEST(DeviceCache, AFileThatClaimsToBeLargeIsAMissAtOnce) {
  const TemporaryDirectory directory;
  DiskCache cache(directory.path() / "c", 1 << 20);
  const auto key = some_bytes(40, 1);
  cache.store(key, some_bytes(1000, 7));
  const auto files = files_in(directory.path());
  ASSERT_EQ(files.size(), 1U);
  {
    std::fstream file(files[0], std::ios::in | std::ios::out | std::ios::binary);
    const std::uint64_t claim = std::uint64_t{1} << 31;
    file.seekp(16);
    file.write(reinterpret_cast<const char*>(&claim), sizeof claim);
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(cache.load(key, {}), 0U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
}

TEST(DeviceCache, PipesLinksAndFoldersInPlaceOfAFileAreMisses) {
  const TemporaryDirectory directory;
  DiskCache cache(directory.path() / "c", 1 << 20);
  const auto key = some_bytes(40, 1);
  cache.store(key, some_bytes(1000, 7));
  const fs::path file = files_in(directory.path()).at(0);
  fs::rename(file, directory.path() / "aside");
  fs::create_symlink(directory.path() / "aside", file);
  EXPECT_EQ(cache.load(key, {}), 0U) << "a link is not followed";
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(cache.load(key, {}), 0U) << "and a pipe is not waited for";
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(cache.load(key, {}), 0U);
}

TEST(DeviceCache, BelongsToTheUserAlone) {
  const TemporaryDirectory directory;
  const mode_t before = ::umask(0);
  {
    DiskCache cache(directory.path() / "a" / "b", 1 << 20);
    cache.store(some_bytes(4, 0), some_bytes(4, 0));
  }
  ::umask(before);
  const auto permissions = [](const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  };
  EXPECT_EQ(permissions(directory.path() / "a"), 0700U);
  EXPECT_EQ(permissions(directory.path() / "a" / "b"), 0700U);
  EXPECT_EQ(permissions(files_in(directory.path()).at(0)), 0600U);
  fs::permissions(directory.path() / "a" / "b", fs::perms::all);
  const DiskCache again(directory.path() / "a" / "b", 1 << 20);
  EXPECT_EQ(permissions(directory.path() / "a" / "b"), 0700U) << "an open one is closed";
  fs::create_symlink(directory.path() / "a" / "b", directory.path() / "link");
  DiskCache linked(directory.path() / "link", 1 << 20);
  EXPECT_EQ(linked.load(some_bytes(4, 0), {}), 0U) << "a link is not used";
}

TEST(DeviceCache, PrunesWhileItIsUsedAndOnlyItsOwnFiles) {
  const TemporaryDirectory directory;
  DiskCache cache(directory.path(), 50'000);
  const fs::path others[] = {directory.path() / "my.pipeline", directory.path() / "x.pipeline.txt",
                             directory.path() / std::string(32, 'z').append(".pipeline")};
  for (const fs::path& other : others) std::ofstream(other) << std::string(60'000, 'x');
  for (std::uint8_t i = 0; i < 40; ++i) cache.store(some_bytes(16, i), some_bytes(10'000, i));
  std::uintmax_t own = 0;
  for (const fs::path& file : files_in(directory.path())) own += fs::file_size(file);
  EXPECT_LE(own, 3 * 60'000U + 70'000U);
  for (const fs::path& other : others) EXPECT_TRUE(fs::exists(other)) << other;
  cache.store(some_bytes(16, 99), some_bytes(60'000, 0));
  EXPECT_EQ(cache.load(some_bytes(16, 99), {}), 0U) << "what is larger than the whole is not kept";
}

TEST(DeviceCache, NeverLiesInTheCurrentFolder) {
  const auto set = [](const char* name, const char* value) {
    const char* old = std::getenv(name);
    const std::string kept = old != nullptr ? old : "";
    if (value != nullptr) {
      ::setenv(name, value, 1);
    } else {
      ::unsetenv(name);
    }
    return std::pair(old != nullptr, kept);
  };
  const auto own = set("WEFT_CACHE_DIR", nullptr);
  const auto xdg = set("XDG_CACHE_HOME", "relative");
  const auto home = set("HOME", nullptr);
  EXPECT_EQ(gpu::cache_directory({}), fs::path());
  set("HOME", "also/relative");
  EXPECT_EQ(gpu::cache_directory({}), fs::path());
  set("WEFT_CACHE_DIR", "relative/too");
  EXPECT_EQ(gpu::cache_directory({}), fs::path());
  set("HOME", "/somewhere");
  EXPECT_EQ(gpu::cache_directory({}), fs::path("/somewhere/.cache/weft"));
  set("WEFT_CACHE_DIR", own.first ? own.second.c_str() : nullptr);
  set("XDG_CACHE_HOME", xdg.first ? xdg.second.c_str() : nullptr);
  set("HOME", home.first ? home.second.c_str() : nullptr);
}

TEST(DeviceCache, UnusableDirectoryIsNoError) {
  DiskCache cache("/proc/no/such/place", 1 << 20);
  cache.store(some_bytes(4, 0), some_bytes(4, 0));
  EXPECT_EQ(cache.load(some_bytes(4, 0), {}), 0U);
  EXPECT_EQ(cache.stores(), 0U);
}

TEST(DeviceCache, SecondDeviceFindsThePipelinesOfTheFirst) {
  const TemporaryDirectory directory;
  gpu::KernelDesc desc = heavy_kernel();
  desc.trusted = true;
  std::vector<float> results[2];
  for (int round = 0; round < 2; ++round) {
    auto on = Device::create({.cache_dir = directory.path()});
    ASSERT_TRUE(ok(on));
    const auto kernel = on->compile(desc);
    ASSERT_TRUE(ok(kernel));
    const gpu::CacheStats stats = on->cache();
    EXPECT_EQ(stats.compiled, 1U);
    if (round == 0) {
      EXPECT_EQ(stats.disk_hits, 0U);
      EXPECT_GT(stats.disk_stores, 0U);
    } else {
      EXPECT_GT(stats.disk_hits, 0U);
    }
    const gpu::Buffer data = upload(*on, std::vector<float>(64, 0.5F));
    gpu::Stream stream = on->stream();
    const gpu::Slice slice = gpu::whole(data);
    ASSERT_TRUE(ok(stream.dispatch(*kernel, std::span(&slice, 1), {}, {})));
    ASSERT_TRUE(ok(stream.wait()));
    results[round] = download<float>(*on, data);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_NE(results[0][0], 0.5F);
}

TEST(DeviceCache, ForgetsThePipelinesUsedLongestAgo) {
  if (std::getenv("WEFT_CAPS") != nullptr) GTEST_SKIP() << "the same without the mask";
  auto on = Device::create({.disk_cache = false});
  ASSERT_TRUE(ok(on));
  // Which are told apart by a number in the text.
  const auto compiled = [&](int number) {
    gpu::KernelDesc desc;
    desc.label = "small";
    desc.wgsl = formatted(
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;\n"
        "@compute @workgroup_size(1) fn main() {{ x[0] = {}u; }}",
        number);
    desc.bindings = {gpu::Access::write};
    desc.trusted = true;
    const std::uint64_t before = on->cache().compiled;
    EXPECT_TRUE(ok(on->compile(desc)));
    return on->cache().compiled > before;
  };
  constexpr int remembered = 4096;
  EXPECT_TRUE(compiled(0));
  for (int i = 1; i < remembered + 2; ++i) {
    EXPECT_TRUE(compiled(i));
    if (i % 1000 == 0) {
      EXPECT_FALSE(compiled(1)) << "one that is used stays";
    }
  }
  EXPECT_FALSE(compiled(1));
  EXPECT_TRUE(compiled(0)) << "one that was not used since is compiled again";
}

TEST(DeviceCache, CanBeSwitchedOff) {
  const TemporaryDirectory directory;
  auto on = Device::create({.cache_dir = directory.path(), .disk_cache = false});
  ASSERT_TRUE(ok(on));
  ASSERT_TRUE(ok(on->compile(heavy_kernel())));
  EXPECT_TRUE(files_in(directory.path()).empty());
}

TEST(DeviceCache, SurvivesRubbishInItsFiles) {
  const TemporaryDirectory directory;
  {
    auto on = Device::create({.cache_dir = directory.path()});
    ASSERT_TRUE(ok(on));
    ASSERT_TRUE(ok(on->compile(heavy_kernel())));
  }
  for (const fs::path& file : files_in(directory.path())) {
    fs::resize_file(file, fs::file_size(file) / 2);
  }
  auto on = Device::create({.cache_dir = directory.path()});
  ASSERT_TRUE(ok(on));
  EXPECT_TRUE(ok(on->compile(heavy_kernel())));
  EXPECT_EQ(on->cache().disk_hits, 0U);
}

}  // namespace
}  // namespace weft::test
