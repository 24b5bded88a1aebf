#include <algorithm>
#include <map>

#include "onnx/host.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/shape.hpp"

// What tables are prepared with, before a model sees them.

namespace weft::onnx {
namespace {

using I = std::int64_t;

/// How often groups of words (as numbers) are in each row.
Values tf_idf(Call& c) {
  const Shape& shape = c.shape(0);
  if (shape.size() > 2 || shape.empty())
    c.wrong(formatted("{} is neither a row nor rows.", describe(c.in(0))));
  if (c.in(0).type() == Type::string) c.refuse("Texts are not counted, only numbers.");
  const auto words = c.ints(0);
  const auto pool = c.is("pool_int64s");
  const auto starts = c.is("ngram_counts");
  const auto indexes = c.is("ngram_indexes");
  const auto weights = c.fs("weights");
  const std::string mode = c.s("mode", "TF");
  const I least = c.i("min_gram_length", 1);
  const I most = c.i("max_gram_length", 1);
  const I skips = c.i("max_skip_count", 0);
  if (least < 1 || most < least || most > 1 << 20 || skips < 0 || skips > 1 << 20)
    c.wrong(
        formatted("Groups of {} to {} words with {} between them are none.", least, most, skips));
  std::map<std::vector<I>, std::size_t> known;  // groups → the number of their index
  std::size_t number = 0;
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const I end = n + 1 < starts.size() ? starts[n + 1] : static_cast<I>(pool.size());
    if (starts[n] < 0 || end > static_cast<I>(pool.size()))
      c.wrong(formatted("The pool has no {} elements.", end));
    for (I at = starts[n]; at + static_cast<I>(n) < end; at += static_cast<I>(n) + 1) {
      known[std::vector<I>(pool.begin() + at, pool.begin() + at + static_cast<I>(n) + 1)] =
          number++;
    }
  }
  if (number > indexes.size())
    c.wrong(formatted("There are {} groups and {} indexes.", number, indexes.size()));
  I columns = 0;
  for (const I index : indexes) {
    if (index < 0 || index >= I{1} << 24) c.wrong(formatted("An index is {}.", index));
    columns = std::max(columns, index + 1);
  }
  const std::uint64_t rows = shape.size() == 2 ? shape[0] : 1;
  if (too_large({rows, static_cast<std::uint64_t>(columns)}))
    c.refuse(formatted("{} rows of {} are too large for the host.", rows, columns));
  const auto width = static_cast<I>(shape.back());
  std::vector<double> out(rows * static_cast<std::uint64_t>(columns));
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (I n = least; n <= std::min(most, width); ++n) {
      for (I step = 1; step <= (n == 1 ? 1 : std::min(skips + 1, width)); ++step) {
        for (I first = 0; first + step * (n - 1) < width; ++first) {
          std::vector<I> group;
          for (I k = 0; k < n; ++k)
            group.push_back(words[row * static_cast<std::uint64_t>(width) +
                                  static_cast<std::uint64_t>(first + k * step)]);
          const auto found = known.find(group);
          if (found == known.end()) continue;
          double& at = out[row * static_cast<std::uint64_t>(columns) +
                           static_cast<std::uint64_t>(indexes[found->second])];
          const double weight = found->second < weights.size() ? weights[found->second] : 1;
          if (mode == "TF")
            at += 1;
          else if (mode == "IDF")
            at = weight;
          else
            at += weight;
        }
      }
    }
  }
  Shape result = shape.size() == 2 ? Shape{rows} : Shape{};
  result.push_back(static_cast<std::uint64_t>(columns));
  return {array_of(Type::f32, result, out)};
}

/// The values that an attribute lists, as texts that can be compared.
std::vector<std::string> listed(const Call& c, const std::string& what, Array* values) {
  std::vector<std::string> out;
  if (const Attribute* tensor = c.attribute(what + "_tensor"); tensor != nullptr && tensor->t) {
    *values = *c.context.constant(*tensor->t).known();
  } else if (const Attribute* texts = c.attribute(what + "_strings")) {
    *values = {.type = Type::string,
               .shape = {texts->strings.size()},
               .bytes = {},
               .keep = {},
               .strings = texts->strings};
  } else if (const Attribute* numbers = c.attribute(what + "_int64s")) {
    *values = array_of(Type::i64, {numbers->ints.size()}, numbers->ints);
  } else {
    const auto floats = c.fs(what + "_floats");
    *values = array_of(Type::f32, {floats.size()}, floats);
  }
  if (values->type == Type::string) return values->strings;
  if (is_integer(values->type)) {
    for (const I v : values->ints()) out.push_back(std::to_string(v));
  } else {
    for (const double v : values->doubles()) out.push_back(formatted("{}", v));
  }
  return out;
}

/// Each element replaced by the value that belongs to it.
Values label_encoder(Call& c) {
  Array keys;
  Array values;
  const auto names = listed(c, "keys", &keys);
  listed(c, "values", &values);
  const Array& x = c.host(0);
  std::vector<std::string> given = x.strings;
  if (is_integer(x.type)) {
    for (const I v : x.ints()) given.push_back(std::to_string(v));
  } else if (is_float(x.type)) {
    for (const double v : x.doubles()) given.push_back(formatted("{}", v));
  }
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) places.emplace(names[i], i);
  Array out{.type = values.type, .shape = x.shape, .bytes = {}, .keep = {}, .strings = {}};
  const Attribute* fallback = c.attribute("default_tensor");
  const bool has_fallback = fallback != nullptr && fallback->t;
  const Array other = has_fallback ? *c.context.constant(*fallback->t).known() : Array();
  const auto otherwise =
      has_fallback && other.type != Type::string
          ? other.doubles()
          : std::vector<double>{values.type == Type::f32
                                    ? c.f("default_float", 0)
                                    : static_cast<double>(c.i("default_int64", -1))};
  const std::string text =
      has_fallback && !other.strings.empty() ? other.strings[0] : c.s("default_string", "_Unused");
  std::vector<double> numbers;
  const auto all = values.type == Type::string ? std::vector<double>() : values.doubles();
  for (const std::string& one : given) {
    const auto found = places.find(one);
    if (values.type == Type::string)
      out.strings.push_back(found == places.end() ? text : values.strings[found->second]);
    else
      numbers.push_back(found == places.end() ? otherwise.at(0) : all[found->second]);
  }
  if (values.type == Type::string) return {out};
  return {array_of(values.type, x.shape, numbers)};
}

}  // namespace

void add_text(Table& table) {
  table["TfIdfVectorizer"] = tf_idf;
  table["ai.onnx.ml.LabelEncoder"] = label_encoder;
  table["ai.onnx.ml.ArrayFeatureExtractor"] =
      +[](Call& c) { return Values{take(c.t(0), c.t(1).reshape({c.in(1).size()}), -1)}; };
  table["ai.onnx.ml.Binarizer"] = +[](Call& c) {
    const Tensor x = c.t(0);
    return Values{greater(x, full_like(x, c.f("threshold", 0))).to(x.dtype())};
  };
}

}  // namespace weft::onnx
