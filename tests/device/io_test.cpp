#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "../unit/file_fixture.hpp"
#include "formats/ggml_type.hpp"
#include "formats/gguf.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

class ApiFiles : public testing::TestWithParam<std::string> {};

TEST_P(ApiFiles, GiveBackWhatWasSaved) {
  const TemporaryFolder folder;
  const Device device;
  const Tensor x = device.arange(24, -3, 0.5).reshape({2, 3, 4});
  NamedTensors contents;
  contents.texts = {{"general.name", "a test"}, {"note", "ünïcode \"quoted\""}};
  contents.tensors = {{"f32", x},
                      {"f16", x.to(DType::f16)},
                      {"bf16", x.to(DType::bf16)},
                      {"turned", x.transpose().slice(1, 1, 2)},  // not dense
                      {"sum", x + x},                            // not computed yet
                      {"i32", device.tensor({3}, std::vector<std::int32_t>{1, -2, 3})},
                      {"i8", device.tensor({5}, std::vector<std::int8_t>{1, -2, 3, 4, 5})},
                      {"i64", device.tensor({2}, std::vector<std::int64_t>{1LL << 40, -1})}};
  save(folder / GetParam(), contents);
  const NamedTensors back = load(device, folder / GetParam());
  EXPECT_EQ(back.texts, contents.texts);
  ASSERT_EQ(back.tensors.size(), contents.tensors.size());
  for (const auto& [name, tensor] : contents.tensors) {
    const Tensor& other = back.tensors.at(name);
    EXPECT_EQ(other.shape(), tensor.shape()) << name;
    ASSERT_EQ(other.dtype(), tensor.dtype()) << name;
    if (is_float(tensor.dtype())) {
      EXPECT_EQ(other.to_vector(), tensor.to_vector()) << name;
    }
  }
  EXPECT_EQ(back.tensors.at("i32").to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{1, -2, 3}));
  EXPECT_EQ(back.tensors.at("i8").to_vector<std::int8_t>(),
            (std::vector<std::int8_t>{1, -2, 3, 4, 5}));
  EXPECT_EQ(back.tensors.at("i64").to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1LL << 40, -1}));
}

TEST_P(ApiFiles, SayWhatIsWrong) {
  const TemporaryFolder folder;
  const Device device;
  EXPECT_THROW((void)load(device, folder / GetParam()), Error);  // there is none
  std::ofstream(folder / GetParam()) << "no such file was ever written by a program";
  EXPECT_THROW((void)load(device, folder / GetParam()), Error);
}

INSTANTIATE_TEST_SUITE_P(Formats, ApiFiles, testing::Values("x.safetensors", "x.gguf"),
                         [](const auto& row) { return row.param.substr(2); });

/// The code of the error that `what` throws, and its message.
std::string message_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.what();
  }
  return "";
}

TEST(ApiFile, NameWhatTheyCannotHold) {
  const TemporaryFolder folder;
  const Device device;
  const Tensor bytes = device.tensor({2}, std::vector<std::uint8_t>{1, 2});
  EXPECT_TRUE(message_of([&] {
                save(folder / "x.gguf", {{{"b", bytes}}, {}});
              }).starts_with("unsupported: GGUF files cannot hold the u8 elements of 'b'"));
  EXPECT_TRUE(message_of([&] { save(folder / "x.npz", {}); }).starts_with("invalid_argument"));
}

TEST_P(ApiFiles, GiveVariablesNewValues) {
  const TemporaryFolder folder;
  const Device device;
  const std::vector<float> values{1, 2, 3};
  save(folder / GetParam(), {{{"w", device.tensor({3}, values)}}, {}});
  const Tensor w = variable(device.full({3}, 0));
  const Tensor before = w + 1;
  const Compiled times =
      compile([&](const std::vector<Tensor>& in) -> Outputs { return w * in[0]; });
  const Tensor two = device.full({3}, 2);
  EXPECT_EQ(times.one({two}).to_vector(), (std::vector<float>{0, 0, 0}));
  apply({{w, load(device, folder / GetParam()).tensors.at("w")}});
  EXPECT_EQ(w.to_vector(), values);
  EXPECT_EQ(times.one({two}).to_vector(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(before.to_vector(), (std::vector<float>{1, 1, 1}));
}

TEST(ApiFile, KeepQuantizedBlocks) {
  const TemporaryFolder folder;
  const Device device;
  const Tensor x = map("sin", device.arange(64)).reshape({2, 32});
  const Tensor blocks = x.to(DType::q4_0);
  save(folder / "q.gguf", {{{"q", blocks}}, {}});
  const Tensor again = load(device, folder / "q.gguf").tensors.at("q");
  EXPECT_EQ(again.dtype(), DType::q4_0);
  EXPECT_EQ(again.shape(), (Shape{2, 32}));
  EXPECT_EQ(again.to_vector(), blocks.to_vector());
  EXPECT_LT(max(map("abs", again.to(DType::f32) - x)).item(),
            0.13F);  // half of a step at the far end: 1 / 8
  EXPECT_NE(again.to_string().find("q4_0 as f32[2,32]"), std::string::npos);
  EXPECT_TRUE(message_of([&] {
                save(folder / "q.safetensors", {{{"q", blocks}}, {}});
              }).starts_with("unsupported: safetensors files cannot hold the q4_0 blocks of 'q'"));
}

}  // namespace
}  // namespace weft
