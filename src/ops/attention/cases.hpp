#pragma once

#include <string>
#include <vector>

#include "ops/attention/attention.hpp"
#include "ops/case.hpp"

namespace weft::ops::attention {

/// Allowed errors, in epsilons: of kernels with weights in f32, and of those for matrix units,
/// which round them to f16.
inline constexpr double exact_weights = 64;
inline constexpr double rounded_weights = 4096;

/// What a case has: tensors q, k, v, then mask and sinks if any, y, then lse if any.
struct Setup {
  TensorSpec q;
  TensorSpec k;
  TensorSpec v;
  TensorSpec y;
  TensorSpec mask;
  bool has_mask = false;
  bool has_sinks = false;
  bool has_lse = false;
  /// There is a mask in scratch that hides the second half of the keys from the first half of the
  /// queries, and all keys from the last query.
  bool hides = false;
  bool packs = false;  ///< y also goes to scratch in packed form.
  Rules rules;
  std::string_view kernel;
  double epsilons = exact_weights;
  double scale = 1;  ///< How large results are.
  bool bench = false;
};

/// Shapes of a case in short: all tensors dense, of one type.
struct Shape {
  std::uint64_t batch = 1;
  std::uint64_t heads = 1;
  std::uint64_t queries = 1;
  std::uint64_t keys = 1;
  std::uint64_t size = 64;
  std::uint64_t value_size = 0;  ///< 0: as `size`.
  std::uint64_t key_heads = 0;   ///< 0: as `heads`.
  std::uint64_t key_batch = 0;   ///< 0: as `batch`.
};

Setup make_setup(const Shape& shape, DType type = DType::f32);

/// Gives a setup a mask with -infinity here and there.
void add_mask(Setup& setup, DType type, std::uint64_t batches, std::uint64_t heads);

Case make_case(const std::string& name, Setup setup);

/// The slope of a head in ALiBi.
double slope_of(std::uint64_t head, std::uint64_t heads, double max_bias);

/// Logits of one head in double, -infinity where a key does not count.
std::vector<double> logits_of(const Rules& rules, const HostTensor& q, const HostTensor& k,
                              const HostTensor* mask, std::uint64_t b, std::uint64_t h,
                              std::uint64_t i);

/// y and lse of the forward pass in double.
void forward_host(const Rules& rules, const HostTensor& q, const HostTensor& k, const HostTensor& v,
                  const HostTensor* mask, const HostTensor* sinks, HostTensor& y, HostTensor* lse);

/// Multiplications and additions of a forward pass.
double flops_of(const Setup& setup);

/// A benchmark of a forward and a backward pass.
Case make_backward_bench(const std::string& name, Setup setup);

std::vector<Case> backward_cases(std::uint64_t seed);
std::vector<Case> bench_cases();

}  // namespace weft::ops::attention
