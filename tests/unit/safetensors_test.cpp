#include "formats/safetensors.hpp"

#include <gtest/gtest.h>

#include "file_fixture.hpp"

namespace weft::safetensors {
namespace {

std::vector<std::byte> raw_file(const std::string& header, std::size_t data) {
  const std::uint64_t size = header.size();
  std::string text(reinterpret_cast<const char*>(&size), sizeof(size));
  text += header + std::string(data, 'd');
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string outcome(const std::string& header, std::size_t data) {
  const auto bytes = raw_file(header, data);
  const auto file = File::parse(bytes);
  return file ? "accepted" : file.error().message;
}

TEST(Safetensors, KeepsTensorsAndMetadata) {
  const TemporaryFolder folder;
  const std::vector<std::byte> a(24, std::byte{1});
  const std::vector<std::byte> b(6, std::byte{2});
  const std::vector<std::byte> scalar(4, std::byte{3});
  const std::vector<TensorView> tensors{{"z", "F32", {2, 3}, a},
                                        {"b", "BF16", {3}, b},
                                        {"empty", "I64", {0}, {}},
                                        {"s", "F32", {}, scalar}};
  const auto written = write(folder / "x.safetensors", {{"format", "weft \"quoted\""}}, tensors);
  ASSERT_TRUE(written) << written.error().message;
  const auto file = File::open(folder / "x.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->metadata().at("format"), "weft \"quoted\"");
  ASSERT_EQ(file->tensors().size(), 4U);
  for (const TensorView& tensor : tensors) {
    const TensorView* found = file->tensor(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->type, tensor.type);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(found->bytes, tensor.bytes));
  }
  EXPECT_FALSE(write(folder / "y", {}, std::vector<TensorView>{{"a", "F32", {2}, a}}));
  EXPECT_FALSE(write(folder / "y", {}, std::vector<TensorView>{{"a", "X32", {6}, a}}));
  EXPECT_FALSE(write(folder / "y", {{"\xff", "x"}}, {}));
  EXPECT_FALSE(std::filesystem::exists(folder / "y"));
  EXPECT_FALSE(File::open(folder / "y"));
}

TEST(Safetensors, RefusesHostileFiles) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(outcome(good, 8), "accepted");
  EXPECT_NE(outcome(good, 12).find("belong to no tensor"), std::string::npos);
  EXPECT_NE(outcome(good, 4).find("bytes 0 to 8 of 4"), std::string::npos);
  EXPECT_NE(outcome(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8).find("8 to 0"),
            std::string::npos);
  EXPECT_NE(outcome(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12).find("hole"),
            std::string::npos);
  EXPECT_NE(outcome(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                    R"("b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}})",
                    12)
                .find("overlap"),
            std::string::npos);
  EXPECT_NE(outcome(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                    R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                    8)
                .find("twice"),
            std::string::npos);
  EXPECT_NE(
      outcome(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0)
          .find("do not give"),
      std::string::npos);
  EXPECT_NE(outcome(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8).find("lacks"),
            std::string::npos);
  EXPECT_NE(outcome(R"({"a":{"dtype":"Q4","shape":[2],"data_offsets":[0,8]}})", 8).find("'Q4'"),
            std::string::npos);
  EXPECT_NE(outcome(R"([1,2])", 0).find("JSON object"), std::string::npos);
  EXPECT_NE(outcome(std::string(100000, '['), 0).find("JSON object"), std::string::npos);
  EXPECT_NE(outcome(R"({"__metadata__":{"a":1}})", 0).find("not a text"), std::string::npos);
  EXPECT_FALSE(File::parse(std::vector<std::byte>(8, std::byte{255})));
  EXPECT_FALSE(File::parse({}));
}

TEST(Safetensors, SurvivesDamagedFiles) {
  const auto good = raw_file(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("b":{"dtype":"I64","shape":[2],"data_offsets":[16,32]}})",
      32);
  std::mt19937_64 random(20261115);
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto bytes = damage(good, random);
    const auto file = File::parse(bytes);
    (file ? accepted : refused) += 1;
    if (!file) continue;
    for (const TensorView& tensor : file->tensors()) {
      ASSERT_GE(tensor.bytes.data(), bytes.data());
      ASSERT_LE(tensor.bytes.data() + tensor.bytes.size(), bytes.data() + bytes.size());
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace weft::safetensors
