#include <algorithm>
#include <cmath>
#include <optional>

#include "onnx/ops/families.hpp"

// Ensembles of decision trees, which the host walks: each row of the table takes a path of its own.

namespace weft::onnx {
namespace {

using I = std::int64_t;

/// The tensor of an attribute, as numbers.
std::vector<double> numbers(const Call& c, std::string_view name) {
  const Attribute* found = c.attribute(name);
  if (found == nullptr || !found->t) return {};
  return c.context.constant(*found->t).known()->doubles();
}

enum class Mode : std::uint8_t { leq, less, geq, greater, equal, not_equal, member };

struct Branch {
  std::size_t feature = 0;
  Mode mode = Mode::leq;
  double split = 0;
  std::vector<double> members;
  bool nan_is_true = false;
  struct Way {
    std::size_t to = 0;
    bool is_leaf = false;
  };
  Way yes;
  Way no;
};

struct Forest {
  std::vector<Branch> branches;
  std::vector<std::size_t> roots;
  std::vector<std::size_t> targets;  // of the leaves
  std::vector<double> weights;
};

/// A place in a list of so many, as the file has it.
std::size_t place(const Call& c, const char* what, I value, std::size_t count) {
  if (value < 0 || static_cast<std::uint64_t>(value) >= count)
    c.wrong(formatted("{} has {}, and there are {}.", what, value, count));
  return static_cast<std::size_t>(value);
}

/// A list with one number for each branch.
std::vector<I> listed(const Call& c, const char* name, std::size_t count) {
  auto out = c.is(name);
  if (out.size() != count)
    c.wrong(formatted("{} has {} numbers for {} nodes.", name, out.size(), count));
  return out;
}

/// The sets of the branches that ask for members, one behind the other with NaN between them.
void add_members(const Call& c, Forest& forest) {
  const auto values = numbers(c, "membership_values");
  std::size_t at = 0;
  for (Branch& branch : forest.branches) {
    if (branch.mode != Mode::member) continue;
    if (at >= values.size()) c.wrong("membership_values has too few sets.");
    for (; at < values.size() && !std::isnan(values[at]); ++at)
      branch.members.push_back(values[at]);
    ++at;
  }
}

Forest forest_of(const Call& c, std::size_t features, std::size_t targets) {
  Forest out;
  const auto asked = c.is("nodes_featureids");
  const std::size_t count = asked.size();
  const auto modes = numbers(c, "nodes_modes");
  const auto splits = numbers(c, "nodes_splits");
  if (modes.size() != count || splits.size() != count)
    c.wrong(formatted("{} modes and {} splits are given for {} nodes.", modes.size(), splits.size(),
                      count));
  const auto leaf_targets = c.is("leaf_targetids");
  out.weights = numbers(c, "leaf_weights");
  if (leaf_targets.size() != out.weights.size())
    c.wrong(formatted("There are {} targets and {} weights of leaves.", leaf_targets.size(),
                      out.weights.size()));
  for (const I target : leaf_targets)
    out.targets.push_back(place(c, "leaf_targetids", target, targets));
  const auto yes = listed(c, "nodes_truenodeids", count);
  const auto no = listed(c, "nodes_falsenodeids", count);
  const auto yes_leaf = listed(c, "nodes_trueleafs", count);
  const auto no_leaf = listed(c, "nodes_falseleafs", count);
  const auto nan_is_true = c.is("nodes_missing_value_tracks_true");
  if (!nan_is_true.empty() && nan_is_true.size() != count)
    c.wrong(formatted("nodes_missing_value_tracks_true has {} numbers for {} nodes.",
                      nan_is_true.size(), count));
  const auto way = [&](I to, bool is_leaf) {
    return Branch::Way{.to = is_leaf ? place(c, "A branch", to, out.weights.size())
                                     : place(c, "A branch", to, count),
                       .is_leaf = is_leaf};
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6)) c.wrong(formatted("There is no mode {}.", modes[i]));
    out.branches.push_back({.feature = place(c, "nodes_featureids", asked[i], features),
                            .mode = static_cast<Mode>(modes[i]),
                            .split = splits[i],
                            .members = {},
                            .nan_is_true = !nan_is_true.empty() && nan_is_true[i] != 0,
                            .yes = way(yes[i], yes_leaf[i] != 0),
                            .no = way(no[i], no_leaf[i] != 0)});
  }
  for (const I root : c.is("tree_roots")) out.roots.push_back(place(c, "tree_roots", root, count));
  add_members(c, out);
  return out;
}

bool decide(const Branch& branch, double x) {
  if (std::isnan(x) && branch.nan_is_true) return true;
  switch (branch.mode) {
    case Mode::leq: return x <= branch.split;
    case Mode::less: return x < branch.split;
    case Mode::geq: return x >= branch.split;
    case Mode::greater: return x > branch.split;
    case Mode::equal: return x == branch.split;
    case Mode::not_equal: return x != branch.split;
    case Mode::member: return std::ranges::find(branch.members, x) != branch.members.end();
  }
  return false;
}

std::size_t leaf_of(const Call& c, const Forest& forest, std::size_t root, const double* row) {
  Branch::Way at{.to = root, .is_leaf = false};
  for (std::size_t steps = 0; !at.is_leaf; ++steps) {
    if (steps > forest.branches.size()) c.wrong("The branches of a tree go in a circle.");
    const Branch& branch = forest.branches[at.to];
    at = decide(branch, row[branch.feature]) ? branch.yes : branch.no;
  }
  return at.to;
}

/// What becomes of the sums of a row: nothing (0), softmax (1), logistic (2), or softmax of what is
/// not 0 (3).
void finish(const Call& c, I transform, std::span<double> row) {
  if (transform == 0 || row.empty()) return;
  if (transform == 2) {
    for (double& x : row) x = 1 / (1 + std::exp(-x));
    return;
  }
  if (transform != 1 && transform != 3)
    c.refuse(formatted("The transform {} behind trees is not known.", transform));
  const double largest = std::ranges::max(row);
  double sum = 0;
  for (double& x : row) {
    x = transform == 3 && x == 0 ? 0 : std::exp(x - largest);
    sum += x;
  }
  for (double& x : row) x /= sum == 0 ? 1 : sum;
}

Values tree_ensemble(Call& c) {
  const Shape& shape = c.shape(0);
  if (shape.size() != 2) c.wrong(formatted("{} is no table.", describe(c.in(0))));
  const I targets = c.i("n_targets", 1);
  if (targets < 1 || targets > I{1} << 20) c.wrong(formatted("There are {} targets.", targets));
  const auto width = static_cast<std::size_t>(targets);
  const Forest forest = forest_of(c, shape[1], width);
  const I aggregate = c.i("aggregate_function", 1);  // mean, sum, least, largest
  if (aggregate < 0 || aggregate > 3)
    c.wrong(formatted("There is no aggregate function {}.", aggregate));
  const auto x = c.host(0).doubles();
  std::vector<double> out(shape[0] * width);
  for (std::size_t i = 0; i < shape[0]; ++i) {
    const std::span<double> row(out.data() + i * width, width);
    std::vector<bool> has(width);
    for (const std::size_t root : forest.roots) {
      const std::size_t leaf = leaf_of(c, forest, root, x.data() + i * shape[1]);
      const std::size_t target = forest.targets[leaf];
      const double weight = forest.weights[leaf];
      double& sum = row[target];
      if (aggregate < 2) {
        sum += weight;
      } else if (!has[target]) {
        sum = weight;
      } else {
        sum = aggregate == 2 ? std::min(sum, weight) : std::max(sum, weight);
      }
      has[target] = true;
    }
    if (aggregate == 0 && !forest.roots.empty())
      for (double& sum : row) sum /= static_cast<double>(forest.roots.size());
    finish(c, c.i("post_transform", 0), row);
  }
  return {array_of(c.in(0).type(), {shape[0], width}, out)};
}

}  // namespace

void add_trees(Table& table) { table["ai.onnx.ml.TreeEnsemble"] = tree_ensemble; }

}  // namespace weft::onnx
