#include "random_expression.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"

namespace weft::test {
namespace {

constexpr std::size_t most_steps = 8;
constexpr std::size_t most_elements = 20000;

/// The first element that is not as it should be; empty where there is none. `digits` 0: all bits
/// count.
std::string difference(const HostArray& found, const HostArray& wanted, const Values& sizes,
                       Number digits) {
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    const Number a = found.values[i];
    const Number b = wanted.values[i];
    const Number slack = i < sizes.size() ? sizes[i] : 0;
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                      (is_float(wanted.dtype) && std::abs(a - b) <= digits * (std::abs(b) + slack));
    if (!same) {
      return "element " + std::to_string(i) + ": " + std::to_string(static_cast<double>(a)) +
             ", expected " + std::to_string(static_cast<double>(b));
    }
  }
  return "";
}

/// The same for type and shape too.
std::string difference(const Tensor& found, const HostArray& wanted, const Values& sizes,
                       Number digits) {
  if (found.dtype() != wanted.dtype || found.shape() != wanted.shape) {
    return "the result is " + std::string(name(found.dtype())) + ops::describe(found.shape()) +
           ", expected " + describe(wanted);
  }
  return difference(read(found), wanted, sizes, digits);
}

std::vector<Tensor> of(const std::vector<Tensor>& tensors, const std::vector<std::size_t>& which) {
  std::vector<Tensor> some;
  for (const std::size_t number : which) some.push_back(tensors[number]);
  return some;
}

/// Shapes that broadcast against each other.
Shape leaf_shape(const Shape& base, Source& source) {
  Shape shape = base;
  for (std::uint64_t& extent : shape) {
    if (source.chance(4)) extent = 1;
  }
  return shape;
}

/// Whether every element, and everything that it was summed up from, has so few digits that nothing
/// was rounded on the way.
bool is_exact(const Step& step) {
  if (step.rounds) return false;
  if (!is_float(step.wanted.dtype)) return true;
  const bool wide = step.wanted.dtype == DType::f32;
  const Number most = wide ? 4096 : step.wanted.dtype == DType::f16 ? 64 : 16;
  const Number grid = wide ? 256 : step.wanted.dtype == DType::f16 ? 8 : 4;
  const auto small = [&](Number v) {
    return !std::isfinite(v) || (std::abs(v) <= most && v * grid == std::floor(v * grid));
  };
  return std::ranges::all_of(step.wanted.values, small) &&
         std::ranges::all_of(step.sizes, [](Number size) { return size <= 4096; });
}

/// All results, on tensors in place of the leaves.
std::vector<Tensor> write(const Expression& expression, std::vector<Tensor> tensors, bool eager) {
  for (const Step& step : expression.steps) {
    tensors.push_back(step.run(of(tensors, step.inputs)));
    if (eager) (void)read(tensors.back());
  }
  tensors.erase(tensors.begin(),
                tensors.begin() + static_cast<std::ptrdiff_t>(expression.leaves.size()));
  return tensors;
}

}  // namespace

Expression random_expression(Source& source) {
  Expression out;
  const std::vector<DType> types{DType::f32, DType::f32, DType::f16, DType::bf16,
                                 DType::i32, DType::u8,  DType::i64, DType::boolean};
  const Shape base = random_shape(source);
  for (int i = 0; i < 3; ++i) {
    const Shape shape = leaf_shape(base, source);
    out.leaves.push_back(small_array(source.random.pick(types), shape, source));
    out.log += "leaf " + describe(out.leaves.back()) + "\n";
  }
  source.arrays = out.leaves;
  for (int i = 0; i < 40 && out.steps.size() < most_steps && !source.random.used_up(); ++i) {
    std::optional<Step> step = random_step(source);
    if (!step || !is_exact(*step) || step->wanted.values.size() > most_elements) continue;
    out.log += step->what + " -> " + describe(step->wanted) + "\n";
    source.arrays.push_back(step->wanted);
    out.steps.push_back(std::move(*step));
  }
  return out;
}

std::string compare_all_ways(const Device& device, const Expression& expression) {
  std::vector<Tensor> leaves;
  for (const HostArray& leaf : expression.leaves) leaves.push_back(upload(device, leaf));
  // The last three results are asked for: what is between is the compiler's.
  const std::size_t first =
      expression.steps.size() - std::min<std::size_t>(3, expression.steps.size());
  const auto last = [&](std::vector<Tensor> all) {
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
    return all;
  };
  const auto function = [&](const std::vector<Tensor>& in) -> Outputs {
    return {last(write(expression, in, false)), {}};
  };
  const Compiled compiled = compile(function);
  const Compiled plain = compile(function, {.without = "all"});
  const std::vector<std::pair<std::string, std::function<std::vector<Tensor>()>>> ways{
      {"step by step", [&] { return last(write(expression, leaves, true)); }},
      {"lazy", [&] { return last(write(expression, leaves, false)); }},
      {"compiled", [&] { return compiled(leaves); }},
      {"replayed", [&] { return compiled(leaves); }},
      {"compiled without passes", [&] { return plain(leaves); }}};
  for (const auto& [way, results] : ways) {
    try {
      const std::vector<Tensor> tensors = results();
      // The last one first, as it may be made of the others.
      for (std::size_t i = tensors.size(); i-- > 0;) {
        const std::string wrong = difference(tensors[i], expression.steps[first + i].wanted, {}, 0);
        if (wrong.empty()) continue;
        return formatted("{}, result {}: {}\n{}", way, first + i, wrong, expression.log);
      }
    } catch (const Error& error) {
      return way + ": " + error.what() + "\n" + expression.log;
    }
  }
  return "";
}

std::string check_steps(const Device& device, Source& source) {
  std::vector<Tensor> tensors;
  std::string log;
  const auto add = [&](const Tensor& tensor, HostArray host) {
    tensors.push_back(tensor);
    source.arrays.push_back(std::move(host));
  };
  const std::vector<DType> types{all_dtypes.begin(), all_dtypes.end()};
  const Shape base = random_shape(source);
  for (int i = 0; i < 3; ++i) {
    const Shape shape = leaf_shape(base, source);
    const HostArray host = random_array(source.random.pick(types), shape, source);
    log += "leaf " + describe(host) + "\n";
    add(upload(device, host), host);
  }
  for (std::size_t i = 0; i < most_steps && !source.random.used_up(); ++i) {
    const std::optional<Step> step = random_step(source);
    if (!step) continue;
    log += step->what + " -> " + describe(step->wanted) + "\n";
    try {
      const Tensor got = step->run(of(tensors, step->inputs));
      const Number digits = got.dtype() == DType::f32   ? 4e-6L
                            : got.dtype() == DType::f16 ? 2e-3L
                                                        : 1.6e-2L;
      const std::string wrong = difference(got, step->wanted, step->sizes, digits);
      if (!wrong.empty()) return formatted("{}\n{}", wrong, log);
      // The next step starts from the device's own values.
      HostArray found = read(got);
      if (found.values.size() <= most_elements) add(got, std::move(found));
    } catch (const Error& error) {
      return error.what() + ("\n" + log);
    }
  }
  return "";
}

}  // namespace weft::test
