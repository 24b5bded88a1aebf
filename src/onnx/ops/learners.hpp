#pragma once

#include <span>
#include <string>
#include <vector>

#include "onnx/call.hpp"

// What the models of ai.onnx.ml have in common.

namespace weft::onnx {

/// The labels of classes, which are texts or whole numbers.
struct Labels {
  std::vector<std::string> texts;
  std::vector<std::int64_t> numbers;
  [[nodiscard]] std::size_t size() const { return texts.empty() ? numbers.size() : texts.size(); }
};
Labels labels_of(const Call& call, const std::string& strings, const std::string& ints);
/// The labels with these places, as a value [rows].
Value labelled(const Labels& labels, const std::vector<std::size_t>& places);

/// What becomes of the scores of a row: NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT.
void transform_scores(const Call& call, const std::string& how, std::span<double> row);
/// The place of the first largest score.
std::size_t best_of(std::span<const double> row);

void add_learners(Table& table);
void add_forests(Table& table);

}  // namespace weft::onnx
