#include "random_program.hpp"

#include <cmath>

namespace weft::test {
namespace {

std::uint64_t count_of(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

Number random_element(DType dtype, ops::Random& random) {
  const std::uint64_t which = random.between(0, 19);
  if (dtype == DType::boolean) return static_cast<Number>(which % 2);
  if (is_float(dtype)) {
    if (which == 0) return not_a_number;
    if (which == 1) return infinite;
    if (which == 2) return -infinite;
    if (which == 3) return -0.0L;
    return as_element(dtype, static_cast<Number>(random.between(0, 80)) * 0.25L - 10);
  }
  if (which == 0) return lowest(dtype);
  if (which == 1) return highest(dtype);
  if (which < 6) return as_element(dtype, static_cast<Number>(random.next() >> 1U));
  return as_element(dtype,
                    static_cast<Number>(random.between(0, 12)) - (is_unsigned(dtype) ? 0 : 6));
}

}  // namespace

std::uint64_t Draws::next(std::uint64_t limit) {
  if (!of_bytes_) return random_.next() % limit;
  std::uint64_t drawn = 0;
  for (std::uint64_t most = 1; most < limit && !bytes_.empty(); most <<= 8U) {
    drawn = drawn << 8U | bytes_.front();
    bytes_ = bytes_.subspan(1);
  }
  return drawn % limit;
}

std::optional<Step> random_step(Source& source) {
  switch (source.below(7)) {
    case 0:
    case 1: return random_elementwise(source);
    case 2: return random_move(source);
    case 3:
    case 4: return random_rows(source);
    default: return random_binary(source);
  }
}

Shape random_shape(Source& source) {
  Shape shape;
  const std::uint64_t rank = source.random.between(1, 3);
  for (std::uint64_t i = 0; i < rank; ++i) {
    shape.push_back(source.chance(8) ? source.random.between(200, 700)
                                     : source.random.between(1, 9));
  }
  return count_of(shape) > 20000 ? Shape{source.random.between(1, 1500)} : shape;
}

HostArray random_array(DType dtype, const Shape& shape, Source& source) {
  HostArray host{dtype, shape, {}};
  for (std::uint64_t i = 0; i < count_of(shape); ++i) {
    host.values.push_back(random_element(dtype, source.elements));
  }
  return host;
}

HostArray small_array(DType dtype, const Shape& shape, Source& source) {
  HostArray host{dtype, shape, {}};
  const bool odd = source.chance(6);  // a few that are no numbers
  ops::Random& elements = source.elements;
  for (std::uint64_t i = 0; i < count_of(shape); ++i) {
    const auto small = static_cast<Number>(elements.between(0, 8));
    if (is_float(dtype) && odd && elements.between(1, 20) == 1) {
      host.values.push_back(elements.between(1, 2) == 1 ? not_a_number : infinite);
    } else {
      host.values.push_back(as_element(dtype, is_float(dtype)      ? small * 0.5L - 2
                                              : is_unsigned(dtype) ? small
                                                                   : small - 4));
    }
  }
  return host;
}

std::string describe(const HostArray& host) {
  return std::string(name(host.dtype)) + ops::describe(host.shape);
}

Number lowest(DType dtype) {
  switch (dtype) {
    case DType::i32: return -0x1p31L;
    case DType::i64: return -0x1p63L;
    case DType::i16: return -0x1p15L;
    case DType::i8: return -128;
    default: return 0;
  }
}

Number highest(DType dtype) {
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  return std::ldexp(1.0L, is_unsigned(dtype) ? bits : bits - 1) - 1;
}

Number fold(DType dtype, Wide value) {
  if (dtype == DType::boolean) return value != 0 ? 1 : 0;
  return as_element(dtype, static_cast<Number>(static_cast<std::int64_t>(value)));
}

}  // namespace weft::test
