#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "onnx/ops/learners.hpp"

// Forests as scikit-learn, XGBoost and LightGBM are written: lists with one element for each node
// of a tree, which the host walks.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

enum class Mode : std::uint8_t { leq, less, geq, greater, equal, not_equal, leaf };

struct Vote {
  std::size_t target = 0;
  double weight = 0;
};
struct Place {
  std::size_t feature = 0;
  Mode mode = Mode::leaf;
  double split = 0;
  bool nan_is_true = false;
  std::size_t yes = 0;
  std::size_t no = 0;
  std::vector<Vote> votes;
};
struct Forest {
  std::vector<Place> places;
  std::vector<std::size_t> roots;
};

/// Where a node with these numbers is.
using Numbers = std::map<std::pair<I, I>, std::size_t>;

std::size_t place_of(const Call& c, const Numbers& numbers, I tree, I node) {
  const auto found = numbers.find({tree, node});
  if (found == numbers.end()) c.wrong(formatted("Tree {} has no node {}.", tree, node));
  return found->second;
}

template <class T>
void check_count(const Call& c, const char* name, const std::vector<T>& list, std::size_t count) {
  if (list.size() != count)
    c.wrong(formatted("{} has {} elements, and there are {}.", name, list.size(), count));
}

/// Numbers that are a list, or (for doubles) a tensor.
std::vector<double> reals(const Call& c, const std::string& name) {
  const Attribute* found = c.attribute(name + "_as_tensor");
  if (found == nullptr || !found->t) return c.fs(name);
  return c.context.constant(*found->t).known()->doubles();
}

void add_votes(const Call& c, Forest& forest, const Numbers& numbers, const std::string& kind,
               std::size_t targets) {
  const auto trees = c.is(kind + "_treeids");
  const auto nodes = c.is(kind + "_nodeids");
  const auto ids = c.is(kind + "_ids");
  const auto weights = reals(c, kind + "_weights");
  check_count(c, "nodeids", nodes, trees.size());
  check_count(c, "ids", ids, trees.size());
  check_count(c, "weights", weights, trees.size());
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= targets)
      c.wrong(formatted("There is no target {} among {}.", ids[i], targets));
    forest.places[place_of(c, numbers, trees[i], nodes[i])].votes.push_back(
        {.target = static_cast<std::size_t>(ids[i]), .weight = weights[i]});
  }
}

Forest forest_of(const Call& c, const std::string& kind, std::size_t features,
                 std::size_t targets) {
  const auto trees = c.is("nodes_treeids");
  const auto ids = c.is("nodes_nodeids");
  const auto asked = c.is("nodes_featureids");
  const auto yes = c.is("nodes_truenodeids");
  const auto no = c.is("nodes_falsenodeids");
  const auto nan_is_true = c.is("nodes_missing_value_tracks_true");
  const auto splits = reals(c, "nodes_values");
  const Attribute* modes = c.attribute("nodes_modes");
  const std::vector<std::string> ways =
      modes == nullptr ? std::vector<std::string>() : modes->strings;
  const std::size_t count = trees.size();
  check_count(c, "nodes_nodeids", ids, count);
  check_count(c, "nodes_featureids", asked, count);
  check_count(c, "nodes_truenodeids", yes, count);
  check_count(c, "nodes_falsenodeids", no, count);
  check_count(c, "nodes_values", splits, count);
  check_count(c, "nodes_modes", ways, count);
  if (!nan_is_true.empty()) check_count(c, "nodes_missing_value_tracks_true", nan_is_true, count);
  static const std::map<std::string, Mode, std::less<>> known{
      {"BRANCH_LEQ", Mode::leq},    {"BRANCH_LT", Mode::less},  {"BRANCH_GTE", Mode::geq},
      {"BRANCH_GT", Mode::greater}, {"BRANCH_EQ", Mode::equal}, {"BRANCH_NEQ", Mode::not_equal},
      {"LEAF", Mode::leaf}};
  Forest out;
  Numbers numbers;
  std::map<I, bool> begun;
  for (std::size_t i = 0; i < count; ++i) {
    if (!numbers.emplace(std::pair(trees[i], ids[i]), i).second)
      c.wrong(formatted("Tree {} has two nodes {}.", trees[i], ids[i]));
    if (begun.emplace(trees[i], true).second) out.roots.push_back(i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto mode = known.find(ways[i]);
    if (mode == known.end()) c.refuse(formatted("The mode '{}' is not known.", ways[i]));
    Place place{.feature = 0,
                .mode = mode->second,
                .split = splits[i],
                .nan_is_true = !nan_is_true.empty() && nan_is_true[i] != 0,
                .yes = 0,
                .no = 0,
                .votes = {}};
    if (place.mode != Mode::leaf) {
      if (asked[i] < 0 || static_cast<std::size_t>(asked[i]) >= features)
        c.wrong(formatted("There is no column {} among {}.", asked[i], features));
      place.feature = static_cast<std::size_t>(asked[i]);
      place.yes = place_of(c, numbers, trees[i], yes[i]);
      place.no = place_of(c, numbers, trees[i], no[i]);
    }
    out.places.push_back(place);
  }
  add_votes(c, out, numbers, kind, targets);
  return out;
}

bool decide(const Place& place, double x) {
  if (place.nan_is_true && std::isnan(x)) return true;
  switch (place.mode) {
    case Mode::leq: return x <= place.split;
    case Mode::less: return x < place.split;
    case Mode::geq: return x >= place.split;
    case Mode::greater: return x > place.split;
    case Mode::equal: return x == place.split;
    case Mode::not_equal: return x != place.split;
    case Mode::leaf: break;
  }
  return false;
}

const Place& leaf_of(const Call& c, const Forest& forest, std::size_t root, const double* row) {
  const Place* at = &forest.places[root];
  for (std::size_t steps = 0; at->mode != Mode::leaf; ++steps) {
    if (steps > forest.places.size()) c.wrong("The branches of a tree go in a circle.");
    at = &forest.places[decide(*at, row[at->feature]) ? at->yes : at->no];
  }
  return *at;
}

/// The votes of all trees for a row; nothing for targets without any.
using Sums = std::vector<std::optional<double>>;
Sums sums_of(const Call& c, const Forest& forest, const double* row, std::size_t targets,
             const std::string& how) {
  Sums out(targets);
  for (const std::size_t root : forest.roots) {
    for (const Vote& vote : leaf_of(c, forest, root, row).votes) {
      std::optional<double>& sum = out[vote.target];
      if (!sum)
        sum = vote.weight;
      else if (how == "MIN")
        sum = std::min(*sum, vote.weight);
      else if (how == "MAX")
        sum = std::max(*sum, vote.weight);
      else
        *sum += vote.weight;
    }
  }
  if (how == "AVERAGE") {
    for (auto& sum : out)
      if (sum) *sum /= static_cast<double>(std::max<std::size_t>(forest.roots.size(), 1));
  }
  return out;
}

/// Rows of the table, in the numbers that the file's splits have: f32 but for doubles.
std::vector<double> table_of(const Call& c) {
  if (c.shape(0).size() != 2) c.wrong(formatted("{} is no table.", describe(c.in(0))));
  std::vector<double> x = c.host(0).doubles();
  if (c.in(0).type() != Type::f64)
    for (double& value : x) value = static_cast<double>(static_cast<float>(value));
  return x;
}

Values regressor(Call& c) {
  const auto x = table_of(c);
  const Shape& shape = c.shape(0);
  const I targets = c.i("n_targets", 1);
  if (targets < 1 || targets > I{1} << 20) c.wrong(formatted("There are {} targets.", targets));
  const auto width = static_cast<std::size_t>(targets);
  const Forest forest = forest_of(c, "target", shape[1], width);
  const auto base = reals(c, "base_values");
  if (!base.empty()) check_count(c, "base_values", base, width);
  std::vector<double> out;
  for (U i = 0; i < shape[0]; ++i) {
    const Sums sums =
        sums_of(c, forest, x.data() + i * shape[1], width, c.s("aggregate_function", "SUM"));
    std::vector<double> row;
    for (std::size_t t = 0; t < width; ++t)
      row.push_back(sums[t].value_or(0) + (base.empty() ? 0 : base[t]));
    transform_scores(c, c.s("post_transform", "NONE"), row);
    out.insert(out.end(), row.begin(), row.end());
  }
  return {array_of(Type::f32, {shape[0], width}, out)};
}

/// What a forest for two classes gives whose leaves all vote for one of them: the scores of both,
/// and which it is.
struct Pair {
  std::vector<double> scores;
  std::size_t chosen = 0;
};
Pair pair_of(const Call& c, double score, bool all_positive) {
  const std::string transform = c.s("post_transform", "NONE");
  Pair out{.scores = {}, .chosen = static_cast<std::size_t>(score > (all_positive ? 0.5 : 0.0))};
  if (transform == "PROBIT") {
    out.scores = {1 - score, score};
    transform_scores(c, transform, std::span(out.scores).last(1));
    out.scores[0] = 1 - out.scores[1];
  } else if (all_positive) {
    out.scores = {1 - score, score};
  } else {
    out.scores = {-score, score};
    if (transform == "LOGISTIC") transform_scores(c, transform, out.scores);
  }
  return out;
}

Values classifier(Call& c) {
  const auto x = table_of(c);
  const Shape& shape = c.shape(0);
  const Labels labels = labels_of(c, "classlabels_strings", "classlabels_int64s");
  const std::size_t width = labels.size();
  if (width == 0 || width > (std::size_t{1} << 20))
    c.wrong(formatted("There are {} labels.", width));
  const Forest forest = forest_of(c, "class", shape[1], width);
  const auto base = reals(c, "base_values");
  const auto ids = c.is("class_ids");
  const auto weights = reals(c, "class_weights");
  const bool one_sided = width == 2 && !ids.empty() &&
                         std::ranges::all_of(ids, [&](I id) { return id == ids.front(); });
  const bool all_positive = std::ranges::all_of(weights, [](double w) { return w >= 0; });
  if (!base.empty() && base.size() != width && !(width == 2 && base.size() == 1))
    c.wrong(formatted("There are {} base values for {} classes.", base.size(), width));
  std::vector<std::size_t> chosen;
  std::vector<double> out;
  for (U i = 0; i < shape[0]; ++i) {
    const Sums sums = sums_of(c, forest, x.data() + i * shape[1], width, "SUM");
    std::vector<double> row;
    for (std::size_t t = 0; t < width; ++t)
      row.push_back(sums[t].value_or(0) + (t < base.size() ? base[t] : 0));
    if (one_sided) {
      const auto side = static_cast<std::size_t>(ids.front());
      const double score = sums[side].value_or(0) + (base.empty() ? 0 : base.back());
      Pair pair = pair_of(c, score, all_positive);
      chosen.push_back(pair.chosen);
      row = std::move(pair.scores);
    } else {
      chosen.push_back(best_of(row));
      transform_scores(c, c.s("post_transform", "NONE"), row);
    }
    out.insert(out.end(), row.begin(), row.end());
  }
  return {labelled(labels, chosen), array_of(Type::f32, {shape[0], width}, out)};
}

}  // namespace

void add_forests(Table& table) {
  table["ai.onnx.ml.TreeEnsembleRegressor"] = regressor;
  table["ai.onnx.ml.TreeEnsembleClassifier"] = classifier;
}

}  // namespace weft::onnx
