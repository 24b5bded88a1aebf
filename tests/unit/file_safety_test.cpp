#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/hash.hpp"
#include "file_fixture.hpp"
#include "formats/file_lock.hpp"
#include "formats/file_writer.hpp"
#include "formats/gguf.hpp"
#include "formats/mapped_file.hpp"
#include "formats/safetensors.hpp"

// What files must stand: damage, other writers, links and pipes where a file is expected.

namespace weft {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(FileSafety, AWriterSharesItsPartWithNobodyAndFollowsNoLink) {
  const TemporaryFolder folder;
  const fs::path path = folder / "file";
  const fs::path victim = folder / "victim";
  std::ofstream(victim) << "precious";
  // Where earlier versions wrote: a link there must not be followed.
  fs::create_symlink(victim, folder / "file.partial");
  {
    FileWriter first(path);
    FileWriter second(path);
    first.write("first, and long enough to be told apart");
    second.write("second");
    ASSERT_TRUE(first.commit());
    EXPECT_EQ(read_bytes(path).size(), 39U);
    ASSERT_TRUE(second.commit());
  }
  EXPECT_EQ(read_bytes(path).size(), 6U);
  EXPECT_EQ(read_bytes(victim).size(), 8U);
  {
    FileWriter given_up(path);
  }
  EXPECT_EQ(files_in(folder / ""), 3U) << "nothing is left behind";
}

TEST(FileSafety, AWriterGivesTheSystemsReason) {
  const TemporaryFolder folder;
  FileWriter nowhere(folder / "no such folder/file");
  nowhere.write("x");
  const Status status = nowhere.commit();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("No such file or directory"), std::string::npos)
      << status.error().message;
  std::ofstream(folder / "plain") << "x";
  FileWriter below(folder / "plain/file");
  EXPECT_NE(below.commit().error().message.find("Not a directory"), std::string::npos);
  FileWriter full("/dev/full/x");
  EXPECT_FALSE(full.commit());
}

TEST(FileSafety, LeftoversOfKilledWritersAreRemovedAndNothingElse) {
  const TemporaryFolder folder;
  for (const char* name : {"a.gguf.0123456789abcdef.partial", "a.gguf.0123456789abcdeg.partial",
                           "a.gguf.partial", "b.gguf.0123456789abcdef.partial", "a.gguf"}) {
    std::ofstream(folder / name) << "x";
  }
  FileWriter::remove_leftovers(folder / "a.gguf");
  EXPECT_FALSE(fs::exists(folder / "a.gguf.0123456789abcdef.partial"));
  EXPECT_EQ(files_in(folder / ""), 4U);
}

TEST(FileSafety, AFolderIsLockedForOneProcess) {
  const TemporaryFolder folder;
  {
    const auto lock = FileLock::take(folder / "");
    ASSERT_TRUE(lock) << lock.error().message;
    const auto again = FileLock::take(folder / "");
    ASSERT_FALSE(again);
    EXPECT_NE(again.error().message.find(std::to_string(::getpid())), std::string::npos)
        << again.error().message;
    struct stat status{};
    ASSERT_EQ(::stat((folder / "lock").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
  }
  EXPECT_TRUE(FileLock::take(folder / ""));
}

TEST(FileSafety, APipeInPlaceOfAFileIsAnErrorAndNoWait) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto mapped = MappedFile::open(folder / "pipe");
  ASSERT_FALSE(mapped);
  EXPECT_NE(mapped.error().message.find("not a regular file"), std::string::npos);
  EXPECT_FALSE(gguf::File::open(folder / "pipe"));
  EXPECT_FALSE(safetensors::File::open(folder / "pipe"));
}

TEST(FileSafety, EveryChangedBitChangesTheHash) {
  std::vector<std::byte> bytes(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::span<std::byte> part = std::span(bytes).first(size);
    const std::uint64_t whole = hash_bytes(part);
    if (size > 0) {
      EXPECT_NE(whole, hash_bytes(part.first(size - 1)));
    }
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      part[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      ASSERT_NE(hash_bytes(part), whole) << "bit " << bit << " of " << size << " bytes";
      part[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
  }
}

TEST(FileSafety, EveryChangedBitOfAHashedFileIsFoundOrMeansNothing) {
  const TemporaryFolder folder;
  const std::vector<float> values{1, 2, 3, 4, 5};
  gguf::Metadata metadata{{"general.architecture", std::string("test")},
                          {"step", std::uint64_t{7}},
                          {"losses", gguf::Array(std::vector<float>{1, 0.5F})}};
  const std::vector<gguf::TensorView> tensors{
      {"a", {5}, 0, std::as_bytes(std::span(values))},
      {"b", {2}, 0, std::as_bytes(std::span(values).first(2))}};
  gguf::add_hashes(metadata, tensors);
  ASSERT_TRUE(gguf::write(folder / "x.gguf", metadata, tensors));
  std::vector<std::byte> bytes = read_bytes(folder / "x.gguf");
  const auto good = gguf::File::parse(bytes);
  ASSERT_TRUE(good);
  ASSERT_TRUE(gguf::check_hashes(*good)) << gguf::check_hashes(*good).error().message;
  std::size_t found = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto file = gguf::File::parse(bytes);
    if (!file || !gguf::check_hashes(*file)) {
      ++found;
    } else {
      // Padding. What was read is what was written.
      EXPECT_TRUE(file->metadata() == metadata);
      ASSERT_EQ(file->tensors().size(), 2U);
      EXPECT_TRUE(std::ranges::equal(file->tensors()[0].bytes, tensors[0].bytes));
      EXPECT_TRUE(std::ranges::equal(file->tensors()[1].bytes, tensors[1].bytes));
    }
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
  EXPECT_GT(found, 6 * bytes.size());
  gguf::Metadata without{{"general.architecture", std::string("test")}};
  ASSERT_TRUE(gguf::write(folder / "y.gguf", without, tensors));
  EXPECT_FALSE(gguf::check_hashes(*gguf::File::open(folder / "y.gguf")));
}

TEST(FileSafety, ManyTensorsOpenInLinearTime) {
  const TemporaryFolder folder;
  const std::vector<std::byte> element(4);
  const auto seconds_for = [&](std::size_t count) {
    std::vector<safetensors::TensorView> tensors;
    for (std::size_t i = 0; i < count; ++i) {
      tensors.push_back({formatted("model.layers.{}.weight", i), "F32", {1}, element});
    }
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(safetensors::write(folder / "x", {}, tensors));
    const auto file = safetensors::File::open(folder / "x");
    EXPECT_TRUE(file);
    for (const auto& tensor : tensors) EXPECT_NE(file->tensor(tensor.name), nullptr);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  (void)seconds_for(100);
  const double few = seconds_for(2'500);
  const double many = seconds_for(20'000);
  // Eight times as many; quadratic would take 64 times as long. Other processes may take their
  // share.
  EXPECT_LT(many, 30 * few + 0.2) << few << " s for 2,500";
}

}  // namespace
}  // namespace weft
