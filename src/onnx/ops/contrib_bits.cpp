#include <algorithm>

#include "onnx/ops/blocks.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

// Operations of com.microsoft with weights of 4 or 8 bits in blocks.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

/// x times the rows of blocks that could be repacked: what is missing of the last block counts as
/// 0.
Tensor product(const Tensor& x, const std::vector<Tensor>& weights, const Tensor& bias) {
  const U there = last_of(x.shape());
  const U depth = last_of(weights.front().shape());
  const Shape none(x.shape().size(), 0);
  Shape more = none;
  more.back() = depth - there;
  const Tensor wide = there == depth ? x : pad(x, none, more);
  const LinearOptions exact{.precision =
                                x.dtype() == DType::f32 ? Precision::highest : Precision::standard};
  Tensor y = linear(wide, weights[0], bias, exact);
  if (weights.size() > 1) y = y + linear(wide, weights[1], {}, exact) * Repacked::second;
  return y;
}

/// x times a matrix of 4 or 8 bits [N, blocks, bytes], with a scale (and a zero point) for each
/// block.
Values matmul_nbits(Call& c) {
  const I bits = c.i("bits", 4);
  const auto n = static_cast<U>(c.i("N", 0));
  const auto depth = static_cast<U>(c.i("K", 0));
  const auto block = static_cast<U>(c.i("block_size", 32));
  constexpr U most = U{1} << 40;
  if ((bits != 4 && bits != 8) || n == 0 || depth == 0 || block == 0 || block % 2 != 0 ||
      n > most || depth > most || block > most)
    c.refuse(formatted("{} rows of {} numbers of {} bits in blocks of {} are not done.", n, depth,
                       bits, block));
  Blocks from{.numbers = c.in(1),
              .scales = c.in(2),
              .zeros = c.has(3) ? c.in(3) : Value(),
              .bits = bits,
              .rows = n,
              .blocks = (depth + block - 1) / block,
              .block = block};
  const U each = bits == 8 ? 1 : 2;
  const U zeros = from.zeros.exists() && from.zeros.type() == Type::u8
                      ? n * ((from.blocks + each - 1) / each)
                      : n * from.blocks;
  if (from.numbers.size() != n * (from.blocks * block / each) || from.numbers.type() != Type::u8 ||
      from.scales.size() != n * from.blocks || (from.zeros.exists() && from.zeros.size() != zeros))
    c.wrong(formatted("{}, {} and {} are not {} rows of {} blocks of {} numbers of {} bits.",
                      describe(c.in(1)), describe(c.in(2)),
                      from.zeros.exists() ? describe(from.zeros) : "no zero points", n, from.blocks,
                      block, bits));
  const Tensor x = c.t(0);
  if (x.shape().empty() || last_of(x.shape()) != depth)
    c.wrong(formatted("{} has no rows of {} numbers.", describe(c.in(0)), depth));
  const Tensor bias = c.maybe(5);
  if (!c.has(4)) {
    const Repacked made = repacked(c.context, from, {n, from.blocks * block});
    if (!made.weights.empty()) return {as(product(x, made.weights, bias), x.dtype())};
    const Tensor weights = expanded(c.device(), from).slice(1, 0, depth);
    return {as(linear(x, as(weights, x.dtype()), bias), x.dtype())};
  }
  // Each column names the group whose scale and zero point it has.
  if (c.in(4).size() < depth)
    c.wrong(formatted("{} names no group for each of {} columns.", describe(c.in(4)), depth));
  const Tensor groups = as(c.t(4), DType::i32).reshape({c.in(4).size()}).slice(0, 0, depth);
  const auto columns = [&](const Tensor& t) {
    return take(t.reshape({n, from.blocks}), groups, 1);
  };
  const Tensor whole =
      unpacked(from.numbers.on(c.device()), bits, n, from.blocks * block).slice(1, 0, depth);
  Tensor zero = c.device().full({n, from.blocks}, from.middle());
  if (from.zeros.exists())
    zero = from.zeros.type() == Type::u8 ? unpacked(c.t(3), bits, n, from.blocks)
                                         : as(c.t(3), DType::f32);
  const Tensor weights = (whole - columns(zero)) * columns(as(c.t(2), DType::f32));
  return {as(linear(x, as(weights, x.dtype()), bias), x.dtype())};
}

/// Rows (or whatever lies along the axis) of a table in blocks, by index; only they are expanded.
Values gather_blocks(Call& c) {
  const I bits = c.i("bits", 4);
  const Type type = c.in(0).type();
  const bool narrow = type == Type::i4 || type == Type::u4;  // a type of the host's only
  const bool packed = type == Type::u8 && bits == 4;
  if (!narrow && type != Type::u8) c.refuse(formatted("{} is not done.", describe(c.in(0))));
  if (bits != 4 && bits != 8) c.refuse(formatted("Numbers of {} bits are not done.", bits));
  const auto block = static_cast<U>(std::max<I>(c.i("block_size", 128), 1));
  const std::size_t rank = c.shape(0).size();
  const std::size_t along = axis_of(c, c.i("quantize_axis", 1), rank);
  const std::size_t axis = axis_of(c, c.i("gather_axis", 0), rank);
  if (packed && along + 1 != rank) c.refuse("Packed numbers have blocks along the last axis only.");
  const Tensor at = c.t(1);
  const auto wide = [&](std::size_t i) {
    return narrow ? Value(converted(c.host(i), Type::i8)).on(c.device()) : c.t(i);
  };
  const bool rows_only = axis != along;
  const auto taken = [&](const Tensor& t) {
    return rows_only ? take(t, at, static_cast<int>(axis)) : t;
  };
  const auto numbers = [&](const Tensor& t, U columns) {  // of the last axis
    if (!packed) return t.to(DType::f32);
    Shape shape = t.shape();
    const U rows = last_of(shape) == 0 ? 0 : t.size() / last_of(shape);
    shape.back() = columns;
    return rows == 0 ? zeros(c.device(), shape) : unpacked(t, bits, rows, columns).reshape(shape);
  };
  const Tensor scales = taken(as(c.t(2), DType::f32));
  const std::size_t place =
      along + (rows_only && axis < along ? at.shape().size() - 1 : 0);  // of the blocks
  Tensor y = taken(wide(0));
  y = numbers(y, last_of(y.shape()) * 2);
  const U extent = y.shape().at(place);
  if (scales.shape().size() != y.shape().size() ||
      (extent + block - 1) / block != scales.shape().at(place))
    c.wrong(formatted("Scales {} are not those of blocks of {} in {}.", describe(c.in(2)), block,
                      describe(c.in(0))));
  const auto spread = [&](const Tensor& t) {
    const int where = static_cast<int>(place);
    return repeat_interleave(t, block, where).slice(where, 0, extent);
  };
  if (c.has(3))
    y = y - spread(numbers(taken(wide(3)), last_of(scales.shape())));
  else if (!narrow)
    y = y - (bits == 4 ? 8.0 : 128.0);
  y = as(y * spread(scales), c.t(2).dtype());
  return {rows_only ? y : take(y, at, static_cast<int>(axis))};
}

}  // namespace

void add_contrib_bits(Table& table) {
  table["com.microsoft.MatMulNBits"] = matmul_nbits;
  table["com.microsoft.GatherBlockQuantized"] = gather_blocks;
}

}  // namespace weft::onnx
