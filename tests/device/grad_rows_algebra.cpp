#include "grad_rows.hpp"
#include "shared.hpp"

namespace weft::test {

using In = const std::vector<Tensor>&;

namespace {

/// Matrices whose inverses are not far from 1.
Tensor firm(const Tensor& a) {
  const std::uint64_t n = a.shape().back();
  return a + eye(api_device(), n, n) * 2.0;
}

Tensor signal() { return api_device().arange(4) * 0.2 + 0.3; }

}  // namespace

void add_algebra_rows(std::vector<GradRow>& rows) {
  const auto add = [&](std::string name, std::vector<Leaf> leaves, Expression f) {
    rows.push_back({std::move(name), std::move(leaves), std::move(f)});
  };
  const auto ids = [] { return whole_numbers({5}, {2, 0, 2, -1, 2}); };
  const Leaf x{{5, 2}};
  add("segment_sum", {x}, [=](In in) { return segment_sum(in[0], ids(), 3); });
  add("segment_mean", {x}, [=](In in) { return segment_mean(in[0], ids(), 3); });
  add("segment_max", {x}, [=](In in) { return segment_max(in[0], ids(), 3); });
  add("segment_min", {x}, [=](In in) { return segment_min(in[0], ids(), 3); });
  const auto starts = [] { return whole_numbers({4}, {0, 2, 2, 5}); };
  const auto columns = [] { return whole_numbers({5}, {0, 3, 1, 2, 3}); };
  add("csr_matmul", {{{5}}, {{4, 2}}},
      [=](In in) { return csr_matmul(in[0], starts(), columns(), in[1]); });
  add("csr_sampled_matmul", {{{3, 2}}, {{4, 2}}},
      [=](In in) { return csr_sampled_matmul(starts(), columns(), in[0], in[1]); });
  add("csr_softmax", {{{5}}}, [=](In in) { return csr_softmax(in[0], starts()); });
  add("csr_to_dense", {{{5}}}, [=](In in) { return csr_to_dense(in[0], starts(), columns(), 4); });
  const Leaf square{{2, 3, 3}, -0.5, 0.5};
  add("solve", {square, {{3, 2}}}, [](In in) { return solve(firm(in[0]), in[1]); });
  add("inverse", {square}, [](In in) { return inverse(firm(in[0])); });
  add("det", {square}, [](In in) { return det(firm(in[0])); });
  for (const std::uint64_t n : {1U, 2U, 4U}) {
    add("det_" + std::to_string(n), {{{2, n, n}}}, [](In in) { return det(in[0]); });
  }
  add("slogdet", {square}, [](In in) {
    const Slogdet all = slogdet(firm(in[0]));
    return all.sign * all.logabsdet + det(firm(in[0]));
  });
  add("cholesky", {square}, [](In in) { return cholesky(firm(in[0])); });
  add("fft2", {{{2, 3, 4, 2}}}, [](In in) { return fft2(in[0], {}, "ortho"); });
  add("irfft2", {{{3, 3, 2}}}, [](In in) { return irfft2(in[0], 5); });
  add("stft", {{{11}}}, [](In in) { return stft(in[0], 4, {.hop = 2, .window = signal()}); });
  add("istft", {{{3, 4, 2}}},
      [](In in) { return istft(in[0], 4, 7, {.hop = 2, .window = signal()}); });
  for (const std::uint64_t type : {1U, 2U, 3U, 4U}) {
    const std::string number = std::to_string(type);
    add("dct_" + number, {{{5}}}, [=](In in) { return dct(in[0], -1, "backward", type); });
    add("idct_" + number, {{{5}}}, [=](In in) { return idct(in[0], 0, "ortho", type); });
  }
  add("quantile", {{{2, 5}}}, [](In in) { return quantile(in[0], 0.3); });
  add("quantile_hazen", {{{2, 5}}}, [](In in) { return quantile(in[0], 0.4, -1, true, "hazen"); });
  for (const std::string metric : {"euclidean", "cosine", "inner"}) {
    add("knn_" + metric, {{{2, 3}}, {{4, 3}}},
        [=](In in) { return knn(in[0], in[1], 2, {.metric = metric}).distances; });
  }
}

}  // namespace weft::test
