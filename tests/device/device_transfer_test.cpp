#include <algorithm>
#include <random>

#include "device_fixture.hpp"

// Writing, reading, copying and filling at every byte offset, with guard bytes around.

namespace weft::test {
namespace {

using gpu::Buffer;
using gpu::whole;
using Bytes = std::vector<std::uint8_t>;

Bytes random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

/// The ranges of the small tests: all phases of both ends, and sizes around a word.
std::vector<std::pair<std::size_t, std::size_t>> odd_ranges() {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (std::size_t offset = 0; offset < 6; ++offset) {
    for (const std::size_t size : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 63U, 255U}) {
      ranges.emplace_back(offset, size);
    }
  }
  ranges.emplace_back(253, 7);
  ranges.emplace_back(299, 1);
  ranges.emplace_back(300, 0);
  return ranges;
}

constexpr std::size_t small_bytes = 300;

TEST(DeviceTransfer, WritesAnyBytesAndNoOthers) {
  gpu::Device& on = device();
  std::uint32_t seed = 1;
  for (const auto& [offset, size] : odd_ranges()) {
    Bytes expected = random_bytes(small_bytes, ++seed);
    const Buffer buffer = upload(on, expected);
    const Bytes written = random_bytes(size, ++seed);
    ASSERT_TRUE(ok(on.write({buffer, offset, size}, bytes_of(written))));
    std::ranges::copy(written, expected.begin() + static_cast<std::ptrdiff_t>(offset));
    ASSERT_EQ(download<std::uint8_t>(on, buffer), expected) << offset << " + " << size;
  }
}

TEST(DeviceTransfer, ReadsAnyBytes) {
  gpu::Device& on = device();
  const Bytes all = random_bytes(small_bytes, 7);
  const Buffer buffer = upload(on, all);
  for (const auto& [offset, size] : odd_ranges()) {
    Bytes guarded(size + 8, 0xAB);
    const auto inside = std::as_writable_bytes(std::span(guarded)).subspan(4, size);
    ASSERT_TRUE(ok(on.read({buffer, offset, size}, inside)));
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(guarded[4 + i], all[offset + i]);
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_EQ(guarded[i], 0xAB);
      ASSERT_EQ(guarded[4 + size + i], 0xAB);
    }
    auto pending = on.read_async({buffer, offset, size});
    ASSERT_TRUE(ok(pending));
    const auto bytes = pending->get();
    ASSERT_TRUE(ok(bytes));
    ASSERT_TRUE(std::ranges::equal(*bytes, inside));
    EXPECT_TRUE(pending->ready());
    EXPECT_TRUE(fails(pending->get(), ErrorCode::invalid_argument, "already"));
  }
}

TEST(DeviceTransfer, FillsAnyBytesAndNoOthers) {
  gpu::Device& on = device();
  std::uint32_t seed = 100;
  for (const auto& [offset, size] : odd_ranges()) {
    for (const std::uint8_t value : {std::uint8_t{0}, std::uint8_t{0xA5}}) {
      Bytes expected = random_bytes(small_bytes, ++seed);
      const Buffer buffer = upload(on, expected);
      ASSERT_TRUE(ok(on.fill({buffer, offset, size}, value)));
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(offset), size, value);
      ASSERT_EQ(download<std::uint8_t>(on, buffer), expected) << offset << " + " << size;
    }
  }
}

TEST(DeviceTransfer, CopiesAnyBytesBetweenBuffers) {
  gpu::Device& on = device();
  const Bytes source = random_bytes(small_bytes, 5);
  const Buffer from = upload(on, source);
  std::uint32_t seed = 1000;
  for (std::size_t a = 0; a < 5; ++a) {
    for (std::size_t b = 0; b < 5; ++b) {
      for (const std::size_t size : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 64U, 257U}) {
        Bytes expected = random_bytes(small_bytes, ++seed);
        const Buffer to = upload(on, expected);
        ASSERT_TRUE(ok(on.copy({from, a, size}, {to, b, size})));
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(a), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(b));
        ASSERT_EQ(download<std::uint8_t>(on, to), expected) << a << " -> " << b << ", " << size;
      }
    }
  }
}

TEST(DeviceTransfer, CopiesInsideOneBufferEvenWhereRangesOverlap) {
  gpu::Device& on = device();
  std::uint32_t seed = 2000;
  for (const std::size_t from : {0U, 3U, 8U, 40U}) {
    for (const std::size_t to : {0U, 1U, 4U, 8U, 41U, 100U}) {
      for (const std::size_t size : {1U, 4U, 33U, 160U}) {
        Bytes expected = random_bytes(small_bytes, ++seed);
        const Buffer buffer = upload(on, expected);
        ASSERT_TRUE(ok(on.copy({buffer, from, size}, {buffer, to, size})));
        std::memmove(expected.data() + to, expected.data() + from, size);
        ASSERT_EQ(download<std::uint8_t>(on, buffer), expected) << from << " -> " << to;
      }
    }
  }
}

TEST(DeviceTransfer, OverlappingCopyLargerThanTheTemporaryBuffer) {
  gpu::Device& on = device();
  Bytes expected = random_bytes((40U << 20) + 11, 3);
  const Buffer buffer = upload(on, expected);
  const std::size_t size = expected.size() - 1001;
  ASSERT_TRUE(ok(on.copy({buffer, 0, size}, {buffer, 1001, size})));
  std::memmove(expected.data() + 1001, expected.data(), size);
  ASSERT_TRUE(download<std::uint8_t>(on, buffer) == expected);
  ASSERT_TRUE(ok(on.copy({buffer, 1001, size}, {buffer, 2, size})));
  std::memmove(expected.data() + 2, expected.data() + 1001, size);
  ASSERT_TRUE(download<std::uint8_t>(on, buffer) == expected);
}

TEST(DeviceTransfer, LargeAndOdd) {
  gpu::Device& on = device();
  const std::size_t total = (68U << 20) + 23;  // More than two chunks of an upload or a read-back.
  if (on.caps().max_buffer < total)
    GTEST_SKIP() << "buffers are masked to " << on.caps().max_buffer;
  Bytes expected = random_bytes(total, 9);
  const Buffer buffer = upload(on, expected);
  ASSERT_TRUE(download<std::uint8_t>(on, buffer) == expected);
  const Bytes part = random_bytes(total - 10, 10);
  ASSERT_TRUE(ok(on.write({buffer, 5, part.size()}, bytes_of(part))));
  std::ranges::copy(part, expected.begin() + 5);
  ASSERT_TRUE(download<std::uint8_t>(on, buffer) == expected);
  const auto other = on.allocate(total);
  ASSERT_TRUE(ok(other));
  ASSERT_TRUE(ok(on.fill(whole(*other), 0x11)));
  ASSERT_TRUE(ok(on.copy({buffer, 3, total - 8}, {*other, 6, total - 8})));
  Bytes copied(total, 0x11);
  std::copy_n(expected.begin() + 3, total - 8, copied.begin() + 6);
  ASSERT_TRUE(download<std::uint8_t>(on, *other) == copied);
  auto pending = on.read_async({*other, 1, total - 1});
  ASSERT_TRUE(ok(pending));
  const auto bytes = pending->get();
  ASSERT_TRUE(ok(bytes));
  EXPECT_EQ(std::memcmp(bytes->data(), copied.data() + 1, total - 1), 0);
}

TEST(DeviceTransfer, EmptyBufferTakesEmptyTransfers) {
  gpu::Device& on = device();
  const auto empty = on.allocate(0);
  ASSERT_TRUE(ok(empty));
  EXPECT_EQ(empty->size(), 0U);
  EXPECT_NE(empty->id(), 0U);
  EXPECT_TRUE(ok(on.write(whole(*empty), {})));
  EXPECT_TRUE(ok(on.read(whole(*empty), {})));
  EXPECT_TRUE(ok(on.fill(whole(*empty), 1)));
  EXPECT_TRUE(ok(on.copy(whole(*empty), whole(*empty))));
  auto pending = on.read_async(whole(*empty));
  ASSERT_TRUE(ok(pending));
  EXPECT_TRUE(pending->ready());
  EXPECT_TRUE(pending->get()->empty());
}

TEST(DeviceTransfer, WrongRangesAreErrorsWithTheValues) {
  gpu::Device& on = device();
  const Buffer buffer = upload(on, Bytes(10, 0));
  Bytes host(20);
  const auto room = std::as_writable_bytes(std::span(host));
  EXPECT_TRUE(fails(on.read({buffer, 4, 7}, room.first(7)), ErrorCode::invalid_argument,
                    "7 bytes at offset 4 do not lie in a buffer of 10 bytes"));
  EXPECT_TRUE(fails(on.write({buffer, 11, 0}, {}), ErrorCode::invalid_argument, "offset 11"));
  EXPECT_TRUE(fails(on.read({buffer, ~std::uint64_t{0}, 4}, room.first(4)),
                    ErrorCode::invalid_argument, "do not lie"));
  EXPECT_TRUE(
      fails(on.read({buffer, 0, 4}, room.first(5)), ErrorCode::invalid_argument, "5 bytes"));
  EXPECT_TRUE(fails(on.fill({{}, 0, 4}, 0), ErrorCode::invalid_argument, "no buffer"));
  EXPECT_TRUE(fails(on.copy({buffer, 0, 4}, {buffer, 4, 5}), ErrorCode::invalid_argument,
                    "from 4 bytes to 5 bytes"));
  EXPECT_TRUE(ok(on.poll()));
}

TEST(DeviceTransfer, ReadBackMayOutliveItsBuffer) {
  gpu::Device& on = device();
  auto pending = [&] {
    const Buffer buffer = upload(on, Bytes(1000, 0x42));
    return on.read_async(whole(buffer));
  }();
  ASSERT_TRUE(ok(pending));
  const Buffer next = upload(on, Bytes(1000, 0x17));  // May well be the same memory.
  const auto bytes = pending->get();
  ASSERT_TRUE(ok(bytes));
  EXPECT_TRUE(std::ranges::all_of(*bytes, [](std::byte b) { return b == std::byte{0x42}; }));
  EXPECT_EQ(download<std::uint8_t>(on, next), Bytes(1000, 0x17));
}

}  // namespace
}  // namespace weft::test
