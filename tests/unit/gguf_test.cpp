#include "formats/gguf.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "file_fixture.hpp"
#include "formats/ggml_type.hpp"

namespace weft::gguf {
namespace {

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

Metadata every_type() {
  return {{"u8", std::uint8_t{200}},
          {"i8", std::int8_t{-100}},
          {"u16", std::uint16_t{60000}},
          {"i16", std::int16_t{-30000}},
          {"u32", std::uint32_t{4000000000U}},
          {"i32", std::int32_t{-2000000000}},
          {"f32", 1.5F},
          {"bool", true},
          {"text", std::string("né\0x", 5)},
          {"u64", std::numeric_limits<std::uint64_t>::max()},
          {"i64", std::numeric_limits<std::int64_t>::min()},
          {"f64", 0.1},
          {"a.u8", Array(std::vector<std::uint8_t>{1, 2})},
          {"a.i8", Array(std::vector<std::int8_t>{-1})},
          {"a.u16", Array(std::vector<std::uint16_t>{1, 65535})},
          {"a.i16", Array(std::vector<std::int16_t>{-5})},
          {"a.u32", Array(std::vector<std::uint32_t>{7, 8, 9})},
          {"a.i32", Array(std::vector<std::int32_t>{})},
          {"a.f32", Array(std::vector<float>{0.25F, -1.0F})},
          {"a.bool", Array(std::vector<bool>{true, false, true})},
          {"a.text", Array(std::vector<std::string>{"", "a", "longer text"})},
          {"a.u64", Array(std::vector<std::uint64_t>{1})},
          {"a.i64", Array(std::vector<std::int64_t>{-1})},
          {"a.f64", Array(std::vector<double>{1e300})}};
}

/// Two small tensors and a value of every type; the bytes live as long as the object.
struct Sample {
  std::vector<std::byte> a = counting(24);
  std::vector<std::byte> b = counting(2 * 2 * 34);
  std::vector<TensorView> tensors{
      {"a", {2, 3}, 0, a}, {"b", {2, 64}, 8, b}, {"none", {0, 4}, 0, {}}};
};

TEST(Gguf, KeepsEveryTypeOfValueAndTensors) {
  const TemporaryFolder folder;
  const Sample sample;
  const auto written = write(folder / "x.gguf", every_type(), sample.tensors);
  ASSERT_TRUE(written) << written.error().message;
  auto opened = File::open(folder / "x.gguf");
  ASSERT_TRUE(opened) << opened.error().message;
  const File file = std::move(*opened);  // the mapping moves along
  EXPECT_EQ(file.metadata(), every_type());
  ASSERT_EQ(file.tensors().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const TensorView& tensor = file.tensors()[i];
    EXPECT_EQ(tensor.name, sample.tensors[i].name);
    EXPECT_EQ(tensor.shape, sample.tensors[i].shape);
    EXPECT_EQ(tensor.type, sample.tensors[i].type);
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, sample.tensors[i].bytes));
  }
  EXPECT_EQ(file.tensor("b"), &file.tensors()[1]);
  EXPECT_EQ(file.tensor("c"), nullptr);
  EXPECT_EQ(file.get<std::uint16_t>("u16"), 60000);
  EXPECT_FALSE(file.get<std::uint32_t>("u16"));
  EXPECT_FALSE(file.get<std::uint32_t>("missing"));
  EXPECT_EQ(file.get_array<float>("a.f32")->size(), 2U);
  EXPECT_FALSE(file.get_array<double>("a.f32"));
}

TEST(Gguf, WritesTensorsOfEveryType) {
  const TemporaryFolder folder;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<TensorView> tensors;
  bytes.reserve(type_table.size());
  for (const TypeInfo& type : type_table) {
    bytes.push_back(counting(3 * 2 * type.bytes));
    tensors.push_back({std::string(type.name), {3, 2 * type.block}, type.id, bytes.back()});
  }
  ASSERT_TRUE(write(folder / "x.gguf", {{"general.alignment", std::uint32_t{64}}}, tensors));
  const auto file = File::open(folder / "x.gguf");
  ASSERT_TRUE(file) << file.error().message;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(file->tensors()[i].bytes, bytes[i])) << tensors[i].name;
    EXPECT_EQ((file->tensors()[i].bytes.data() - file->tensors()[0].bytes.data()) % 64, 0);
  }
}

TEST(Gguf, RefusesToWriteWhatCouldNotBeRead) {
  const TemporaryFolder folder;
  const auto bytes = counting(64);
  const auto refused = [&](const Metadata& metadata, const std::vector<TensorView>& tensors) {
    return !write(folder / "x.gguf", metadata, tensors) &&
           !std::filesystem::exists(folder / "x.gguf");
  };
  EXPECT_TRUE(refused({}, {{"a", {4}, 0, bytes}}));                          // wrong size
  EXPECT_TRUE(refused({}, {{"a", {16}, 4, bytes}}));                         // no such type
  EXPECT_TRUE(refused({}, {{"a", {16}, 8, bytes}}));                         // half a block
  EXPECT_TRUE(refused({}, {{"a", {16}, 0, bytes}, {"a", {16}, 0, bytes}}));  // name twice
  EXPECT_TRUE(refused({{"k", true}, {"k", false}}, {}));                     // key twice
  EXPECT_TRUE(refused({{"k", Array(std::monostate{})}}, {}));                // no type
  EXPECT_TRUE(refused({{"general.alignment", std::uint32_t{48}}}, {}));      // no power of 2
  EXPECT_FALSE(write(folder / "no" / "x.gguf", {}, {}));                     // no folder
  EXPECT_FALSE(refused({}, {{"a", {16}, 0, bytes}}));                        // and this is fine
}

/// A file with one tensor whose description the test chooses.
std::vector<std::byte> raw_file(std::uint32_t version, std::uint64_t extent, std::uint64_t offset,
                                std::size_t data) {
  std::string text = "GGUF";
  const auto put = [&](auto value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  put(version);
  put(std::uint64_t{1});
  put(std::uint64_t{0});
  put(std::uint64_t{1});
  text += "t";
  put(std::uint32_t{2});
  put(extent);
  put(std::uint64_t{1} << 33);
  put(std::uint32_t{0});
  put(offset);
  text.resize((text.size() + 31) / 32 * 32 + data);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(Gguf, RefusesHostileFiles) {
  const auto message = [](const std::vector<std::byte>& bytes) {
    const auto file = File::parse(bytes);
    return file ? std::string("accepted") : file.error().message;
  };
  EXPECT_NE(message(raw_file(3, std::uint64_t{1} << 33, 0, 64)).find("64 bits"), std::string::npos);
  EXPECT_NE(message(raw_file(3, 1, 0, 64)).find("past the 64"), std::string::npos);
  EXPECT_NE(message(raw_file(3, 0, 128, 64)).find("past the 64"), std::string::npos);
  EXPECT_NE(message(raw_file(3, 0, 1, 64)).find("multiple of 32"), std::string::npos);
  EXPECT_NE(message(raw_file(1, 0, 0, 64)).find("version is 1"), std::string::npos);
  EXPECT_NE(message(raw_file(0x03000000, 0, 0, 0)).find("big-endian"), std::string::npos);
  EXPECT_EQ(message(raw_file(3, 0, 32, 64)), "accepted");
  EXPECT_NE(message({}).find("GGUF"), std::string::npos);
}

TEST(Gguf, SurvivesDamagedFiles) {
  const TemporaryFolder folder;
  const Sample sample;
  ASSERT_TRUE(write(folder / "x.gguf", every_type(), sample.tensors));
  const auto good = read_bytes(folder / "x.gguf");
  std::mt19937_64 random(20261115);
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto bytes = damage(good, random);
    const auto file = File::parse(bytes);
    (file ? accepted : refused) += 1;
    if (!file) continue;
    for (const TensorView& tensor : file->tensors()) {  // whatever was accepted can be read
      ASSERT_GE(tensor.bytes.data(), bytes.data());
      ASSERT_LE(tensor.bytes.data() + tensor.bytes.size(), bytes.data() + bytes.size());
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace weft::gguf
