// Weights of 4 and 8 bits in blocks (com.microsoft.MatMulNBits): what they stand for, and what they
// take on the device.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>
#include <weft/onnx.hpp>
#include <weft/weft.hpp>

#include "../onnx/bytes.hpp"
#include "base/half.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

namespace b = onnx_bytes;

struct Weight {
  int bits = 4;
  std::int64_t rows = 96;
  std::int64_t depth = 512;
  std::int64_t block = 32;
  bool exact = true;  ///< Scales that f16 holds.
  int zeros = -1;     ///< All zero points; below 0: none are given, below -1: they differ.

  [[nodiscard]] std::int64_t blocks() const { return (depth + block - 1) / block; }
  [[nodiscard]] float scale(std::int64_t row, std::int64_t at) const {
    const float wide = 0.01F + 0.001F * static_cast<float>((row * 7 + at * 3) % 11);
    return exact ? f32_from_f16(f16_bits(wide)) : wide;
  }
  [[nodiscard]] int zero(std::int64_t row, std::int64_t at) const {
    const int middle = bits == 4 ? 8 : 128;
    return zeros >= 0 ? zeros : zeros == -1 ? middle : static_cast<int>((row + at) % 16);
  }
  [[nodiscard]] int number(std::int64_t row, std::int64_t at) const {
    return static_cast<int>((row * 31 + at * 17 + row * at) % (bits == 4 ? 16 : 256));
  }
  [[nodiscard]] double value(std::int64_t row, std::int64_t at) const {
    return static_cast<double>(number(row, at) - zero(row, at / block)) *
           static_cast<double>(scale(row, at / block));
  }
  /// The fields of a graph that multiplies x [rows of x, depth] by it.
  [[nodiscard]] std::string graph() const {
    std::string numbers;
    std::string points;
    std::vector<float> scales;
    const auto put = [&](std::string& to, std::int64_t count, const auto& one) {
      for (std::int64_t i = 0; i < count; i += bits == 4 ? 2 : 1)
        to +=
            static_cast<char>(bits == 8 ? one(i) : one(i) | (i + 1 < count ? one(i + 1) << 4 : 0));
    };
    for (std::int64_t row = 0; row < rows; ++row) {
      put(numbers, blocks() * block, [&](std::int64_t i) { return number(row, i); });
      put(points, blocks(), [&](std::int64_t i) { return zero(row, i); });
      for (std::int64_t i = 0; i < blocks(); ++i) scales.push_back(scale(row, i));
    }
    const std::vector<std::string> inputs = zeros == -1
                                                ? std::vector<std::string>{"x", "w", "s"}
                                                : std::vector<std::string>{"x", "w", "s", "z"};
    const auto count = [](const std::string& text) {
      return static_cast<std::int64_t>(text.size());
    };
    const std::string node =
        b::node("MatMulNBits", inputs, {"y"},
                b::int_attribute("K", depth) + b::int_attribute("N", rows) +
                    b::int_attribute("bits", bits) + b::int_attribute("block_size", block) +
                    b::text(7, "com.microsoft"));
    return b::nodes({node}) + b::weight(b::tensor("w", 2, {count(numbers)}, numbers)) +
           b::weight(
               b::tensor("s", 1, {static_cast<std::int64_t>(scales.size())}, b::floats(scales))) +
           b::weight(b::tensor("z", 2, {count(points)}, points)) +
           b::input(b::port("x", 1, {-1, depth})) + b::output(b::port("y", 1, {-1, rows}));
  }
};

/// Bytes that the weight takes on the device, after products with 1 and with 3 rows were compared.
std::uint64_t bytes_of(const Weight& weight) {
  const Device& device = api_device();
  const onnx::Model model = onnx::load(device, b::bytes(b::model(weight.graph())));
  const std::uint64_t before = memory_report(device).asked;
  for (const std::uint64_t rows : {1, 3}) {
    std::vector<float> x(rows * static_cast<std::uint64_t>(weight.depth));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 6.0F;
    const auto given = device.tensor({rows, static_cast<std::uint64_t>(weight.depth)}, x);
    const std::vector<float> y = model.run({{"x", given}}).at("y").to_vector();
    for (std::uint64_t i = 0; i < y.size(); i += 7) {
      const auto row = static_cast<std::int64_t>(i % static_cast<std::uint64_t>(weight.rows));
      const std::uint64_t first =
          i / static_cast<std::uint64_t>(weight.rows) * static_cast<std::uint64_t>(weight.depth);
      double must = 0;
      double size = 0;
      for (std::int64_t k = 0; k < weight.depth; ++k) {
        const double part =
            weight.value(row, k) * static_cast<double>(x[first + static_cast<std::uint64_t>(k)]);
        must += part;
        size += part < 0 ? -part : part;
      }
      EXPECT_NEAR(y[i], must, 2e-6 * size) << "element " << i << " of " << rows << " rows";
    }
  }
  EXPECT_TRUE(model.report().replayed) << model.report().why;
  return memory_report(device).asked - before;
}

TEST(DeviceOnnxBlocks, TakeNoMoreMemoryThanTheirBits) {
  const auto blocks = static_cast<std::uint64_t>(96 * 512 / 32);
  struct Case {
    Weight weight;
    std::uint64_t bytes;  ///< Of a block of 32 numbers.
  };
  for (const auto& [weight, bytes] : {
           Case{{}, 18},                // q4_0
           Case{{.zeros = 8}, 18},      // the same zero points, written down
           Case{{.block = 128}, 18},    // four blocks with one scale
           Case{{.exact = false}, 36},  // scales of f32 are sums of two
           Case{{.zeros = -2}, 22},     // q5_0
           Case{{.zeros = 0}, 22},
           Case{{.bits = 8}, 34},     // q8_0
           Case{{.depth = 500}, 18},  // the last block is not full
       }) {
    SCOPED_TRACE(testing::Message()
                 << weight.bits << " bits, blocks of " << weight.block << ", depth " << weight.depth
                 << ", zero points " << weight.zeros << ", exact " << weight.exact);
    const std::uint64_t taken = bytes_of(weight);
    EXPECT_GE(taken, blocks * bytes);
    EXPECT_LE(taken, blocks * bytes + 24576);  // and what lies between the launches
  }
}

/// Numbers that no type of blocks holds are expanded.
TEST(DeviceOnnxBlocks, OthersAreExpanded) {
  EXPECT_GE(bytes_of({.block = 16}), 96U * 512 * 4);
  EXPECT_GE(bytes_of({.bits = 8, .zeros = 3}), 96U * 512 * 4);
}

}  // namespace
}  // namespace weft::test
