// Kernels that also write their results in packed form: the bytes are those that the kernel which
// only packs gives.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "device_fixture.hpp"
#include "graph/executor.hpp"
#include "ops/attention/attention.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/norm/norm.hpp"

namespace weft::test {
namespace {

using ops::Plan;
using ops::View;

/// Buffers with random floats, one per slot.
class PackedResults : public testing::Test {
 protected:
  View floats(std::initializer_list<std::uint64_t> shape) {
    View view = View::dense(DType::f32, shape, ops::Slot(slots_.size()));
    std::vector<float> values(view.count());
    for (float& value : values) value = normal_(random_);
    add(bytes_of(values));
    return view;
  }

  /// Blocks of q8_0 with small scales.
  View weights(std::uint64_t rows, std::uint64_t columns) {
    View view = View::dense(DType::q8_0, {rows, columns}, ops::Slot(slots_.size()));
    std::vector<std::uint8_t> bytes(view.bytes().size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::size_t place = i % 34;
      bytes[i] = place == 0   ? static_cast<std::uint8_t>(random_() % 256)
                 : place == 1 ? 0x14
                              : static_cast<std::uint8_t>(random_() % 256);
    }
    add(bytes_of(bytes));
    return view;
  }

  View room(const View& x) {
    View view = ops::mul_mat::packed_view(x);
    view.slot = ops::Slot(slots_.size());
    const std::vector<std::uint32_t> before(view.count(), 0xABABABABU);
    add(bytes_of(before));
    return view;
  }

  void run(const Result<Plan>& plan) {
    ASSERT_TRUE(ok(plan));
    gpu::Stream stream = device().stream();
    ASSERT_TRUE(ok(executor_.run(stream, *plan, slots_)));
    ASSERT_TRUE(ok(stream.submit()));
  }

  std::vector<std::uint32_t> words(const View& view) {
    std::vector<std::uint32_t> out(view.count());
    const auto& buffer = slots_.at(view.slot.number());
    EXPECT_TRUE(
        ok(device().read({buffer, 0, 4 * out.size()}, std::as_writable_bytes(std::span(out)))));
    return out;
  }

  /// Whether `packed` holds what packing y alone gives; `y` must not be all the same.
  void expect_packed(const View& y, const View& packed) {
    const View wanted = room(y);
    run(ops::mul_mat::plan(ops::mul_mat::PackArgs{.x = y, .packed = wanted}, device().caps()));
    const std::vector<std::uint32_t> all = words(wanted);
    EXPECT_EQ(words(packed), all);
    EXPECT_NE(all.front(), all.at(1));
  }

 private:
  void add(std::span<const std::byte> bytes) {
    auto buffer = device().allocate(bytes.size());
    ASSERT_TRUE(ok(buffer));
    ASSERT_TRUE(ok(device().write(gpu::whole(*buffer), bytes)));
    slots_.push_back(std::move(*buffer));
  }

  graph::Executor executor_{device()};
  std::vector<gpu::Buffer> slots_;
  std::mt19937 random_{7};
  std::normal_distribution<float> normal_{0, 2};
};

TEST_F(PackedResults, OfNorms) {
  for (const auto& [rows, columns] : {std::pair{3U, 96U}, {1U, 2048U}, {2U, 5120U}}) {
    const View x = floats({rows, columns});
    const View y = floats({rows, columns});
    const View packed = room(y);
    run(ops::norm::plan({.kind = ops::norm::Kind::rms,
                         .x = x,
                         .y = y,
                         .weight = floats({columns}),
                         .bias = {},
                         .residual = floats({rows, columns}),
                         .sum = floats({rows, columns}),
                         .packed = packed},
                        device().caps()));
    expect_packed(y, packed);
  }
}

TEST_F(PackedResults, OfLayerNorms) {
  const View x = floats({2, 64});
  const View y = floats({2, 64});
  const View packed = room(y);
  run(ops::norm::plan({.kind = ops::norm::Kind::layer,
                       .x = x,
                       .y = y,
                       .weight = {},
                       .bias = {},
                       .residual = {},
                       .sum = {},
                       .packed = packed},
                      device().caps()));
  expect_packed(y, packed);
}

TEST_F(PackedResults, OfGatedUnits) {
  for (const auto& [n, m, k] : {std::array<std::uint64_t, 3>{1, 96, 256}, {3, 32, 2112}}) {
    const View x = floats({n, k});
    const View y = floats({n, m});
    const View packed = room(y);
    const View both = weights(2 * m, k);
    const View packed_x = room(x);
    run(ops::mul_mat::plan(ops::mul_mat::PackArgs{.x = x, .packed = packed_x}, device().caps()));
    const auto plan = ops::mul_mat::plan(
        ops::mul_mat::JoinArgs{.weights = {both.slice(0, 0, m), both.slice(0, m, m)},
                               .x = x,
                               .y = {y},
                               .gated = "swiglu",
                               .allow_q8 = true,
                               .packed = packed_x,
                               .packed_y = packed},
        device().caps());
    const bool pays = plan || n == 1 || plan.error().code != ErrorCode::unsupported;
    if (!pays) continue;  // GPUs pack several columns of large weights only.
    run(plan);
    expect_packed(y, packed);
  }
}

TEST_F(PackedResults, OfAttention) {
  const std::uint64_t heads = 4;
  for (const auto& [queries, size] : {std::pair{1U, 64U}, {2U, 96U}}) {
    const View y = floats({1, queries, heads, size});
    const View rows = View::dense(DType::f32, {1, queries, heads * size}, y.slot);
    const View packed = room(rows);
    run(ops::attention::plan({.q = floats({1, heads, queries, size}),
                              .k = floats({1, 2, 300, size}),
                              .v = floats({1, 2, 300, size}),
                              .y = y.transpose(1, 2),
                              .rules = {.scale = 0.1F},
                              .kernel = "decode",
                              .packed = packed},
                             device().caps()));
    expect_packed(rows, packed);
  }
}

}  // namespace
}  // namespace weft::test
