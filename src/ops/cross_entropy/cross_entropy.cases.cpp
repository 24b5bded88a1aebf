#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/cross_entropy/cross_entropy.hpp"

namespace weft::ops::cross_entropy {
namespace {

using Shape = std::vector<std::uint64_t>;

/// What a case computes, from logits and targets.
struct Setup {
  TensorSpec logits;
  TensorSpec targets;  ///< Class numbers, or the shape of logits.
  TensorSpec dlogits{};
  bool probabilities = false;
  bool back = false;
  bool lse = false;  ///< An output of the forward pass, an input of the backward pass.
  std::optional<std::int32_t> ignored{};
  Reduction reduction = Reduction::mean;
};

struct RowLoss {
  double lse = 0;
  double loss = 0;
  bool counts = true;
};

RowLoss loss_of(const Setup& setup, const HostTensor& x, const HostTensor& t, std::uint64_t row) {
  const std::uint64_t columns = x.shape.back();
  const auto* v = x.values.data() + row * columns;
  const double most = *std::max_element(v, v + columns);
  double sum = 0;
  for (std::uint64_t i = 0; i < columns; ++i) sum += std::exp(v[i] - most);
  RowLoss out{.lse = most + std::log(sum)};
  if (setup.probabilities) {
    for (std::uint64_t i = 0; i < columns; ++i) {
      out.loss += t.values[row * columns + i] * (out.lse - v[i]);
    }
    return out;
  }
  const double right = t.values[row];
  out.counts = right >= 0 && !(setup.ignored && right == static_cast<double>(*setup.ignored));
  if (out.counts) out.loss = out.lse - v[static_cast<std::uint64_t>(right)];
  return out;
}

/// Tensors: logits, targets, loss, log_sum_exp (if wanted); backward: logits, targets, dloss,
/// log_sum_exp (if given), dlogits.
void reference(const Setup& setup, std::span<HostTensor> t) {
  const std::uint64_t columns = t[0].shape.back();
  const std::uint64_t rows = t[0].values.size() / columns;
  std::vector<RowLoss> each;
  double total = 0;
  double count = 0;
  for (std::uint64_t row = 0; row < rows; ++row) {
    each.push_back(loss_of(setup, t[0], t[1], row));
    total += each.back().loss;
    count += each.back().counts ? 1 : 0;
  }
  const double share = setup.reduction == Reduction::mean ? (count > 0 ? 1 / count : 0) : 1;
  if (!setup.back) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      if (setup.reduction == Reduction::none) t[2].values[row] = each[row].loss;
      if (setup.lse) t[3].values[row] = each[row].lse;
    }
    if (setup.reduction != Reduction::none) t[2].values[0] = total * share;
    return;
  }
  HostTensor& dx = t.back();
  for (std::uint64_t row = 0; row < rows; ++row) {
    const double factor = t[2].values[setup.reduction == Reduction::none ? row : 0] * share;
    // A given log-sum-exp is taken as it is, so that a test can tell whether it is used.
    const double lse = setup.lse ? t[3].values[row] : each[row].lse;
    for (std::uint64_t i = 0; i < columns; ++i) {
      const std::uint64_t at = row * columns + i;
      const double target = setup.probabilities
                                ? t[1].values[at]
                                : (t[1].values[row] == static_cast<double>(i) ? 1 : 0);
      dx.values[at] = each[row].counts ? (std::exp(t[0].values[at] - lse) - target) * factor : 0;
    }
  }
}

Case make_case(std::string name, Setup setup) {
  Case test;
  test.name = std::move(name);
  setup.logits.low = -6;
  setup.logits.high = 6;
  const std::uint64_t columns = setup.logits.shape.back();
  if (setup.probabilities) {
    setup.targets.low = 0;
    setup.targets.high = 2.0 / static_cast<double>(columns);
  } else {
    // Some rows have a class that does not exist.
    setup.targets.low = -1;
    setup.targets.high = static_cast<double>(columns) - 1;
  }
  Shape rows = setup.logits.shape;
  rows.pop_back();
  const TensorSpec per_row{.shape = rows, .low = 4, .high = 6};
  TensorSpec loss = setup.reduction == Reduction::none ? per_row : TensorSpec{.shape = {1}};
  loss.low = 0.5;
  loss.high = 2;
  test.tensors = {setup.logits, setup.targets, loss};
  if (setup.lse) test.tensors.push_back(per_row);
  if (setup.back) {
    setup.dlogits.output = true;
    test.tensors.push_back(setup.dlogits);
  } else {
    test.tensors[2].output = true;
    if (setup.lse) test.tensors[3].output = true;
  }
  test.epsilons = 32;
  const double count = std::max<double>(1, setup.reduction == Reduction::sum && !rows.empty()
                                               ? static_cast<double>(rows.front())
                                               : 1);
  test.scale = setup.back ? 0.25 : 8 * count;
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    Problem problem{.logits = v[0], .ignored = setup.ignored, .reduction = setup.reduction};
    (setup.probabilities ? problem.probabilities : problem.classes) = v[1];
    const View lse = setup.lse ? v[3] : View{};
    if (!setup.back) return plan(Args{.problem = problem, .loss = v[2], .log_sum_exp = lse}, caps);
    return plan(
        BackArgs{.problem = problem, .dloss = v[2], .log_sum_exp = lse, .dlogits = v.back()}, caps);
  };
  test.reference = [setup](std::span<HostTensor> t) { reference(setup, t); };
  return test;
}

Setup classes(DType type, const Shape& shape, bool back) {
  Setup setup{.logits = {.dtype = type, .shape = shape}, .back = back};
  setup.targets = {.dtype = DType::i32, .shape = shape};
  setup.targets.shape.pop_back();
  setup.dlogits = setup.logits;
  return setup;
}

Setup probabilities(DType type, const Shape& shape, bool back) {
  Setup setup = classes(type, shape, back);
  setup.probabilities = true;
  setup.targets = {.shape = shape};
  return setup;
}

void add_cases(std::vector<Case>& out, bool back, Random& random) {
  const auto add = [&](std::string_view label, const Setup& setup) {
    out.push_back(make_case(
        formatted("{}{}_{}", back ? "back_" : "", label, name(setup.logits.dtype)), setup));
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const Shape& shape :
         {Shape{1, 1}, Shape{7, 3}, Shape{5, 2, 129}, Shape{4, 1000}, Shape{3, 50257}}) {
      std::string label = "classes";
      for (const std::uint64_t extent : shape) label += formatted("_{}", extent);
      add(label, classes(type, shape, back));
    }
    add("probabilities_6_40", probabilities(type, {6, 40}, back));
    add("probabilities_2_3_333", probabilities(type, {2, 3, 333}, back));
    Setup given = classes(type, {9, 77}, back);
    given.lse = true;
    add("log_sum_exp", given);
    Setup layout = classes(type, {2, 5, 30}, back);
    layout.logits.order = {1, 2, 0};
    layout.dlogits.pad = 3;
    layout.targets.order = {1, 0};
    add("layouts", layout);
    Setup offset = classes(type, {6, 33}, back);
    offset.logits.offset = 1;
    offset.logits.pad = 2;
    offset.dlogits.offset = 3;
    add("offset", offset);
  }
  Setup setup = probabilities(DType::f32, {1, 30000}, back);
  setup.lse = true;
  add("probabilities_1_30000", setup);
  setup = classes(DType::f32, {20, 9}, back);
  setup.reduction = Reduction::sum;
  add("sum", setup);
  setup.reduction = Reduction::none;
  setup.lse = true;
  add("none", setup);
  setup = probabilities(DType::f32, {6, 9}, back);
  setup.reduction = Reduction::none;
  add("none_probabilities", setup);
  setup = classes(DType::f32, {50, 4}, back);
  setup.ignored = 2;
  add("ignored", setup);
  setup.lse = true;
  setup.targets.dtype = DType::i64;
  add("ignored_i64", setup);
  setup = classes(DType::f32, {0, 4}, back);
  add("no_rows", setup);
  setup = classes(DType::f32, {300, 1003}, back);
  add("past_one_binding_rows", setup);
  add("past_one_binding_row", classes(DType::f32, {2, 300001}, back));
  setup = probabilities(DType::f16, {2, 300001}, back);
  add("past_one_binding_probabilities", setup);
  if (back) {
    for (const DType type : {DType::f32, DType::f16}) {
      Setup in_place = classes(type, {6, 201}, back);
      in_place.dlogits.same_as = 0;
      add("in_place", in_place);
    }
    setup = classes(DType::bf16, {6, 20}, back);
    setup.dlogits.dtype = DType::f32;
    add("mixed_types", setup);
  }
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t rows = random.between(1, 30);
    add(formatted("random{}", i), classes(DType::f32, {rows, random.between(1, 700)}, back));
  }
  for (const DType type : {DType::f32, DType::bf16}) {
    Setup bench = classes(type, {8192, 50257}, back);
    bench.lse = true;
    Case test = make_case(
        formatted("bench_cross_entropy{}_8192x50257_{}", back ? "_back" : "", name(type)), bench);
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_cases(out, false, random);
  add_cases(out, true, random);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"cross_entropy",
          "Cross entropy of logits with class numbers or probabilities, and its gradient",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::cross_entropy
