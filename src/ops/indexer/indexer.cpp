#include "ops/indexer/indexer.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/quant/quant.hpp"
#include "ops/row_kernel.hpp"
#include "ops/stages.hpp"

namespace weft::ops::indexer {
namespace {

constexpr std::uint64_t tile_keys = 64;

struct Variant {
  bool masked = false;
};

Status check(const Args& args) {
  if (const Status ok = check_float_tensor(args.q, "q", args.q.extents(), false); !ok) return ok;
  if (const Status ok = validate(args.k, "k", Types::quantized_too); !ok) return ok;
  const View& q = args.q;
  const View& k = args.k;
  if (q.rank != 4 || !k.given() || k.rank != 3 || k.shape[0] != q.shape[0] ||
      k.shape[2] != q.shape[3]) {
    return fail(ErrorCode::invalid_argument,
                "The indexer needs q [streams, tokens, heads, size] and k [streams, keys, size]; "
                "they are {} and {}.",
                describe(q), describe(k));
  }
  if (!is_float(k.dtype) && !is_quantized(k.dtype)) {
    return fail(ErrorCode::unsupported, "The keys of the indexer are {}.", describe(k));
  }
  const std::uint64_t weights[] = {q.shape[0], q.shape[1], q.shape[2]};
  if (const Status ok = check_float_tensor(args.weights, "weights", weights, false); !ok) return ok;
  const std::uint64_t y[] = {q.shape[0], q.shape[1], k.shape[1]};
  if (const Status ok = check_float_tensor(args.y, "y", y, true); !ok) return ok;
  if (args.y.dtype != DType::f32) {
    return fail(ErrorCode::unsupported, "The scores of the indexer are {}; they must be f32.",
                describe(args.y));
  }
  const View& mask = args.mask;
  if (mask.given()) {
    const std::uint64_t streams = mask.rank > 0 ? mask.shape[0] : 0;
    const std::uint64_t shape[] = {streams, y[1], y[2]};
    if (const Status ok = check_float_tensor(mask, "mask", shape, false); !ok) return ok;
    if (streams == 0 ? y[0] != 0 : y[0] % streams != 0) {
      return fail(ErrorCode::invalid_argument,
                  "The mask of the indexer is {}; its {} streams must divide the {} of q.",
                  describe(mask), streams, y[0]);
    }
  }
  for (const auto& [view, label] :
       {std::pair{q, "q"}, {k, "k"}, {args.weights, "weights"}, {mask, "mask"}}) {
    const ByteRange a = view.bytes();
    const ByteRange b = args.y.bytes();
    if (view.given() && view.slot == args.y.slot && a.begin < b.end && b.begin < a.end) {
      return fail(ErrorCode::invalid_argument, "Tensor `{}` ({}) overlaps the output ({}).", label,
                  describe(view), describe(args.y));
    }
  }
  return {};
}

void launch(Stages& stages, const Args& args, std::uint64_t first_stream, const Caps& caps) {
  const auto [streams, tokens, keys] =
      std::array{args.y.shape[0], args.y.shape[1], args.y.shape[2]};
  const std::uint64_t tiles = ceil_div(keys, tile_keys);
  Launch launch{.source = "indexer/indexer.wgsl"};
  const auto add = [&](std::string name, std::uint64_t value) {
    launch.params.add(std::move(name), static_cast<std::uint32_t>(value));
  };
  add("jobs", streams * tokens * tiles);
  add("tiles", tiles);
  add("tokens", tokens);
  add("heads", args.q.shape[2]);
  add("keys", keys);
  add("size", args.q.shape[3]);
  add("first_stream", first_stream);
  const auto tensor = [&](std::string_view name, const View& view, std::string_view strides,
                          Access access = Access::read) {
    for (std::size_t i = 0; i < strides.size(); ++i) {
      add(formatted("{}_{}", name, strides[i]), view.stride[i]);
    }
    launch.operands.push_back({.name = name, .view = view, .access = access});
  };
  tensor("q", args.q, "sth");
  tensor("k", args.k, "sn");
  tensor("weights", args.weights, "sth");
  tensor("y", args.y, "stn", Access::write);
  if (args.mask.given()) {
    tensor("mask", args.mask, "stn");
    add("mask_streams", args.mask.shape[0]);
  }
  launch.constants = constants_of(Variant{.masked = args.mask.given()});
  launch.grid = grid_1d(streams * tokens * tiles, caps);
  launch.label = "indexer";
  stages.add(make_dispatch(std::move(launch), caps));
}

/// Pieces that fit their bindings: of the streams, else of the tokens, else of the keys.
void emit(Stages& stages, const Args& args, std::uint64_t first_stream, const Caps& caps) {
  std::uint64_t most = 0;
  for (const View& view : {args.q, args.k, args.y, args.mask}) {
    if (view.given()) most = std::max(most, view.bytes().size());
  }
  const auto& shape = args.y.shape;
  if (most <= binding_budget(caps) || shape[0] * shape[1] * shape[2] == 1) {
    launch(stages, args, first_stream, caps);
    return;
  }
  const bool keys_too_large = args.k.bytes().size() > binding_budget(caps);
  const std::uint32_t dim = shape[0] > 1 ? 0 : shape[1] > 1 && !keys_too_large ? 1 : 2;
  const std::uint64_t half = half_of(shape[dim]);
  for (const auto& [first, count] :
       {std::pair{std::uint64_t{0}, half}, {half, shape[dim] - half}}) {
    Args piece = args;
    piece.y = args.y.slice(dim, first, count);
    if (dim < 2) {
      piece.q = args.q.slice(dim, first, count);
      piece.weights = args.weights.slice(dim, first, count);
    }
    if (dim == 0) piece.k = args.k.slice(0, first, count);
    if (dim == 2) piece.k = args.k.slice(1, first, count);
    if (dim > 0 && args.mask.given()) piece.mask = args.mask.slice(dim, first, count);
    emit(stages, piece, dim == 0 ? first_stream + first : first_stream, caps);
  }
}

}  // namespace

Result<Plan> plan(const Args& given, const Caps& caps) {
  constexpr std::string_view doing = "planning the scores of the indexer";
  if (const Status ok = check(given); !ok) return wrap(ok.error(), doing);
  if (given.y.empty()) return Plan{};
  if (given.q.empty()) {
    return fail(ErrorCode::invalid_argument, "The indexer needs heads and elements; q is {}.",
                describe(given.q));
  }
  Stages stages({given.q, given.k, given.weights, given.mask, given.y});
  Args args = given;
  if (is_quantized(args.k.dtype)) {
    args.k = stages.scratch(DType::f32, given.k.extents());
    stages.add(quant::plan(quant::DecodeArgs{.table = given.k, .y = args.k}, caps));
  }
  for (View* view : {&args.q, &args.k}) {
    if (view->stride[view->rank - 1] == 1 || view->shape[view->rank - 1] == 1) continue;
    const View strided = *view;
    *view = stages.scratch(strided.dtype, strided.extents());
    stages.add(map::plan({.function = "copy", .inputs = {strided}, .y = *view}, caps));
  }
  emit(stages, args, 0, caps);
  auto planned = std::move(stages).finish();
  if (!planned) return wrap(planned.error(), doing);
  return planned;
}

}  // namespace weft::ops::indexer
