#include "ops/case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/half.hpp"
#include "ops/quant/codec.hpp"
#include "ops/quant/random.hpp"

namespace weft::ops {

View TensorSpec::view(Slot slot, std::uint64_t front) const {
  View view{.dtype = dtype, .slot = slot, .rank = static_cast<std::uint32_t>(shape.size())};
  std::vector<std::uint32_t> memory = order;
  if (memory.empty()) {
    memory.resize(shape.size());
    std::iota(memory.begin(), memory.end(), 0U);
  }
  const auto repeats = [&](std::uint32_t dim) { return std::ranges::contains(repeat, dim); };
  std::uint64_t stride = step;
  bool fastest = true;
  for (std::size_t i = memory.size(); i-- > 0;) {
    const std::uint32_t dim = memory[i];
    view.shape[dim] = shape[dim];
    if (repeats(dim)) continue;
    view.stride[dim] = stride;
    stride *= std::max<std::uint64_t>(shape[dim], 1);
    if (fastest) stride += pad;
    fastest = false;
  }
  view.offset = front + offset / block_elements(dtype) * block_bytes(dtype);
  return view;
}

std::uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t Random::between(std::uint64_t low, std::uint64_t high) {
  return low + next() % (high - low + 1);
}

double Random::uniform(double low, double high) {
  return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
}

double round_to(DType type, double value) {
  switch (type) {
    case DType::f32: return static_cast<double>(static_cast<float>(value));
    case DType::f16: return static_cast<double>(f32_from_f16(f16_bits(static_cast<float>(value))));
    case DType::bf16:
      return static_cast<double>(f32_from_bf16(bf16_bits(static_cast<float>(value))));
    case DType::i32: return std::clamp(std::trunc(value), -2147483648.0, 2147483647.0);
    case DType::u32: return std::clamp(std::trunc(value), 0.0, 4294967295.0);
    case DType::i64: return std::trunc(value);
    case DType::i16: return std::clamp(std::trunc(value), -32768.0, 32767.0);
    case DType::i8: return std::clamp(std::trunc(value), -128.0, 127.0);
    case DType::u8: return std::clamp(std::trunc(value), 0.0, 255.0);
    case DType::boolean: return value != 0 ? 1 : 0;
    default: return value;
  }
}

namespace {

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

template <class T>
T get(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

void store_one(DType type, double value, std::byte* at) {
  switch (type) {
    case DType::f32: put(at, static_cast<float>(value)); break;
    case DType::f16: put(at, f16_bits(static_cast<float>(value))); break;
    case DType::bf16: put(at, bf16_bits(static_cast<float>(value))); break;
    case DType::i32: put(at, static_cast<std::int32_t>(value)); break;
    case DType::u32: put(at, static_cast<std::uint32_t>(value)); break;
    case DType::i64: put(at, static_cast<std::int64_t>(value)); break;
    case DType::i16: put(at, static_cast<std::int16_t>(value)); break;
    case DType::i8: put(at, static_cast<std::int8_t>(value)); break;
    case DType::boolean:
    case DType::u8: put(at, static_cast<std::uint8_t>(value)); break;
    default: break;
  }
}

double load_one(DType type, const std::byte* at) {
  switch (type) {
    case DType::f32: return static_cast<double>(get<float>(at));
    case DType::f16: return static_cast<double>(f32_from_f16(get<std::uint16_t>(at)));
    case DType::bf16: return static_cast<double>(f32_from_bf16(get<std::uint16_t>(at)));
    case DType::i32: return get<std::int32_t>(at);
    case DType::u32: return get<std::uint32_t>(at);
    case DType::i64: return static_cast<double>(get<std::int64_t>(at));
    case DType::i16: return get<std::int16_t>(at);
    case DType::i8: return get<std::int8_t>(at);
    case DType::boolean:
    case DType::u8: return get<std::uint8_t>(at);
    default: return 0;
  }
}

std::uint64_t byte_of(const View& view, std::span<const std::uint64_t> at) {
  std::uint64_t element = 0;
  for (std::size_t i = 0; i < at.size(); ++i) element += at[i] * view.stride[i];
  return view.offset + element / block_elements(view.dtype) * block_bytes(view.dtype);
}

/// Calls `visit` with the byte at which each element (or block) of a view starts.
template <class Visit>
void each_block(View view, const Visit& visit) {
  if (is_quantized(view.dtype)) {  // steps from block to block
    view.shape[view.rank - 1] /= block_elements(view.dtype);
    view.stride[view.rank - 1] = block_elements(view.dtype);
  }
  for (Index i(view.extents()); !i.done(); i.next()) visit(byte_of(view, i.values()));
}

}  // namespace

void HostTensor::set_blocks(std::vector<std::byte> bytes) {
  blocks = std::move(bytes);
  std::vector<float> decoded(blocks.size() / block_bytes(dtype) * block_elements(dtype));
  quant::dequantize(dtype, blocks, decoded);
  values.assign(decoded.begin(), decoded.end());
}

void store_values(const View& view, std::span<const double> values, std::span<std::byte> raw) {
  std::size_t n = 0;
  for (Index i(view.extents()); !i.done(); i.next()) {
    store_one(view.dtype, values[n++], raw.data() + byte_of(view, i.values()));
  }
}

void store_host(const View& view, const HostTensor& host, std::span<std::byte> raw) {
  if (!is_quantized(view.dtype)) return store_values(view, host.values, raw);
  const std::byte* from = host.blocks.data();
  each_block(view, [&](std::uint64_t at) {
    std::memcpy(raw.data() + at, from, block_bytes(view.dtype));
    from += block_bytes(view.dtype);
  });
}

void copy_elements(const View& view, std::span<const std::byte> from, std::span<std::byte> to) {
  each_block(view, [&](std::uint64_t at) {
    std::memcpy(to.data() + at, from.data() + at, block_bytes(view.dtype));
  });
}

std::vector<double> load_values(const View& view, std::span<const std::byte> raw) {
  if (is_quantized(view.dtype)) {
    HostTensor host{.dtype = view.dtype, .shape = {}, .values = {}, .blocks = {}};
    std::vector<std::byte> blocks;
    each_block(view, [&](std::uint64_t at) {
      const auto block = raw.subspan(at, block_bytes(view.dtype));
      blocks.insert(blocks.end(), block.begin(), block.end());
    });
    host.set_blocks(std::move(blocks));
    return host.values;
  }
  std::vector<double> values;
  values.reserve(view.count());
  for (Index i(view.extents()); !i.done(); i.next()) {
    values.push_back(load_one(view.dtype, raw.data() + byte_of(view, i.values())));
  }
  return values;
}

namespace {

/// Makes the elements along the last dimension what `fill` says of them together.
void arrange(Fill fill, std::span<double> row, Random& random) {
  if (fill == Fill::sorted) std::ranges::sort(row);
  if (fill != Fill::permutation) return;
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = static_cast<double>(i);
    std::swap(row[i], row[random.between(0, i)]);
  }
}

}  // namespace

HostTensor make_host(const TensorSpec& spec, Random& random) {
  HostTensor host{spec.dtype, spec.shape, {}, {}};
  const View view = spec.view(Slot(0), 0);
  if (is_quantized(spec.dtype)) {
    const double size = std::max(std::abs(spec.low), std::abs(spec.high));
    host.set_blocks(
        quant::random_blocks(spec.dtype, view.count() / block_elements(spec.dtype), size, random));
    return host;
  }
  host.values.resize(view.count());
  for (double& value : host.values) {
    const bool whole =
        spec.fill == Fill::integers || spec.fill == Fill::sorted || !is_float(spec.dtype);
    value = whole ? std::floor(random.uniform(spec.low, spec.high + 1))
                  : random.uniform(spec.low, spec.high);
    if (spec.fill == Fill::masked && random.between(0, 2) == 0) {
      value = -std::numeric_limits<double>::infinity();
    }
    value = round_to(spec.dtype, value);
  }
  const std::uint64_t length = spec.shape.empty() ? 1 : spec.shape.back();
  for (std::size_t at = 0; length > 0 && at < host.values.size(); at += length) {
    arrange(spec.fill, std::span(host.values).subspan(at, length), random);
  }
  if (!spec.repeat.empty()) {  // equal indices must have equal values: read back what a strided
                               // store keeps
    std::vector<std::byte> raw(view.bytes().end);
    store_values(view, host.values, raw);
    host.values = load_values(view, raw);
  }
  return host;
}

double allowed_epsilons(const Case& test, const Plan& plan) {
  const bool rounds = std::ranges::any_of(plan.dispatches, [](const Dispatch& dispatch) {
    const Features& features = dispatch.kernel.features;
    return features.subgroup_matrix || features.f16;
  });
  return rounds && test.matrix_epsilons > 0 ? test.matrix_epsilons : test.epsilons;
}

double allowed_error(const Case& test, DType type, double expected) {
  const double size = std::abs(expected);
  double allowed = test.epsilons * 0x1p-23 * std::max(test.scale, size);
  if (type == DType::f16) allowed += size * 0x1p-11 * 1.001 + 0x1p-25;
  if (type == DType::bf16) allowed += size * 0x1p-8 * 1.001;
  return allowed;
}

Index::Index(std::span<const std::uint64_t> shape)
    : shape_(shape.begin(), shape.end()),
      at_(shape.size(), 0),
      done_(std::ranges::contains(shape, 0U)) {}

void Index::next() {
  for (std::size_t i = shape_.size(); i-- > 0;) {
    if (++at_[i] < shape_[i]) return;
    at_[i] = 0;
  }
  done_ = true;
}

}  // namespace weft::ops
