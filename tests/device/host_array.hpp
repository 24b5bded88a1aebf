#pragma once

#include <cstdint>
#include <functional>
#include <vector>
#include <weft/weft.hpp>

namespace weft::test {

/// Enough digits for every value of every plain type.
using Number = long double;

/// Integers that hold the products of every two of 64 bits.
__extension__ typedef __int128
    Wide;  // NOLINT(modernize-use-using): __extension__ goes with a typedef alone

/// A tensor on the host, in row-major order.
struct HostArray {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<Number> values;
};

/// `value` as an element of a type: integers go round their range, floats are rounded.
Number as_element(DType dtype, Number value);

/// The elements of a tensor of any plain type.
HostArray read(const Tensor& tensor);
/// A tensor with these elements.
Tensor upload(const Device& device, const HostArray& host);

/// f of the elements of arrays that broadcast against each other, as elements of a type.
HostArray each(DType dtype, const std::vector<HostArray>& inputs,
               const std::function<Number(const std::vector<Number>&)>& f);
/// f of the elements along some dimensions (in row-major order), as elements of a type.
HostArray along(DType dtype, const HostArray& x, const std::vector<std::uint32_t>& dims,
                bool keep_dims, const std::function<Number(const std::vector<Number>&)>& f);
/// The element of x at the place that `place` finds for each place of a result of that shape;
/// `value` where it finds none.
HostArray take(const HostArray& x, const Shape& shape,
               const std::function<bool(std::vector<std::uint64_t>&)>& place, Number value = 0);
/// f of each row along a dimension: as many elements as before.
HostArray rows(DType dtype, const HostArray& x, std::uint32_t dim,
               const std::function<std::vector<Number>(const std::vector<Number>&)>& f);

}  // namespace weft::test
