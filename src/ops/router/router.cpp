#include "ops/router/router.hpp"

#include <format>
#include <utility>

#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"

namespace weft::ops::router {
namespace {

struct Variant {
  bool bias = false;
};

struct Params {
  std::uint32_t tokens = 0;
  std::uint32_t experts = 0;
  std::uint32_t chosen = 0;
  std::uint32_t score = 0;
  std::uint32_t softmax_chosen = 0;
  std::uint32_t normalize = 0;
  float least = 0;
  float scale = 1;
  std::uint32_t logits_t = 0;
  std::uint32_t logits_e = 0;
  std::uint32_t bias_e = 0;
  std::uint32_t ids_t = 0;
  std::uint32_t ids_k = 0;
  std::uint32_t weights_t = 0;
  std::uint32_t weights_k = 0;
};

std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

bool repeats(const View& view) {
  return (view.stride[0] == 0 && view.shape[0] > 1) || (view.stride[1] == 0 && view.shape[1] > 1);
}

Status check(const Args& args) {
  const auto& [logits, bias, ids, weights, score, softmax_chosen, normalize, least, scale] = args;
  if (const Status ok = validate(logits, "logits"); !ok) return ok;
  if (const Status ok = validate(ids, "ids"); !ok) return ok;
  if (const Status ok = validate(weights, "weights"); !ok) return ok;
  if (bias.given()) {
    if (const Status ok = validate(bias, "bias"); !ok) return ok;
  }
  const bool ranks = logits.rank == 2 && ids.rank == 2 && weights.rank == 2;
  if (!ranks || logits.shape[0] != ids.shape[0] || logits.shape[0] != weights.shape[0] ||
      ids.shape[1] != weights.shape[1] || ids.shape[1] > logits.shape[1] ||
      (bias.given() && (bias.rank != 1 || bias.shape[0] != logits.shape[1]))) {
    return fail(ErrorCode::invalid_argument,
                "Logits [T, E] with a bias [E] give ids and weights [T, K], K at most E; they are "
                "{}, {}, {} and {}.",
                describe(logits), bias.given() ? describe(bias) : "none", describe(ids),
                describe(weights));
  }
  if (logits.dtype != DType::f32 || weights.dtype != DType::f32 || ids.dtype != DType::i32 ||
      (bias.given() && bias.dtype != DType::f32) || logits.shape[1] > most_experts) {
    return fail(ErrorCode::unsupported,
                "Experts are chosen from f32 logits of up to {} experts and give i32 ids and f32 "
                "weights; they are {}, {} and {}.",
                most_experts, describe(logits), describe(ids), describe(weights));
  }
  const bool on_logits = overlap(logits, ids) || overlap(logits, weights);
  if (repeats(ids) || repeats(weights) || overlap(ids, weights) || overlap(bias, ids) ||
      overlap(bias, weights) || (on_logits && logits.shape[0] > 1)) {
    return fail(ErrorCode::invalid_argument,
                "The ids {} and weights {} repeat elements or share memory with each other or with "
                "what they are made from ({}).",
                describe(ids), describe(weights), describe(logits));
  }
  return {};
}

Result<Dispatch> launch(const Args& args, const Caps& caps) {
  const Variant variant{.bias = args.bias.given()};
  const Params params{.tokens = u32(args.logits.shape[0]),
                      .experts = u32(args.logits.shape[1]),
                      .chosen = u32(args.ids.shape[1]),
                      .score = std::to_underlying(args.score),
                      .softmax_chosen = args.softmax_chosen ? 1U : 0U,
                      .normalize = args.normalize ? 1U : 0U,
                      .least = args.least,
                      .scale = args.scale,
                      .logits_t = u32(args.logits.stride[0]),
                      .logits_e = u32(args.logits.stride[1]),
                      .bias_e = variant.bias ? u32(args.bias.stride[0]) : 0,
                      .ids_t = u32(args.ids.stride[0]),
                      .ids_k = u32(args.ids.stride[1]),
                      .weights_t = u32(args.weights.stride[0]),
                      .weights_k = u32(args.weights.stride[1])};
  Launch out;
  out.source = "router/router.wgsl";
  out.label = "router";
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.operands = {{.name = "logits", .view = args.logits},
                  {.name = "ids", .view = args.ids, .access = Access::write},
                  {.name = "weights", .view = args.weights, .access = Access::write}};
  if (variant.bias) out.operands.push_back({.name = "bias", .view = args.bias});
  out.grid = grid_1d(params.tokens, caps);
  return make_dispatch(std::move(out), caps);
}

/// Halves the tokens until every tensor fits a binding.
Status add(Plan& plan, const Args& args, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const std::uint64_t tokens = args.logits.shape[0];
  const bool fits = args.logits.bytes().size() <= budget && args.ids.bytes().size() <= budget &&
                    args.weights.bytes().size() <= budget;
  if (fits || tokens < 2) {
    return plan.add(launch(args, caps));
  }
  const auto part = [&](std::uint64_t first, std::uint64_t count) {
    Args piece = args;
    for (View* view : {&piece.logits, &piece.ids, &piece.weights}) {
      *view = view->slice(0, first, count);
    }
    return piece;
  };
  const std::uint64_t half = tokens / 2;
  return add(plan, part(0, half), caps).and_then([&] {
    return add(plan, part(half, tokens - half), caps);
  });
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return wrap(ok.error(), "planning a router");
  Plan plan;
  if (args.ids.empty()) return plan;
  if (const Status ok = add(plan, args, caps); !ok) return wrap(ok.error(), "planning a router");
  return plan;
}

}  // namespace weft::ops::router
