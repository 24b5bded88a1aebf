#include "ops/gemm/problem.hpp"

#include <algorithm>
#include <bit>

namespace weft::ops::gemm {
namespace {

/// The parameter block of every kernel of this op; `x` stands for the dimension of an operand that
/// is not K.
struct Params {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  std::uint32_t a_x = 0;
  std::uint32_t a_k = 0;
  std::uint32_t b_x = 0;
  std::uint32_t b_k = 0;
  std::uint32_t c_m = 0;
  std::uint32_t c_n = 0;
  std::array<std::uint32_t, batch_rank> batch{};
  std::array<std::uint32_t, batch_rank> a_batch{};
  std::array<std::uint32_t, batch_rank> b_batch{};
  std::array<std::uint32_t, batch_rank> c_batch{};
  std::array<std::uint32_t, batch_rank + 2> bias{};
  std::array<std::uint32_t, batch_rank + 2> a_scale{};
  std::array<std::uint32_t, batch_rank + 2> b_scale{};
  std::uint32_t splits = 1;
  std::uint32_t k_split = 0;
  std::uint32_t c_split = 0;
  float alpha = 1;
  float beta = 0;
  std::array<float, 4> s{};  // scalars of the activation
};

std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// True when elements i, i + 1, … of dimension `dim` lie side by side and every multiple of
/// `elements` is aligned.
bool steps_evenly(const View& view, std::uint32_t dim, std::uint32_t elements) {
  if (view.stride[dim] != 1) return false;
  const std::uint64_t size = size_of(view.dtype);
  const std::uint64_t bytes = std::min<std::uint64_t>(16, elements * size);
  if (view.offset % bytes != 0) return false;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    if (i != dim && view.shape[i] > 1 && view.stride[i] * size % bytes != 0) return false;
  }
  return true;
}

/// How an operand that broadcasts to c spreads over it.
std::string_view spread_of(const View& view) {
  if (!view.given()) return "none";
  return view.stride[4] == 0 ? "row" : "any";
}

/// 32-bit words that a binding read `elements` at a time has per array element.
std::uint32_t unit_for(DType type, std::uint32_t elements, bool vec) {
  return vec ? std::clamp<std::uint32_t>(elements * size_of(type) / 4, 1, 4) : 1;
}

}  // namespace

Problem Problem::transposed() const {
  Problem out = *this;
  out.a = b.transpose(3, 4);
  out.b = a.transpose(3, 4);
  out.c = c.transpose(3, 4);
  for (const auto& [name, view] : spread_operands) {
    if ((this->*view).given()) out.*view = (this->*view).transpose(3, 4);
  }
  return out;
}

Layout layout_of(const View& view, std::uint32_t k_dim, std::uint32_t elements) {
  const std::uint32_t x_dim = k_dim == 3 ? 4 : 3;
  if (steps_evenly(view, k_dim, elements)) return {.along_k = true, .vec = true};
  if (steps_evenly(view, x_dim, elements)) return {.along_k = false, .vec = true};
  // Loads one by one: neighbours follow the smaller step.
  const bool x_is_near = view.stride[x_dim] != 0 && view.shape[x_dim] > 1 &&
                         (view.shape[k_dim] == 1 || view.stride[x_dim] < view.stride[k_dim]);
  return {.along_k = !x_is_near, .vec = false};
}

Traits traits_of(const Problem& problem, std::uint32_t elements, std::uint64_t step) {
  const Layout a = layout_of(problem.a, 4, elements);
  const Layout b = layout_of(problem.b, 3, elements);
  return {
      .function = problem.activation,
      .beta = problem.beta != 0,
      .bias = spread_of(problem.bias),
      .a_scale = spread_of(problem.a_scale),
      .b_scale = spread_of(problem.b_scale),
      .batched = problem.batches() > 1,
      .split = problem.splits > 1,
      .k_edge = problem.k() % step != 0 || problem.k_split % step != 0,
      .a_dir = a.along_k ? "k" : "x",
      .b_dir = b.along_k ? "k" : "x",
      .a_vec = a.vec,
      .b_vec = b.vec,
      .c_vec = steps_evenly(problem.c, 4, 4) && (problem.splits == 1 || problem.c.count() % 4 == 0),
      .n_tail = problem.n() % 4 != 0};
}

Launch launch_of(const Problem& problem, const Traits& traits, std::uint32_t elements) {
  Params params{.m = u32(problem.m()),
                .n = u32(problem.n()),
                .k = u32(problem.k()),
                .a_x = u32(problem.a.stride[3]),
                .a_k = u32(problem.a.stride[4]),
                .b_x = u32(problem.b.stride[4]),
                .b_k = u32(problem.b.stride[3]),
                .c_m = u32(problem.c.stride[3]),
                .c_n = u32(problem.c.stride[4]),
                .splits = problem.splits,
                .k_split = u32(problem.splits > 1 ? problem.k_split : problem.k()),
                .c_split = u32(problem.c.count()),
                .alpha = problem.alpha,
                .beta = problem.beta};
  for (std::uint32_t i = 0; i < batch_rank; ++i) {
    params.batch[i] = u32(problem.c.shape[i]);
    params.a_batch[i] = u32(problem.a.stride[i]);
    params.b_batch[i] = u32(problem.b.stride[i]);
    params.c_batch[i] = u32(problem.c.stride[i]);
  }
  for (std::uint32_t i = 0; i < params.bias.size(); ++i) {
    params.bias[i] = u32(problem.bias.stride[i]);
    params.a_scale[i] = u32(problem.a_scale.stride[i]);
    params.b_scale[i] = u32(problem.b_scale.stride[i]);
  }
  for (std::size_t i = 0; i < params.s.size(); ++i) {
    params.s[i] = static_cast<float>(problem.scalars[i]);
  }

  View c = problem.c;
  if (problem.splits > 1) {  // the slices of all parts lie behind each other
    c = View::dense(DType::f32, {problem.splits * problem.c.count()}, problem.c.slot);
    c.offset = problem.c.offset;
  }
  const bool shared_words = size_of(c.dtype) < 4 && !traits.c_vec;
  Launch launch;
  launch.params = block_of(params);
  launch.operands = {{.name = "a",
                      .view = problem.a,
                      .access = Access::read,
                      .unit = unit_for(problem.a.dtype, elements, traits.a_vec)},
                     {.name = "b",
                      .view = problem.b,
                      .access = Access::read,
                      .unit = unit_for(problem.b.dtype, elements, traits.b_vec)},
                     {.name = "c",
                      .view = c,
                      .access = shared_words ? Access::atomic : Access::write,
                      .unit = unit_for(c.dtype, 4, traits.c_vec)}};
  for (const auto& [name, view] : spread_operands) {
    if ((problem.*view).given()) launch.operands.push_back({.name = name, .view = problem.*view});
  }
  return launch;
}

}  // namespace weft::ops::gemm
