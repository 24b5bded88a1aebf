#include "onnx/ops/blocks.hpp"

#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/half.hpp"
#include "onnx/ops/common.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/recover.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using U = std::uint64_t;
constexpr U width = 32;  // elements of a block of q4_0, q5_0 and q8_0
constexpr std::size_t most_packed = 4096;

/// The whole numbers of blocks less their zero points, one at a time.
class Numbers {
 public:
  explicit Numbers(const Blocks& from)
      : bits_(from.bits),
        middle_(static_cast<int>(from.middle())),
        columns_(from.blocks * from.block),
        blocks_(from.blocks),
        bytes_(from.numbers.known()->bytes) {
    if (from.zeros.exists()) zeros_ = from.zeros.known()->bytes;
  }
  [[nodiscard]] int zero(U row, U block) const {
    return zeros_.empty() ? middle_ : at(zeros_, row, block, blocks_);
  }
  [[nodiscard]] int number(U row, U column) const { return at(bytes_, row, column, columns_); }

 private:
  /// Rows begin with a byte of their own.
  [[nodiscard]] int at(std::span<const std::byte> bytes, U row, U column, U columns) const {
    if (bits_ == 8) return std::to_integer<int>(bytes[row * columns + column]);
    const int both = std::to_integer<int>(bytes[row * ((columns + 1) / 2) + column / 2]);
    return column % 2 == 0 ? both & 15 : both >> 4;
  }
  std::int64_t bits_;
  int middle_;
  U columns_;
  U blocks_;
  std::span<const std::byte> bytes_;
  std::span<const std::byte> zeros_;
};

/// The type whose whole numbers are these.
std::optional<DType> type_for(const Blocks& from, const Numbers& numbers) {
  bool is_middle = true;
  for (U row = 0; row < from.rows && is_middle; ++row) {
    for (U b = 0; b < from.blocks; ++b)
      is_middle = is_middle && numbers.zero(row, b) == static_cast<int>(from.middle());
  }
  if (from.bits == 4) return is_middle ? DType::q4_0 : DType::q5_0;  // -15 to 15 in the second
  return is_middle ? std::optional(DType::q8_0) : std::nullopt;
}

struct Scales {
  std::vector<std::uint16_t> first;
  std::vector<std::uint16_t> second;  ///< Empty where the first are exact.
};

/// Scales as f16, or as the sums of two; nothing where they do not have enough bits.
std::optional<Scales> split(const std::vector<double>& scales) {
  Scales out;
  bool exact = true;
  for (const double scale : scales) {
    const std::uint16_t first = f16_bits(static_cast<float>(scale));
    const double rest = scale - static_cast<double>(f32_from_f16(first));
    const std::uint16_t second = f16_bits(static_cast<float>(rest / Repacked::second));
    const double missing = rest - static_cast<double>(f32_from_f16(second)) * Repacked::second;
    if (!(std::fabs(missing) <= std::ldexp(std::fabs(scale), -22))) return std::nullopt;
    exact = exact && rest == 0;
    out.first.push_back(first);
    out.second.push_back(second);
  }
  if (exact) out.second.clear();
  return out;
}

std::vector<std::byte> packed(const Blocks& from, const Numbers& numbers, DType dtype,
                              const std::vector<std::uint16_t>& scales) {
  const U each = from.block / width;
  const std::size_t size = dtype == DType::q4_0 ? 18 : dtype == DType::q5_0 ? 22 : 34;
  std::vector<std::byte> out(from.rows * from.blocks * each * size);
  std::byte* at = out.data();
  for (U row = 0; row < from.rows; ++row) {
    for (U part = 0; part < from.blocks * each; ++part, at += size) {
      const U b = part / each;
      std::memcpy(at, &scales[row * from.blocks + b], 2);
      std::uint32_t fifth = 0;
      for (U i = 0; i < width; ++i) {
        const int number = numbers.number(row, part * width + i) - numbers.zero(row, b);
        if (dtype == DType::q8_0) {
          at[2 + i] = static_cast<std::byte>(number);
          continue;
        }
        const auto code = static_cast<std::uint32_t>(number + (dtype == DType::q4_0 ? 8 : 16));
        fifth |= (code >> 4) << i;
        at[size - 16 + i % 16] |= static_cast<std::byte>((code & 15) << (i / 16 * 4));
      }
      if (dtype == DType::q5_0) std::memcpy(at + 2, &fifth, 4);
    }
  }
  return out;
}

}  // namespace

Tensor unpacked(const Tensor& bytes, std::int64_t bits, U rows, U columns) {
  if (bits == 8) return bytes.to(DType::f32).reshape({rows, columns});
  const Tensor both = bytes.to(DType::i32);
  const Tensor sixteen = full_like(both, 16);
  return stack({remainder(both, sixteen), floor_divide(both, sixteen)}, -1)
      .to(DType::f32)
      .reshape({rows, both.size() * 2 / rows})
      .slice(1, 0, columns);
}

Tensor expanded(const Device& device, const Blocks& from) {
  const Shape each{from.rows, from.blocks, 1};
  Tensor w = unpacked(from.numbers.on(device), from.bits, from.rows, from.blocks * from.block)
                 .reshape({from.rows, from.blocks, from.block});
  if (!from.zeros.exists())
    w = w - from.middle();
  else if (from.zeros.type() == Type::u8)
    w = w - unpacked(from.zeros.on(device), from.bits, from.rows, from.blocks).reshape(each);
  else
    w = w - as(from.zeros.on(device), DType::f32).reshape(each);
  return (w * as(from.scales.on(device), DType::f32).reshape(each))
      .reshape({from.rows, from.blocks * from.block});
}

Repacked repacked(Context& context, const Blocks& from, const Shape& shape) {
  const auto bytes_of = [](const Value& value) -> const void* {
    return value.exists() ? value.known()->bytes.data() : nullptr;
  };
  const bool known =
      from.numbers.known() != nullptr && from.scales.known() != nullptr &&
      (!from.zeros.exists() || (from.zeros.known() != nullptr && from.zeros.type() == Type::u8));
  if (!known || from.block % width != 0) return {};
  const Context::PackedKey key{bytes_of(from.numbers), bytes_of(from.scales), bytes_of(from.zeros)};
  if (const auto found = context.packed.find(key); found != context.packed.end())
    return {found->second.weights};
  if (context.packed.size() >= most_packed) context.packed.clear();
  Context::Packed& entry = context.packed[key];
  entry.from = {from.numbers, from.scales, from.zeros};
  const Numbers numbers(from);
  const auto dtype = type_for(from, numbers);
  const auto scales = split(from.scales.known()->doubles());
  if (!dtype || !scales) return {};
  for (const auto* these : {&scales->first, &scales->second}) {
    if (these->empty()) continue;
    const Tensor made = context.device.tensor(*dtype, shape, packed(from, numbers, *dtype, *these));
    keep(made, [from, dtype = *dtype, these = *these] {
      return packed(from, Numbers(from), dtype, these);
    });
    entry.weights.push_back(made);
  }
  return {entry.weights};
}

}  // namespace weft::onnx
