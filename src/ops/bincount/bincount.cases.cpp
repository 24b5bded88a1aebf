#include "ops/bincount/bincount.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::bincount {
namespace {

/// Whole numbers from a little below the first bin to a little behind the last.
Case count_case(const std::string& label, std::uint64_t count, std::uint64_t bins,
                TensorSpec x = {}, TensorSpec y = {}) {
  Case test;
  test.name = label;
  x.dtype = y.dtype = DType::i32;
  x.shape = {count};
  x.low = -2;
  x.high = static_cast<double>(bins) + 2;
  y.shape = {bins};
  y.output = true;
  test.epsilons = 0;
  test.tensors = {std::move(x), std::move(y)};
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan({.x = v[0], .y = v[1]}, caps);
  };
  test.reference = [](std::span<HostTensor> t) {
    std::ranges::fill(t[1].values, 0.0);
    for (const double value : t[0].values) {
      if (value >= 0 && value < static_cast<double>(t[1].values.size())) {
        t[1].values[static_cast<std::size_t>(value)] += 1;
      }
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  out.push_back(count_case("few_bins", 1000, 7));
  out.push_back(count_case("one_bin", 300, 1));
  out.push_back(count_case("one_element", 1, 5));
  out.push_back(count_case("nothing", 0, 5));
  out.push_back(count_case("no_bins", 10, 0));
  out.push_back(count_case("local_at_most", 9000, 4096));
  out.push_back(count_case("too_many_for_a_workgroup", 9000, 4097));
  out.push_back(
      count_case("strided", 5000, 100, {.step = 3, .offset = 1}, {.step = 2, .offset = 5}));
  // Where bindings hold 1 MiB, elements and bins take several launches.
  out.push_back(count_case("many_elements", 600000, 300));
  out.push_back(count_case("many_bins", 1000, 300000));
  out.push_back(count_case("random", random.between(1, 3000), random.between(1, 500)));
  for (const std::uint64_t bins : {256ULL, 1ULL << 20}) {
    Case bench = count_case(formatted("16M_{}", bins), 16 << 20, bins);
    bench.test = false;
    bench.bench = true;
    bench.reference = {};
    out.push_back(std::move(bench));
  }
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"bincount", "How often each whole number is there: workgroups count for themselves",
          "i32", cases};
}

}  // namespace weft::ops::bincount
