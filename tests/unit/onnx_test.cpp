// The reader of ONNX files: what it finds, and what it says about files that are wrong.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "../onnx/bytes.hpp"
#include "onnx/array.hpp"
#include "onnx/proto.hpp"

namespace weft::test {
namespace {

namespace b = onnx_bytes;
using onnx::Type;

std::string error_of(const std::string& model) {
  const auto read = onnx::read_model(b::bytes(model));
  return read ? "" : read.error().message;
}

TEST(Onnx, AModelIsRead) {
  const std::string model = b::small_model();
  const auto read = onnx::read_model(b::bytes(model));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->ir_version, 9);
  EXPECT_EQ(read->opsets.at(""), 21);
  ASSERT_EQ(read->graph.nodes.size(), 2U);
  EXPECT_EQ(read->graph.nodes[0].op, "MatMul");
  EXPECT_EQ(read->graph.inputs[0].shape->at(0).symbol, "n");
  const auto array = onnx::array_from(*read->graph.initializers[0], nullptr);
  ASSERT_TRUE(array);
  EXPECT_EQ(array->shape, (Shape{2, 3}));
  EXPECT_EQ(array->doubles(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(Onnx, FilesThatEndAnywhereAreReadOrRefusedWithAByte) {
  const std::string model = b::small_model();
  for (std::size_t size = 0; size < model.size(); ++size) {
    const std::string message = error_of(model.substr(0, size));
    if (message.empty()) continue;
    EXPECT_TRUE(message.starts_with("Byte ") || message.starts_with("There is no graph"))
        << message;
  }
}

TEST(Onnx, FilesOfOtherFormatsAreNamed) {
  for (const auto& [text, what] :
       {std::pair{"version https://git-lfs.github.com/spec/v1\n", "Git LFS"},
        {"<!DOCTYPE html>", "web"},
        {"{\"a\": 1}", "JSON"},
        {"PK\x03\x04 and so on", "ZIP"},
        {"GGUF\x03", "GGUF"},
        {"\x89HDF\r\n", "HDF5"}}) {
    const std::string said = error_of(text);
    EXPECT_TRUE(said.contains(what) && said.contains("not an ONNX model")) << said;
  }
}

TEST(Onnx, LengthsAndTypesThatAreWrongAreNamed) {
  EXPECT_NE(error_of(b::varint(7 << 3 | 2) + b::varint(1000) + "xy")
                .find("says it has 1000 bytes; 2 are left"),
            std::string::npos);
  EXPECT_NE(
      error_of(std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11)).find("Byte 1"),
      std::string::npos);
  EXPECT_NE(error_of(std::string(1, '\x07')).find("no key"), std::string::npos);
  EXPECT_NE(error_of(b::number(7, 3)).find("graph has wire type 0, not 2"), std::string::npos);
  EXPECT_NE(error_of(std::string("\x0b", 1)).find("wire type 3"), std::string::npos);
  std::string deep = "x";
  for (int i = 0; i < 100; ++i)
    deep = b::nodes({b::node("If", {}, {}, b::graph_attribute("then_branch", deep))});
  EXPECT_NE(error_of(b::model(deep)).find("Byte"), std::string::npos);
}

TEST(Onnx, NamesHaveNoByteZero) {
  const std::string name("x\0y", 3);
  EXPECT_TRUE(error_of(b::model(b::nodes({b::node("Neg", {name}, {"y"})}))).contains("a byte 0"));
  EXPECT_TRUE(error_of(b::model(b::input(b::port(name, 1, {2})))).contains("a byte 0"));
}

TEST(Onnx, TensorsWhoseSizesDoNotFitAreRefused) {
  const auto message = [](const std::string& bytes, const onnx::OpenExternal& open = {}) {
    const auto tensor = onnx::read_tensor(b::bytes(bytes));
    if (!tensor) return tensor.error().message;
    const auto array = onnx::array_from(*tensor, nullptr, open);
    return array ? std::string() : array.error().message;
  };
  EXPECT_EQ(message(b::tensor("t", 1, {2}, b::floats({1, 2}))), "");
  EXPECT_NE(message(b::tensor("t", 1, {3}, b::floats({1, 2}))).find("needs 12 bytes; there are 8"),
            std::string::npos);
  EXPECT_NE(message(b::tensor("t", 1, {-1}, "")).find("an extent is -1"), std::string::npos);
  EXPECT_NE(message(b::tensor("t", 1, {1LL << 40, 1LL << 40}, ""))
                .find("more than 281474976710656 elements"),
            std::string::npos);
  EXPECT_NE(message(b::tensor("t", 99, {1}, "x")).find("type 99"), std::string::npos);
  const auto external = [](const std::string& location, const std::string& offset = "0") {
    const auto entry = [](const char* key, const std::string& value) {
      return b::text(13, b::text(1, key) + b::text(2, value));
    };
    return b::number(1, 2) + b::number(2, 1) + b::number(14, 1) + entry("location", location) +
           entry("offset", offset);
  };
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "weft-onnx-test";
  std::filesystem::create_directories(folder / "inside");
  std::ofstream(folder / "inside" / "data") << b::floats({1, 2, 3});
  std::ofstream(folder / "secret") << b::floats({1, 2, 3});
  std::error_code ignored;
  std::filesystem::create_symlink("../secret", folder / "inside" / "link", ignored);
  const auto open = onnx::files_beside(folder / "inside");
  EXPECT_EQ(message(external("data"), open), "");
  EXPECT_EQ(message(external("data", "4"), open), "");
  EXPECT_NE(message(external("data", "8"), open).find("past its end"), std::string::npos);
  EXPECT_NE(message(external("data", "99999999999999999999"), open).find("is no number"),
            std::string::npos);
  EXPECT_NE(message(external("../secret"), open).find("outside of the model's folder"),
            std::string::npos);
  EXPECT_NE(message(external("link"), open).find("outside of the model's folder"),
            std::string::npos);
  EXPECT_NE(
      message(external((folder / "secret").string()), open).find("outside of the model's folder"),
      std::string::npos);
  EXPECT_NE(message(external("data")).find("did not come from a file"), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::test
