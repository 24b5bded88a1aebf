#include "grad_rows.hpp"

#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "shared.hpp"

namespace weft::test {

using In = const std::vector<Tensor>&;

Tensor whole_numbers(const Shape& shape, const std::vector<std::int32_t>& values) {
  return api_device().tensor(shape, values);
}

const std::vector<GradRow>& grad_rows() {
  static const auto rows = [] {
    std::vector<GradRow> made;
    add_plain_rows(made);
    add_image_rows(made);
    add_model_rows(made);
    add_algebra_rows(made);
    add_function_rows(made);
    add_composed_rows(made);
    add_second_rows(made);
    return made;
  }();
  return rows;
}

namespace {

void add_reductions(std::vector<GradRow>& rows) {
  for (const char* function : {"sum", "mean", "max", "min", "prod", "norm", "sum_squares"}) {
    rows.push_back({std::string("reduce_") + function, {{{2, 3, 2}, 0.5, 2}}, [=](In in) {
                      return reduce(function, in[0], {0, 2});
                    }});
    rows.push_back({std::string("reduce_kept_") + function, {{{2, 3}, 0.5, 2}}, [=](In in) {
                      return reduce(function, in[0], {1}, true);
                    }});
  }
  rows.push_back({"cumsum", {{{3, 4}}}, [](In in) { return cumsum(in[0], 1); }});
  rows.push_back({"cumsum_back", {{{3, 4}}}, [](In in) { return cumsum(in[0], 0, true, true); }});
  using Scan = Tensor (*)(weft::In, int, bool);
  for (const auto& [scan, name] : {std::pair<Scan, const char*>{cumprod, "cumprod"},
                                   {cummax, "cummax"},
                                   {cummin, "cummin"},
                                   {logcumsumexp, "logcumsumexp"}}) {
    rows.push_back({name, {{{3, 5}, 0.5, 2}}, [=](In in) { return scan(in[0], 1, false); }});
    rows.push_back({std::string(name) + "_reverse", {{{5, 2}, 0.5, 2}}, [=](In in) {
                      return scan(in[0], 0, true);
                    }});
  }
  rows.push_back({"fft", {{{2, 12, 2}}}, [](In in) { return fft(in[0]); }});
  rows.push_back({"ifft_11", {{{11, 2}}}, [](In in) { return ifft(in[0]); }});
  rows.push_back({"rfft", {{{2, 9}}}, [](In in) { return rfft(in[0]); }});
  rows.push_back({"irfft", {{{2, 5, 2}}}, [](In in) { return irfft(in[0], 8); }});
  rows.push_back({"sort", {{{2, 5}}}, [](In in) { return sort(in[0]).values; }});
  rows.push_back({"top_k", {{{2, 3, 6}}}, [](In in) { return top_k(in[0], 2).values; }});
  rows.push_back({"smallest", {{{2, 6}}}, [](In in) { return top_k(in[0], 3, -1, false).values; }});
}

void add_moves(std::vector<GradRow>& rows) {
  rows.push_back({"views", {{{2, 3, 4}}}, [](In in) {
                    return in[0].permute({2, 0, 1}).reshape({8, 3}).slice(0, 1, 3, 2) * 3;
                  }});
  rows.push_back({"slice", {{{7}}}, [](In in) { return in[0].slice(0, 1, 3, 2); }});
  rows.push_back({"broadcast", {{{2, 1}}}, [](In in) { return in[0].broadcast_to({3, 2, 4}); }});
  rows.push_back(
      {"concat", {{{2, 3}}, {{2, 1}}}, [](In in) { return concat({in[0], in[1], in[0]}, 1); }});
  rows.push_back({"pad", {{{2, 3}}}, [](In in) { return pad(in[0], {1, 0}, {0, 2}, 9); }});
  for (const auto& [edge, name] : {std::pair{Edge::replicate, "pad_replicate"},
                                   {Edge::circular, "pad_circular"},
                                   {Edge::reflect, "pad_reflect"}}) {
    rows.push_back({name, {{{3, 4}}}, [=](In in) { return pad(in[0], {2, 3}, {1, 5}, edge); }});
  }
  rows.push_back({"roll", {{{3, 4}}}, [](In in) { return roll(in[0], {1, -6}); }});
  rows.push_back({"tril", {{{2, 4, 3}}}, [](In in) { return tril(in[0], -1); }});
  rows.push_back({"triu", {{{4, 3}}}, [](In in) { return triu(in[0], 1); }});
  rows.push_back({"band_part", {{{4, 5}}}, [](In in) { return band_part(in[0], -1, 2, 7); }});
  rows.push_back({"tile", {{{2, 3}}}, [](In in) { return tile(in[0], {3, 2}); }});
  rows.push_back({"copy", {{{2, 3}}}, [](In in) {
                    return graph::make(graph::kinds::copy, {}, {in[0].transpose()},
                                       Where::current());
                  }});
  rows.push_back({"cast",
                  {{{2, 3}}},
                  [](In in) { return in[0].to(DType::f16).to(DType::f32) * in[0]; },
                  2e-3});
  rows.push_back({"checkpoint", {{{2, 3}}, {{3, 2}}}, [](In in) {
                    return checkpoint([](In x) { return gelu(matmul(x[0], x[1])); }, in);
                  }});
  rows.push_back({"dropout", {{{4, 5}}}, [](In in) {
                    const std::vector<std::uint32_t> seed{3, 4};
                    return dropout(in[0], 0.4F, api_device().tensor({2}, seed), 2);
                  }});
}

void add_indices(std::vector<GradRow>& rows) {
  rows.push_back({"embedding", {{{4, 3}}}, [](In in) {
                    return embedding(in[0], whole_numbers({2, 2}, {1, 0, 1, 3}));
                  }});
  rows.push_back({"gather", {{{2, 3}}}, [](In in) {
                    return gather(in[0], whole_numbers({2, 2}, {1, 1, 0, 2}), 1);
                  }});
  rows.push_back({"scatter_add", {{{2, 3}}, {{2, 2}}}, [](In in) {
                    return scatter_add(in[0], whole_numbers({2, 2}, {1, 1, 0, 2}), in[1], 1);
                  }});
  rows.push_back({"index_copy", {{{4, 2}}, {{3, 2}}}, [](In in) {
                    return index_copy(in[0], whole_numbers({3}, {2, 0, 9}), in[1]);
                  }});
}

void add_products(std::vector<GradRow>& rows) {
  const Expression f = [](In in) { return matmul(in[0], in[1]); };
  rows.push_back({"matmul", {{{3, 4}}, {{4, 2}}}, f});
  rows.push_back({"matmul_shared", {{{2, 3, 4}}, {{4, 2}}}, f});
  rows.push_back({"matmul_batched", {{{2, 3, 4}}, {{2, 4, 2}}}, f});
  rows.push_back({"matmul_broadcast", {{{2, 1, 3, 4}}, {{3, 4, 2}}}, f});
  rows.push_back({"matmul_turned", {{{3, 4}}, {{3, 2}}}, [](In in) {
                    return matmul(in[0].transpose(), in[1]);
                  }});
  rows.push_back({"linear_q8_0", {{{2, 32}}}, [](In in) {
                    const Tensor wave = map("sin", api_device().arange(96)).reshape({3, 32});
                    const Tensor blocks = wave.to(DType::q8_0);
                    blocks.eval();  // rounded to blocks, also on the host
                    return linear(in[0], blocks);
                  }});
  const Expression chosen = [](In in) {
    return grouped_linear(in[0], in[1], whole_numbers({3, 2}, {1, 0, 2, 2, 0, 5}));
  };
  rows.push_back({"grouped_linear", {{{3, 2, 8}}, {{3, 4, 8}}}, chosen});
  rows.push_back({"matmul_chosen_shared", {{{3, 1, 8}}, {{3, 4, 8}}}, chosen});
  for (const bool upper : {false, true}) {
    rows.push_back({upper ? "solve_upper" : "solve_lower",
                    {{{2, 3, 3}, 1, 2}, {{3, 2}}},
                    [=](In in) { return solve_triangular(in[0], in[1], upper); }});
  }
}

}  // namespace

void add_plain_rows(std::vector<GradRow>& rows) {
  rows.push_back({"maps", {{{2, 3}}, {{3}}, {{2, 1}}}, [](In in) {
                    return tanh(in[0] * in[1] + in[2]) / (2.0 + in[1] * in[1]);
                  }});
  rows.push_back({"where", {{{4}}, {{4}}, {{1}}}, [](In in) {
                    return where(map("greater", in[0].detach(), in[1].detach()), in[1] * 2, in[2]);
                  }});
  add_reductions(rows);
  add_moves(rows);
  add_indices(rows);
  add_products(rows);
}

}  // namespace weft::test
