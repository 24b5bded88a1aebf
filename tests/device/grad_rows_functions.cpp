// Functions of the public library that are made of other operations.
#include <limits>
#include <utility>

#include "grad_rows.hpp"
#include "shared.hpp"

namespace weft::test {

using In = const std::vector<Tensor>&;

namespace {

void add_shapes(std::vector<GradRow>& rows) {
  rows.push_back({"squeeze_and_unsqueeze", {{{2, 1, 3}}}, [](In in) {
                    return unsqueeze(squeeze(in[0], {-2}) * squeeze(in[0]), -1);
                  }});
  rows.push_back({"flatten", {{{2, 3, 4}}}, [](In in) {
                    return unflatten(flatten(in[0], 1), -1, {-1, 2}) * 2;
                  }});
  rows.push_back(
      {"movedim", {{{2, 3, 4}}}, [](In in) { return movedim(swapaxes(in[0], 0, -1), 1, -1) * 3; }});
  rows.push_back({"expand", {{{3, 1}}}, [](In in) { return expand(in[0], {2, -1, 4}); }});
  rows.push_back(
      {"stack", {{{2, 3}}, {{2, 3}}}, [](In in) { return stack({in[0], in[1], in[0]}, -2); }});
  rows.push_back({"split", {{{5, 2}}}, [](In in) {
                    const auto parts = split(in[0], std::vector<std::uint64_t>{1, 4});
                    return parts[1] * sum(parts[0]) + sum(chunk(parts[2], 2, 1)[1]);
                  }});
  rows.push_back({"repeat_interleave", {{{2, 3}}}, [](In in) {
                    return repeat_interleave(in[0], 2, 0) *
                           sum(repeat_interleave(in[0], std::vector<std::uint64_t>{2, 0, 1}, -1));
                  }});
  rows.push_back({"flip", {{{2, 3, 4}}}, [](In in) { return flip(in[0], {0, -1}) * 2; }});
  rows.push_back({"take", {{{2, 4, 3}}}, [](In in) {
                    return take(in[0], whole_numbers({2, 2}, {1, -1, 0, 1}), 1);
                  }});
  rows.push_back({"take_flat", {{{2, 3}}}, [](In in) {
                    return take(in[0], whole_numbers({4}, {5, 0, 0, -2}));
                  }});
  rows.push_back({"take_along", {{{2, 1, 3}}}, [](In in) {
                    return take_along(in[0], whole_numbers({1, 4, 2}, {0, 1, -1, 2, 1, 1, 0, -3}),
                                      -1);
                  }});
  rows.push_back({"masked_fill", {{{2, 3}}}, [](In in) {
                    const Tensor mask = whole_numbers({3}, {0, 1, 0}).to(DType::f32);
                    return log(masked_fill(square(in[0]) + 0.5, mask, 2));
                  }});
  rows.push_back({"diagonal", {{{3, 2, 4}}}, [](In in) { return diagonal(in[0], 1, 0, -1) * 2; }});
  rows.push_back({"trace", {{{3, 4}}}, [](In in) { return trace(in[0], -1) * in[0]; }});
}

void add_statistics(std::vector<GradRow>& rows) {
  rows.push_back({"var", {{{2, 5, 3}}}, [](In in) { return var(in[0], {1}); }});
  rows.push_back({"std", {{{4, 3}}}, [](In in) {
                    return std(in[0], {-1}, {.correction = 1, .keep_dims = true});
                  }});
  rows.push_back({"logsumexp", {{{3, 4}, -3, 3}}, [](In in) { return logsumexp(in[0], {1}); }});
  rows.push_back({"logsumexp_all", {{{3, 4}}}, [](In in) { return logsumexp(in[0]); }});
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [p, name] : {std::pair{1.0, "norm_1"},
                                {2.0, "norm_2"},
                                {3.0, "norm_3"},
                                {0.5, "norm_half"},
                                {-2.0, "norm_minus_2"},
                                {infinity, "norm_inf"},
                                {-infinity, "norm_minus_inf"}}) {
    rows.push_back({name, {{{3, 4}, 0.3, 2}}, [p](In in) { return norm(in[0] * -1.5, p, {0}); }});
  }
  rows.push_back({"cov", {{{3, 5}}}, [](In in) { return cov(in[0]); }});
  rows.push_back({"clip", {{{3, 4}}}, [](In in) { return clip(in[0], -0.5, {}) * 2; }});
  rows.push_back({"cdist", {{{3, 4}}, {{2, 4}}}, [](In in) { return cdist(in[0], in[1]); }});
  rows.push_back(
      {"cdist_1", {{{2, 3, 2}}, {{4, 2}}}, [](In in) { return cdist(in[0], in[1], {.p = 1}); }});
  rows.push_back({"cdist_by_product", {{{3, 4}}, {{2, 4}}}, [](In in) {
                    return cdist(in[0], in[1], {.by_product = true});
                  }});
}

void add_names(std::vector<GradRow>& rows) {
  const auto add = [&](std::string name, std::vector<Leaf> leaves, Expression f) {
    rows.push_back({std::move(name), std::move(leaves), std::move(f)});
  };
  add("copysign", {{{3, 4}}, {{4}}}, [](In in) { return copysign(in[0] * 2, in[1]); });
  add("hypot", {{{3, 4}}, {{4}}}, [](In in) { return hypot(in[0], in[1]); });
  add("rad2deg", {{{5}}}, [](In in) { return rad2deg(in[0]) * sin(deg2rad(in[0])); });
  add("diag", {{{4}}}, [](In in) { return diag(in[0], -1) + diag(diag(in[0]), 0).at(0); });
  add("diff", {{{2, 5}}}, [](In in) { return diff(in[0], 2) * 3; });
  add("roll_axes", {{{3, 4}}}, [](In in) { return roll(in[0], {1, -1}, {0, 1}) * in[0]; });
  add("atleast_1d", {{{4}}}, [](In in) { return atleast_3d(in[0]) * atleast_1d(in[0]); });
  add("atleast_2d", {{{2, 3}}}, [](In in) { return atleast_2d(in[0]) * 2; });
  add("broadcast_arrays", {{{3, 1}}, {{4}}}, [](In in) {
    const auto both = broadcast_arrays({in[0], in[1]});
    return both[0] * both[1];
  });
  const Leaf wide{{3, 4}, -8, 8};
  add("relu6", {wide}, [](In in) { return relu6(in[0]); });
  add("hardtanh", {wide}, [](In in) { return hardtanh(in[0], -2, 3); });
  add("selu", {{{3, 4}, -3, 3}}, [](In in) { return selu(in[0]); });
  add("celu", {{{3, 4}, -3, 3}}, [](In in) { return celu(in[0], 0.7); });
  add("prelu", {{{2, 3, 4}}, {{3, 1}}}, [](In in) { return prelu(in[0], in[1]); });
  add("softsign", {wide}, [](In in) { return softsign(in[0]); });
  add("softshrink", {wide}, [](In in) { return softshrink(in[0], 1.5); });
  add("hardshrink", {wide}, [](In in) { return hardshrink(in[0], 1.5); });
  add("log_sigmoid", {wide}, [](In in) { return log_sigmoid(in[0]); });
  add("glu", {{{3, 4}}}, [](In in) { return glu(in[0], 1); });
}

void add_contractions(std::vector<GradRow>& rows) {
  rows.push_back({"einsum_matmul", {{{3, 4}}, {{4, 2}}}, [](In in) {
                    return einsum("ij,jk->ki", {in[0], in[1]});
                  }});
  rows.push_back({"einsum_batches", {{{2, 3, 4}}, {{5, 4, 2}}}, [](In in) {
                    return einsum("bij,kjb->bik", {in[0], in[1]});
                  }});
  rows.push_back({"einsum_chain", {{{2, 3}}, {{3, 4}}, {{4, 2}}}, [](In in) {
                    return einsum("ij,jk,kl->il", {in[0], in[1], in[2]});
                  }});
  rows.push_back({"einsum_diagonal", {{{3, 3, 2}}, {{3}}}, [](In in) {
                    return einsum("iij,i->j", {in[0], in[1]});
                  }});
  rows.push_back({"einsum_dots", {{{2, 3, 4}}, {{1, 4, 2}}}, [](In in) {
                    return einsum("...ij,...jk->...ik", {in[0], in[1]});
                  }});
  rows.push_back(
      {"einsum_outer", {{{2}}, {{3}}}, [](In in) { return einsum("i,j", {in[0], in[1]}); }});
  rows.push_back({"tensordot", {{{2, 3, 4}}, {{4, 3, 2}}}, [](In in) {
                    return tensordot(in[0], in[1], {2, 1}, {0, -2});
                  }});
  rows.push_back({"inner_and_outer", {{{2, 3}}, {{4, 3}}}, [](In in) {
                    return outer(inner(in[0], in[1]), in[1]);
                  }});
  rows.push_back({"kron", {{{2, 3}}, {{2, 2}}}, [](In in) { return kron(in[0], in[1]); }});
  rows.push_back({"cross", {{{2, 3}}, {{3}}}, [](In in) { return cross(in[0], in[1]); }});
}

void add_losses(std::vector<GradRow>& rows) {
  using Loss = Tensor (*)(weft::In, const Tensor&, Reduction);
  for (const auto& [loss, name] : {std::pair<Loss, const char*>{mse_loss, "mse_loss"},
                                   {l1_loss, "l1_loss"},
                                   {hinge_loss, "hinge_loss"}}) {
    rows.push_back(
        {name, {{{3, 4}}, {{4}}}, [=](In in) { return loss(in[0], in[1] * 2, Reduction::mean); }});
  }
  rows.push_back({"huber_loss", {{{3, 4}, -3, 3}, {{3, 4}}}, [](In in) {
                    return huber_loss(in[0], in[1], 0.7, Reduction::none);
                  }});
  rows.push_back({"smooth_l1_loss", {{{3, 4}, -3, 3}, {{3, 4}}}, [](In in) {
                    return smooth_l1_loss(in[0], in[1], 0.7, Reduction::sum);
                  }});
  rows.push_back({"binary_cross_entropy", {{{3, 4}, 0.1, 0.9}, {{3, 4}, 0, 1}}, [](In in) {
                    return binary_cross_entropy(in[0], in[1]);
                  }});
  rows.push_back({"bce_with_logits", {{{3, 4}, -4, 4}, {{3, 4}, 0, 1}}, [](In in) {
                    return binary_cross_entropy_with_logits(in[0], in[1]);
                  }});
  rows.push_back({"bce_with_weight", {{{3, 4}, -4, 4}, {{3, 4}, 0, 1}}, [](In in) {
                    const Tensor weight = api_device().arange(4, 0.5, 1);
                    return binary_cross_entropy_with_logits(
                        in[0], in[1], {.pos_weight = weight, .reduction = Reduction::none});
                  }});
  rows.push_back({"nll_loss", {{{4, 3}}}, [](In in) {
                    return nll_loss(log_softmax(in[0]), whole_numbers({4}, {2, -1, 0, 2}),
                                    {.weight = api_device().arange(3, 0.5, 1)});
                  }});
  rows.push_back({"cross_entropy_smoothed", {{{4, 3}}}, [](In in) {
                    return cross_entropy(in[0], whole_numbers({4}, {2, -1, 0, 2}),
                                         {.label_smoothing = 0.2});
                  }});
  rows.push_back({"kl_div", {{{3, 4}}, {{3, 4}, 0.1, 1}}, [](In in) {
                    return kl_div(in[0], in[1]) +
                           kl_div(in[0], in[1], {.log_target = true, .reduction = Reduction::sum});
                  }});
  rows.push_back({"cosine_similarity", {{{3, 4}}, {{4}}}, [](In in) {
                    return cosine_similarity(in[0], in[1]);
                  }});
  rows.push_back({"cosine_embedding_loss", {{{4, 3}}, {{4, 3}}}, [](In in) {
                    return cosine_embedding_loss(in[0], in[1], whole_numbers({4}, {1, -1, -1, 1}),
                                                 0.1);
                  }});
  rows.push_back({"batch_norm", {{{4, 3, 2}}, {{3}}, {{3}}}, [](In in) {
                    return batch_norm(in[0], {}, {}, in[1], in[2], {.training = true}).y;
                  }});
  rows.push_back({"batch_norm_inference", {{{4, 3}}, {{3}}, {{3}, 0.5, 2}}, [](In in) {
                    return batch_norm(in[0], in[1], in[2]).y;
                  }});
  rows.push_back({"instance_norm", {{{2, 3, 5}}, {{3}}, {{3}}}, [](In in) {
                    return instance_norm(in[0], in[1], in[2]);
                  }});
}

}  // namespace

void add_function_rows(std::vector<GradRow>& rows) {
  add_shapes(rows);
  add_statistics(rows);
  add_names(rows);
  add_contractions(rows);
  add_losses(rows);
}

}  // namespace weft::test
