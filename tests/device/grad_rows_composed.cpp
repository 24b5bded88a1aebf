// Functions that promise a gradient and are made of other operations: sparse matrices, transforms
// along several axes, order statistics, whole numbers.
#include <utility>

#include "grad_rows.hpp"
#include "shared.hpp"

namespace weft::test {

using In = const std::vector<Tensor>&;

namespace {

/// The places of a matrix of 3 x 4 in compressed rows, and of one of 4 x 6 in blocks of 2 x 2.
Tensor starts() { return whole_numbers({4}, {0, 2, 2, 5}); }
Tensor columns() { return whole_numbers({5}, {0, 3, 1, 2, 3}); }
Tensor block_starts() { return whole_numbers({3}, {0, 2, 3}); }
Tensor block_columns() { return whole_numbers({3}, {0, 2, 1}); }

void add_sparse(std::vector<GradRow>& rows) {
  const auto add = [&](std::string name, std::vector<Leaf> leaves, Expression f) {
    rows.push_back({std::move(name), std::move(leaves), std::move(f)});
  };
  const Leaf values{{5}};
  add("csr_from_dense", {{{3, 4}}}, [](In in) { return csr_from_dense(in[0]).values * 2; });
  add("csr_from_coo", {values}, [](In in) {
    return csr_from_coo(in[0], whole_numbers({5}, {2, 0, 1, 0, 2}), columns(), 3).values * 2;
  });
  add("csr_coalesce", {values}, [](In in) {
    return csr_coalesce(in[0], starts(), whole_numbers({5}, {0, 3, 1, 1, 3})).values * 2;
  });
  add("csr_transpose", {values},
      [](In in) { return csr_transpose(in[0], starts(), columns(), 4).values * 2; });
  add("csr_add", {values, {{3, 4}}},
      [](In in) { return csr_add(in[0], starts(), columns(), in[1]); });
  add("csr_row_sums", {values}, [](In in) { return csr_row_sums(in[0], starts()); });
  const Leaf blocks{{3, 2, 2}};
  add("bsr_from_dense", {{{4, 6}}}, [](In in) { return bsr_from_dense(in[0], 2).values * 2; });
  add("bsr_from_csr", {values}, [](In in) {
    const Tensor rows_of_four = whole_numbers({5}, {0, 2, 2, 4, 5});
    return bsr_from_csr(in[0], rows_of_four, whole_numbers({5}, {0, 5, 1, 2, 3}), 2).values * 2;
  });
  add("bsr_to_dense", {blocks},
      [](In in) { return bsr_to_dense(in[0], block_starts(), block_columns(), 6); });
  add("bsr_to_csr", {blocks},
      [](In in) { return bsr_to_csr(in[0], block_starts(), block_columns()).values * 2; });
  add("bsr_transpose", {blocks},
      [](In in) { return bsr_transpose(in[0], block_starts(), block_columns(), 6).values * 2; });
  add("bsr_matmul", {blocks, {{6, 2}}},
      [](In in) { return bsr_matmul(in[0], block_starts(), block_columns(), in[1]); });
  add("bsr_sampled_matmul", {{{4, 3}}, {{6, 3}}},
      [](In in) { return bsr_sampled_matmul(block_starts(), block_columns(), in[0], in[1], 2); });
}

void add_transforms(std::vector<GradRow>& rows) {
  const auto add = [&](std::string name, Shape shape, Expression f) {
    rows.push_back({std::move(name), {{std::move(shape)}}, std::move(f)});
  };
  add("fftn", {2, 3, 4, 2}, [](In in) { return fftn(in[0]); });
  add("fftn_ortho", {3, 2, 2}, [](In in) { return fftn(in[0], {0}, "ortho"); });
  add("ifftn", {3, 2, 2}, [](In in) { return ifftn(in[0]); });
  add("ifft2", {2, 3, 2, 2}, [](In in) { return ifft2(in[0], {}, "forward"); });
  add("rfftn", {2, 3, 4}, [](In in) { return rfftn(in[0], {0, -1}); });
  add("irfftn", {3, 3, 2}, [](In in) { return irfftn(in[0], 5); });
  add("rfft2", {2, 3, 4}, [](In in) { return rfft2(in[0], {}, "ortho"); });
  for (const char* mode : {"full", "same", "valid"}) {
    for (const char* method : {"direct", "fft"}) {
      rows.push_back({std::string("convolve_") + mode + "_" + method,
                      {{{2, 7}}, {{3}}},
                      [=](In in) { return convolve(in[0], in[1], mode, method); }});
    }
  }
  rows.push_back(
      {"convolve_2d", {{{4, 5}}, {{2, 3}}}, [](In in) { return convolve(in[0], in[1], "same"); }});
}

void add_others(std::vector<GradRow>& rows) {
  rows.push_back({"median_odd", {{{3, 5}}}, [](In in) { return median(in[0]); }});
  rows.push_back({"median_even", {{{4, 3}}}, [](In in) { return median(in[0], 0, true); }});
  rows.push_back({"mode", {{{2, 5}}}, [](In in) { return mode(in[0]).values; }});
  rows.push_back({"cummax_indices", {{{2, 5}}}, [](In in) {
                    return cummax_indices(in[0], 1).values + cummin_indices(in[0], -1).values;
                  }});
  rows.push_back({"bincount", {{{6}}}, [](In in) {
                    return bincount(whole_numbers({6}, {2, 0, 2, 5, 1, 2}), 4, in[0]);
                  }});
  rows.push_back({"dequantize", {{{2}, 0.5, 1}}, [](In in) {
                    const Tensor q = whole_numbers({3, 2}, {-7, 3, 0, 5, 120, -128});
                    return dequantize(q, in[0], {.zero_point = whole_numbers({2}, {1, -3})});
                  }});
  rows.push_back({"geglu", {{{2, 3}}, {{2, 3}}}, [](In in) {
                    return geglu(in[0], in[1]) + geglu(in[0], in[1], {.approximate = "tanh"});
                  }});
  rows.push_back({"meshgrid", {{{3}}, {{2}}}, [](In in) {
                    const auto all = meshgrid({in[0], in[1]}, "ij");
                    return all[0] * all[1];
                  }});
  rows.push_back({"expand_dims", {{{3, 2}}}, [](In in) { return expand_dims(in[0], -2) * 2; }});
  // Names in C of what C++ has several forms of.
  rows.push_back({"squeeze_axes", {{{2, 1, 3, 1}}}, [](In in) { return squeeze(in[0], {1}) * 2; }});
  rows.push_back({"split_at", {{{5, 2}}}, [](In in) {
                    const auto parts = split(in[0], std::vector<std::uint64_t>{1, 3});
                    return parts[1] * sum(parts[0] * 2) + sum(parts[2]);
                  }});
  rows.push_back({"repeat_interleave_each", {{{3, 2}}}, [](In in) {
                    return repeat_interleave(in[0], std::vector<std::uint64_t>{0, 3, 1}, 0) * 2;
                  }});
  rows.push_back(
      {"pad_edge", {{{3}}}, [](In in) { return pad(in[0], {2}, {1}, Edge::reflect) * 2; }});
  rows.push_back({"tensordot_axes", {{{2, 3}}, {{3, 2}}}, [](In in) {
                    return tensordot(in[0], in[1], {0}, {-1}) + sum(tensordot(in[0], in[1], 1));
                  }});
}

}  // namespace

void add_composed_rows(std::vector<GradRow>& rows) {
  add_sparse(rows);
  add_transforms(rows);
  add_others(rows);
}

}  // namespace weft::test
