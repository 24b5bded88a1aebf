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
  EXPECT_EQ(cache.load(some_bytes(16, 0), {}), 0U);
  EXPECT_EQ(cache.load(some_bytes(16, 6), {}), 0U);
  EXPECT_EQ(cache.load(some_bytes(16, 7), {}), 10'000U);
  EXPECT_EQ(cache.load(some_bytes(16, 9), {}), 10'000U);
  EXPECT_TRUE(fs::exists(directory.path() / "not ours.txt"));
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
