#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tensor.hpp"

namespace weft::nn {

/// What a parameter is and how it starts.
struct ParameterInfo {
  std::string name;
  Shape shape;
  float mean = 0;
  float deviation = 0;  ///< Of the normal distribution it starts with; 0: every element is `mean`.
  std::uint64_t offset = 0;  ///< First element in the array of its group.
  std::uint64_t count = 0;
};

/// A list of parameters that lie one after the other in one array: an optimizer step, a cast or a
/// sum over processes is then one operation on one array. Each starts at a multiple of 128
/// elements, so that views of it are aligned.
class ParameterGroup {
 public:
  /// Adds a parameter and returns its number.
  std::size_t add(std::string name, Shape shape, float mean, float deviation);

  [[nodiscard]] const std::vector<ParameterInfo>& all() const { return infos_; }
  /// Elements of the array, gaps included.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Elements that belong to a parameter.
  [[nodiscard]] std::uint64_t count() const;

  /// The values that all parameters start with; each draws from a stream of its own name.
  [[nodiscard]] std::vector<float> initial_values(std::uint64_t seed) const;
  /// The parameters as views of an array.
  [[nodiscard]] std::vector<Tensor> views(const Tensor& array) const;
  /// The opposite: tensors in the shape of the parameters as one array with zeros in the gaps.
  [[nodiscard]] Tensor join(const std::vector<Tensor>& tensors) const;

 private:
  std::vector<ParameterInfo> infos_;
  std::uint64_t size_ = 0;
};

}  // namespace weft::nn
