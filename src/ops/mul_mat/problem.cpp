#include "ops/mul_mat/problem.hpp"

#include "ops/iterate.hpp"

namespace weft::ops::mul_mat {

Problem sliced(const Problem& problem, std::uint32_t dim, std::uint64_t first,
               std::uint64_t count) {
  Problem part = problem;
  part.y = problem.y.slice(dim, first, count);
  if (problem.bias.given()) part.bias = problem.bias.slice(dim, first, count);
  if (dim != 5) part.x = problem.x.slice(dim, first, count);
  if (dim != 5 && problem.x_scales.given()) {
    part.x_scales = problem.x_scales.slice(dim, first, count);
  }
  if (dim == 5) part.weights = problem.weights.slice(4, first, count);
  if (dim < 4) {
    part.weights = problem.weights.shape[dim] == 1 ? problem.weights
                                                   : problem.weights.slice(dim, first, count);
  }
  return part;
}

Status for_each_part(const Problem& problem, const std::function<bool(const Problem&)>& fits,
                     const std::function<Status(const Problem&)>& emit) {
  if (fits(problem)) return emit(problem);
  // Columns in eights first, then batches from the outside, then rows of weights.
  std::uint32_t dim = 6;
  std::uint64_t first = 0;
  if (problem.n() > vector_columns) {
    const Problem narrow = sliced(problem, 4, 0, vector_columns);
    if (fits(narrow)) {
      dim = 4;
      first = vector_columns;
    }
  }
  for (std::uint32_t i = 0; dim == 6 && i < 4; ++i) {
    if (problem.y.shape[i] > 1) dim = i;
  }
  if (dim == 6 && problem.m() > 1) dim = 5;
  if (dim == 6) {
    return fail(ErrorCode::unsupported,
                "One row of weights ({}) times x ({}) does not fit one binding of this device.",
                describe(problem.weights), describe(problem.x));
  }
  if (first == 0) first = half_of(problem.y.shape[dim]);
  const std::uint64_t rest = problem.y.shape[dim] - first;
  if (const Status ok = for_each_part(sliced(problem, dim, 0, first), fits, emit); !ok) return ok;
  return for_each_part(sliced(problem, dim, first, rest), fits, emit);
}

bool fits_device(const Problem& problem, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  return problem.weights.bytes().size() <= budget && problem.x.bytes().size() <= budget &&
         problem.y.bytes().size() <= budget &&
         (!problem.bias.given() || problem.bias.bytes().size() <= budget) &&
         problem.batches() <= caps.max_workgroups;
}

}  // namespace weft::ops::mul_mat
