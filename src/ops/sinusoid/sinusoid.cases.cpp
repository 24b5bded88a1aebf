#include "ops/sinusoid/sinusoid.hpp"

#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::sinusoid {
namespace {

Case sinusoid_case(const std::string& label, std::uint64_t rows, std::uint64_t columns,
                   TensorSpec x = {}, TensorSpec y = {}, double period = 1e4) {
  Case test;
  test.name = label;
  x.shape = {rows};
  x.low = 0;
  x.high = 1000;
  y.shape = {rows, columns};
  y.output = true;
  test.epsilons = 4096;  // of angles up to 1000, whose f32 neighbours are 512 epsilons apart
  test.tensors = {std::move(x), std::move(y)};
  test.plan = [period](std::span<const View> v, const Caps& caps) {
    return plan({.x = v[0], .y = v[1], .period = period}, caps);
  };
  test.reference = [=](std::span<HostTensor> t) {
    const std::uint64_t half = columns / 2;
    for (std::uint64_t n = 0; n < rows; ++n) {
      for (std::uint64_t j = 0; j < columns; ++j) {
        const double power = static_cast<double>(j % std::max<std::uint64_t>(half, 1)) /
                             static_cast<double>(std::max<std::uint64_t>(half, 1));
        const double angle = t[0].values[n] * std::pow(period, -power);
        t[1].values[n * columns + j] = j >= 2 * half ? 0
                                       : j < half    ? std::cos(angle)
                                                     : std::sin(angle);
      }
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    out.push_back(
        sinusoid_case(formatted("{}", name(type)), 5, 64, {.dtype = type}, {.dtype = type}));
  }
  out.push_back(sinusoid_case("of_integers", 6, 33, {.dtype = DType::i32}));
  out.push_back(sinusoid_case("one_column", 3, 1));
  out.push_back(sinusoid_case("empty", 0, 8));
  out.push_back(sinusoid_case("strided_f16", 4, 9, {.offset = 1},
                              {.dtype = DType::f16, .order = {1, 0}, .pad = 1, .offset = 1}));
  out.push_back(sinusoid_case("slow", 4, 40, {}, {}, 10));
  out.push_back(sinusoid_case("large", 1100, 300));
  out.push_back(sinusoid_case("random", random.between(1, 9), random.between(1, 99)));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"sinusoid", "Sines and cosines of positions, as diffusion models embed time steps",
          "f32 f16 bf16 (positions also i32)", cases};
}

}  // namespace weft::ops::sinusoid
