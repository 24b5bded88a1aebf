// The code of docs/onnx.md.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <weft/onnx.hpp>
#include <weft/weft.hpp>

#include "../onnx/bytes.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

TEST(DeviceDocsOnnx, LoadAndRun) {
  const Device& device = api_device();
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "weft-docs.onnx";
  std::ofstream(path, std::ios::binary) << onnx_bytes::small_model();
  const onnx::Model model = onnx::load(device, path);
  const std::map<std::string, Tensor> results = model.run({{"x", device.full({4, 2}, 1)}});
  const Tensor y = results.at("y");  // [4, 3]
  EXPECT_EQ(y.shape(), (Shape{4, 3}));
  EXPECT_EQ(y.to_vector()[0], 15.0F);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weft::test
