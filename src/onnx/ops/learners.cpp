#include "onnx/ops/learners.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "onnx/host.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

// Models of tables, as scikit-learn's are written: columns are prepared and multiplied on the
// device, labels are chosen on the host.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

/// The inverse of the normal distribution, as exporters define it.
double probit(double score) {
  const double x = 2 * score - 1;
  const double log = std::log((1 - x) * (1 + x));
  const double v = 2 / (3.14159 * 0.147) + 0.5 * log;
  const double root = std::sqrt(-v + std::sqrt(v * v - log / 0.147));
  return std::sqrt(2.0) * (x < 0 ? -root : root);
}

/// The numbers of an attribute as f32, one for each of so many columns, or one for all.
Tensor by_column(const Call& c, const std::vector<double>& numbers, U columns, const char* what) {
  if (numbers.size() != 1 && numbers.size() != columns)
    c.wrong(formatted("{} has {} numbers for {} columns.", what, numbers.size(), columns));
  const std::vector<float> values(numbers.begin(), numbers.end());
  return c.device().tensor(Shape{values.size()}, values);
}

U columns_of(const Call& c) {
  if (c.shape(0).empty()) c.wrong(formatted("{} has no columns.", describe(c.in(0))));
  return last_of(c.shape(0));
}

Values scaler(Call& c) {
  const U columns = columns_of(c);
  Tensor x = as(c.t(0), DType::f32);
  if (const auto offset = c.fs("offset"); !offset.empty())
    x = x - by_column(c, offset, columns, "offset");
  if (const auto scale = c.fs("scale"); !scale.empty())
    x = x * by_column(c, scale, columns, "scale");
  return {x};
}

/// Rows divided by their largest number, by the sum of their sizes, or by their length; rows of
/// zeros stay.
Values normalizer(Call& c) {
  (void)columns_of(c);
  const Tensor x = as(c.t(0), DType::f32);
  const int axis = x.shape().size() == 1 ? 0 : 1;
  const std::string norm = c.s("norm", "MAX");
  Tensor size;
  if (norm == "MAX")
    size = max(x, {axis}, true);
  else if (norm == "L1")
    size = sum(abs(x), {axis}, true);
  else if (norm == "L2")
    size = sqrt(sum(x * x, {axis}, true));
  else
    c.refuse(formatted("The norm '{}' is not known.", norm));
  return {x / where(equal(size, zeros_like(size)), ones_like(size), size)};
}

Values imputer(Call& c) {
  const U columns = columns_of(c);
  const Tensor x = c.t(0);
  const bool whole = is_integer(x.dtype());
  std::vector<double> values = c.fs("imputed_value_floats");
  if (whole) {
    const auto numbers = c.is("imputed_value_int64s");
    values.assign(numbers.begin(), numbers.end());
  }
  if (values.empty()) c.wrong("It has no values to put in.");
  const Tensor fresh = as(by_column(c, values, columns, "imputed_value"), x.dtype());
  const double old =
      whole ? static_cast<double>(c.i("replaced_value_int64", 0)) : c.f("replaced_value_float", 0);
  const Tensor missing = std::isnan(old) ? isnan(x) : equal(x, full_like(x, old));
  return {where(missing, fresh.broadcast_to(x.shape()), x)};
}

/// Columns of several tables beside each other; each has as many as the node says.
Values feature_vectorizer(Call& c) {
  const auto widths = c.is("inputdimensions");
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Tensor x = as(c.t(i), DType::f32);
    const Shape& s = x.shape();
    if (s.empty() || s.size() > 2) c.wrong(formatted("{} is no table.", describe(c.in(i))));
    if (s.size() == 1) x = x.reshape({s[0], 1});
    const U there = x.shape().at(1);
    const U wanted = i < widths.size() ? static_cast<U>(std::max<I>(widths[i], 0)) : there;
    if (wanted < there) x = x.slice(1, 0, wanted);
    if (wanted > there) x = pad(x, {0, 0}, {0, wanted - there});
    if (wanted > 0) parts.push_back(x);
  }
  if (parts.empty()) c.wrong("It has no columns.");
  return {parts.size() == 1 ? parts[0] : concat(parts, 1)};
}

/// 1 at the place of each element among the categories.
Values one_hot_encoder(Call& c) {
  const Labels known = labels_of(c, "cats_strings", "cats_int64s");
  const Array& x = c.host(0);
  const bool texts = x.type == Type::string;
  if (texts != !known.texts.empty())
    c.wrong(formatted("{} are not of the categories' type.", describe(c.in(0))));
  Shape shape = x.shape;
  shape.push_back(known.size());
  if (too_large(shape)) c.refuse(formatted("{} is too large for the host.", text_of(shape)));
  const auto numbers = texts ? std::vector<I>() : x.ints();
  const U count = texts ? x.strings.size() : numbers.size();
  std::vector<I> out(count * known.size());
  for (U i = 0; i < count; ++i) {
    const auto place = texts ? std::ranges::find(known.texts, x.strings[i]) - known.texts.begin()
                             : std::ranges::find(known.numbers, numbers[i]) - known.numbers.begin();
    if (static_cast<std::size_t>(place) < known.size())
      out[i * known.size() + static_cast<U>(place)] = 1;
    else if (c.i("zeros", 1) == 0)
      c.wrong(formatted("Element {} is no category.", i));
  }
  return {array_of(Type::f32, shape, out)};
}

/// x times the coefficients [results, columns], plus the intercepts.
Tensor linear_scores(const Call& c, const Tensor& x, std::size_t results) {
  const U columns = last_of(x.shape());
  const auto coefficients = c.fs("coefficients");
  if (results == 0 || columns == 0 || coefficients.size() != results * columns)
    c.wrong(formatted("There are {} coefficients for {} columns and {} results.",
                      coefficients.size(), columns, results));
  const std::vector<float> values(coefficients.begin(), coefficients.end());
  Tensor y = matmul(x, c.device().tensor(Shape{results, columns}, values).transpose());
  if (const auto intercepts = c.fs("intercepts"); !intercepts.empty())
    y = y + by_column(c, intercepts, results, "intercepts");
  return y;
}

/// A table; one row may come without its dimension.
Tensor table_of(const Call& c) {
  const U columns = columns_of(c);
  if (c.shape(0).size() > 2) c.wrong(formatted("{} is no table.", describe(c.in(0))));
  return as(c.t(0), DType::f32).reshape({c.shape(0).size() == 1 ? 1 : c.shape(0)[0], columns});
}

Values with_scores(const Call& c, std::vector<double> scores, U rows, std::size_t width) {
  for (U i = 0; i < rows; ++i)
    transform_scores(c, c.s("post_transform", "NONE"), std::span(scores).subspan(i * width, width));
  return {array_of(Type::f32, {rows, width}, scores)};
}

Values linear_regressor(Call& c) {
  const Tensor x = table_of(c);
  const I targets = c.i("targets", 1);
  if (targets < 1 || targets > I{1} << 24) c.wrong(formatted("There are {} targets.", targets));
  const Tensor y = linear_scores(c, x, static_cast<std::size_t>(targets));
  if (c.s("post_transform", "NONE") == "NONE") return {y};
  Value given = y;
  given.set_sources(c.in(0).sources());
  return with_scores(c, c.host(given).doubles(), x.shape().at(0),
                     static_cast<std::size_t>(targets));
}

Values linear_classifier(Call& c) {
  const Labels labels = labels_of(c, "classlabels_strings", "classlabels_ints");
  const Tensor x = table_of(c);
  const U rows = x.shape().at(0);
  const std::size_t width = c.fs("intercepts").empty()
                                ? c.fs("coefficients").size() / last_of(x.shape())
                                : c.fs("intercepts").size();
  Value given = linear_scores(c, x, width);
  given.set_sources(c.in(0).sources());
  const auto scores = c.host(given).doubles();
  std::vector<std::size_t> chosen;
  std::vector<double> out;
  const bool binary = width == 1;
  for (U i = 0; i < rows; ++i) {
    const std::span<const double> row(scores.data() + i * width, width);
    chosen.push_back(binary ? static_cast<std::size_t>(row[0] > 0) : best_of(row));
    if (binary && labels.size() == 2) out.push_back(1 - row[0]);
    out.insert(out.end(), row.begin(), row.end());
  }
  if (!binary && labels.size() < width)
    c.wrong(formatted("There are {} labels for {} scores.", labels.size(), width));
  const Labels pair =
      binary && labels.size() != 2 ? Labels{.texts = {}, .numbers = {0, 1}} : labels;
  const std::size_t columns = binary && labels.size() == 2 ? 2 : width;
  Values all{labelled(pair, chosen)};
  all.push_back(with_scores(c, std::move(out), rows, columns).at(0));
  return all;
}

}  // namespace

Labels labels_of(const Call& call, const std::string& strings, const std::string& ints) {
  Labels out{.texts = {}, .numbers = call.is(ints)};
  if (const Attribute* texts = call.attribute(strings)) out.texts = texts->strings;
  return out;
}

Value labelled(const Labels& labels, const std::vector<std::size_t>& places) {
  if (labels.texts.empty()) {
    std::vector<I> numbers;
    for (const std::size_t place : places) numbers.push_back(labels.numbers.at(place));
    return array_of(Type::i64, {numbers.size()}, numbers);
  }
  Array out{.type = Type::string, .shape = {places.size()}, .bytes = {}, .keep = {}, .strings = {}};
  for (const std::size_t place : places) out.strings.push_back(labels.texts.at(place));
  return out;
}

std::size_t best_of(std::span<const double> row) {
  return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
}

void transform_scores(const Call& call, const std::string& how, std::span<double> row) {
  if (how == "NONE" || row.empty()) return;
  if (how == "LOGISTIC" || how == "PROBIT") {
    for (double& x : row) x = how == "PROBIT" ? probit(x) : 1 / (1 + std::exp(-x));
    return;
  }
  if (how != "SOFTMAX" && how != "SOFTMAX_ZERO")
    call.refuse(formatted("The transform '{}' is not known.", how));
  const double largest = std::ranges::max(row);
  double sum = 0;
  for (double& x : row) {
    // A score of (nearly) 0 stays, where that is asked for.
    x = how == "SOFTMAX_ZERO" && std::fabs(x) <= 1e-7 ? x * std::exp(-largest)
                                                      : std::exp(x - largest);
    sum += x;
  }
  for (double& x : row) x /= sum == 0 ? 1 : sum;
}

void add_learners(Table& table) {
  const auto add = [&](const std::string& name, Op op) { table["ai.onnx.ml." + name] = op; };
  add("Scaler", scaler);
  add("Normalizer", normalizer);
  add("Imputer", imputer);
  add("FeatureVectorizer", feature_vectorizer);
  add("OneHotEncoder", one_hot_encoder);
  add("LinearRegressor", linear_regressor);
  add("LinearClassifier", linear_classifier);
  // Maps from labels to scores: the scores, whose columns are in the order of the labels.
  add("ZipMap", +[](Call& c) { return Values{c.in(0)}; });
}

}  // namespace weft::onnx
