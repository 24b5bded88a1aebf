#include "host_array.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.hpp"
#include "ops/case.hpp"

namespace weft::test {
namespace {

template <class T>
HostArray copied(const Tensor& tensor, std::vector<T> values) {
  return {tensor.dtype(), tensor.shape(), {values.begin(), values.end()}};
}

template <class T>
Tensor made(const Device& device, const HostArray& host) {
  std::vector<T> values;
  for (const Number value : host.values) values.push_back(static_cast<T>(value));
  return device.tensor(host.shape, values);
}

std::uint64_t count_of(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

std::size_t number_of(const Shape& shape, std::span<const std::uint64_t> at) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) number = number * shape[i] + at[i];
  return number;
}

}  // namespace

Number as_element(DType dtype, Number value) {
  switch (dtype) {
    case DType::f32: return static_cast<float>(value);
    case DType::f16: return f32_from_f16(f16_bits(static_cast<float>(value)));
    case DType::bf16: return f32_from_bf16(bf16_bits(static_cast<float>(value)));
    case DType::boolean: return value != 0 ? 1 : 0;
    default: break;
  }
  const auto whole = static_cast<Wide>(value);
  switch (dtype) {
    case DType::i32: return static_cast<std::int32_t>(whole);
    case DType::u32: return static_cast<std::uint32_t>(whole);
    case DType::i16: return static_cast<std::int16_t>(whole);
    case DType::i8: return static_cast<std::int8_t>(whole);
    case DType::u8: return static_cast<std::uint8_t>(whole);
    default: return static_cast<std::int64_t>(whole);
  }
}

HostArray read(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::i32: return copied(tensor, tensor.to_vector<std::int32_t>());
    case DType::u32: return copied(tensor, tensor.to_vector<std::uint32_t>());
    case DType::i64: return copied(tensor, tensor.to_vector<std::int64_t>());
    case DType::i16: return copied(tensor, tensor.to_vector<std::int16_t>());
    case DType::i8: return copied(tensor, tensor.to_vector<std::int8_t>());
    case DType::u8:
    case DType::boolean: return copied(tensor, tensor.to_vector<std::uint8_t>());
    default: return copied(tensor, tensor.to_vector());
  }
}

Tensor upload(const Device& device, const HostArray& host) {
  switch (host.dtype) {
    case DType::i32: return made<std::int32_t>(device, host);
    case DType::u32: return made<std::uint32_t>(device, host);
    case DType::i64: return made<std::int64_t>(device, host);
    case DType::i16: return made<std::int16_t>(device, host);
    case DType::i8: return made<std::int8_t>(device, host);
    case DType::u8: return made<std::uint8_t>(device, host);
    case DType::boolean: return made<std::uint8_t>(device, host).to(DType::boolean);
    default: return made<float>(device, host).to(host.dtype);
  }
}

HostArray each(DType dtype, const std::vector<HostArray>& inputs,
               const std::function<Number(const std::vector<Number>&)>& f) {
  Shape shape;
  for (const HostArray& input : inputs) {
    Shape both(std::max(shape.size(), input.shape.size()), 1);
    for (const Shape* part : {static_cast<const Shape*>(&shape), &input.shape}) {
      const std::size_t missing = both.size() - part->size();
      for (std::size_t i = 0; i < part->size(); ++i) {
        if ((*part)[i] != 1) both[i + missing] = (*part)[i];
      }
    }
    shape = both;
  }
  HostArray out{dtype, shape, {}};
  for (ops::Index at(shape); !at.done(); at.next()) {
    std::vector<Number> elements;
    for (const HostArray& input : inputs) {
      const std::size_t missing = shape.size() - input.shape.size();
      std::size_t number = 0;
      for (std::size_t i = 0; i < input.shape.size(); ++i) {
        number = number * input.shape[i] + (input.shape[i] == 1 ? 0 : at[i + missing]);
      }
      elements.push_back(input.values[number]);
    }
    out.values.push_back(as_element(dtype, f(elements)));
  }
  return out;
}

HostArray along(DType dtype, const HostArray& x, const std::vector<std::uint32_t>& dims,
                bool keep_dims, const std::function<Number(const std::vector<Number>&)>& f) {
  Shape kept = x.shape;
  for (const std::uint32_t dim : dims) kept[dim] = 1;
  std::vector<std::vector<Number>> groups(count_of(kept));
  std::size_t n = 0;
  for (ops::Index at(x.shape); !at.done(); at.next(), ++n) {
    std::vector<std::uint64_t> to(at.values().begin(), at.values().end());
    for (const std::uint32_t dim : dims) to[dim] = 0;
    groups[number_of(kept, to)].push_back(x.values[n]);
  }
  HostArray out{dtype, {}, {}};
  for (std::uint32_t i = 0; i < kept.size(); ++i) {
    if (keep_dims || !std::ranges::contains(dims, i)) out.shape.push_back(kept[i]);
  }
  for (const auto& group : groups) out.values.push_back(as_element(dtype, f(group)));
  return out;
}

HostArray take(const HostArray& x, const Shape& shape,
               const std::function<bool(std::vector<std::uint64_t>&)>& place, Number value) {
  HostArray out{x.dtype, shape, {}};
  for (ops::Index at(shape); !at.done(); at.next()) {
    std::vector<std::uint64_t> from(at.values().begin(), at.values().end());
    const bool found = place(from);
    out.values.push_back(found ? x.values[number_of(x.shape, from)] : value);
  }
  return out;
}

HostArray rows(DType dtype, const HostArray& x, std::uint32_t dim,
               const std::function<std::vector<Number>(const std::vector<Number>&)>& f) {
  HostArray out{dtype, x.shape, std::vector<Number>(x.values.size())};
  Shape others = x.shape;
  others[dim] = 1;
  for (ops::Index at(others); !at.done(); at.next()) {
    std::vector<std::uint64_t> from(at.values().begin(), at.values().end());
    std::vector<Number> row;
    for (from[dim] = 0; from[dim] < x.shape[dim]; ++from[dim])
      row.push_back(x.values[number_of(x.shape, from)]);
    const std::vector<Number> made_row = f(row);
    for (from[dim] = 0; from[dim] < x.shape[dim]; ++from[dim])
      out.values[number_of(x.shape, from)] = as_element(dtype, made_row[from[dim]]);
  }
  return out;
}

}  // namespace weft::test
