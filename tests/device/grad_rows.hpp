#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>
#include <weft/weft.hpp>

namespace weft::test {

/// An input of an expression: its shape and the range of its values.
struct Leaf {
  Shape shape;
  double low = -1;
  double high = 1;
};

using Expression = std::function<Tensor(const std::vector<Tensor>&)>;

/// One expression whose derivatives are checked.
struct GradRow {
  std::string name;
  std::vector<Leaf> leaves;
  Expression f;
  double tolerance = 1e-4;
};

/// A tensor of whole numbers, for expressions to make inside: the rows themselves hold no tensor,
/// since they outlive the device.
Tensor whole_numbers(const Shape& shape, const std::vector<std::int32_t>& values);

/// Expressions that together contain every kind of operation that has derivatives, and every
/// function that is described with one (tests/unit/description_test.cpp looks for their names).
const std::vector<GradRow>& grad_rows();
void add_plain_rows(std::vector<GradRow>& rows);
void add_image_rows(std::vector<GradRow>& rows);
void add_model_rows(std::vector<GradRow>& rows);
void add_algebra_rows(std::vector<GradRow>& rows);
void add_function_rows(std::vector<GradRow>& rows);
void add_composed_rows(std::vector<GradRow>& rows);
void add_second_rows(std::vector<GradRow>& rows);

}  // namespace weft::test
