#include "onnx/ops/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using U = std::uint64_t;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A mask of attention [.., queries, keys] of f32; what is missing of the keys is not seen.
Tensor additive(const Tensor& mask, U keys) {
  Tensor out = mask;
  if (mask.dtype() == DType::boolean)
    out = where(mask, zeros_like(mask, DType::f32), full_like(mask, -infinity, DType::f32));
  out = as(out, DType::f32);
  const U there = last_of(out.shape());
  if (there < keys) {
    const Shape low(out.shape().size(), 0);
    Shape high = low;
    high.back() = keys - there;
    out = pad(out, low, high, -infinity);
  }
  return out;
}

Values attention_op(Call& c) {
  const bool flat = c.shape(0).size() == 3;
  Heads q = flat ? heads_of(c, c.t(0), c.i("q_num_heads", 0)) : Heads{c.t(0)};
  Heads k = flat ? heads_of(c, c.t(1), c.i("kv_num_heads", 0)) : Heads{c.t(1)};
  Heads v = flat ? heads_of(c, c.t(2), c.i("kv_num_heads", 0)) : Heads{c.t(2)};
  U past = 0;
  if (c.has(4) && c.has(5)) {
    past = c.shape(4).at(2);
    k.t = concat({c.t(4), k.t}, 2);
    v.t = concat({c.t(5), v.t}, 2);
  }
  for (const Heads* heads : {&q, &k, &v}) {
    if (heads->t.shape().size() != 4)
      c.wrong(formatted("{} is not [batch, heads, length, size].", text_of(heads->t.shape())));
  }
  const U queries = q.t.shape().at(2);
  const U keys = k.t.shape().at(2);
  const U batch = q.t.shape().at(0);
  Tensor bias;
  const auto add_bias = [&](const Tensor& more) { bias = bias ? bias + more : more; };
  if (c.has(3)) {
    if (c.shape(3).empty()) c.wrong(formatted("{} is no mask of keys.", describe(c.in(3))));
    add_bias(additive(c.t(3), keys));
  }
  if (c.i("is_causal", 0) != 0)
    add_bias(causal_mask(c.device(), queries, keys, static_cast<std::int64_t>(past)));
  if (c.has(6)) {  // how many keys of each batch are there
    const Tensor there = as(c.t(6), DType::i32).reshape({batch, 1, 1, 1});
    const Tensor place = c.device().arange(keys, 0, 1, DType::i32).reshape({1, 1, 1, keys});
    const Tensor seen = less(place, there);
    add_bias(where(seen, zeros_like(seen, DType::f32), full_like(seen, -infinity, DType::f32)));
  }
  const double scale = c.f("scale", 1 / std::sqrt(static_cast<double>(q.t.shape().at(3))));
  const Attended found =
      attend(q.t, k.t, v.t, bias, scale, c.f("softcap", 0),
             c.wants(3) ? static_cast<int>(c.i("qk_matmul_output_mode", 0)) : -1);
  Tensor y = found.y;
  if (flat)
    y = y.permute({0, 2, 1, 3}).reshape({batch, queries, y.shape().at(1) * y.shape().at(3)});
  return {y, k.t, v.t, found.products ? Value(found.products) : Value()};
}

/// Numbers of a cache for each position: [batch, positions, size].
Tensor at_positions(const Call& c, std::size_t cache, std::size_t positions, U batch, U length) {
  const Tensor t = c.t(cache);
  if (!c.has(positions)) return t.shape().size() == 2 ? unsqueeze(t.slice(0, 0, length), 0) : t;
  const Tensor at = as(c.t(positions), DType::i32);
  if (length == 0 || at.size() == 0 || (at.size() != 1 && at.size() % length != 0))
    c.wrong(formatted("Positions {} are not those of {} places.", text_of(at.shape()), length));
  if (at.size() == 1 && length != 1) {  // the first position
    return take(
        t, (at.reshape({1, 1}) + c.device().arange(length, 0, 1, DType::i32).reshape({1, length})),
        0);
  }
  return take(t, at.reshape({at.size() / length, length}).broadcast_to({batch, length}), 0);
}

/// x [batch, positions, heads, size], turned in pairs.
Values rotary(Call& c, std::size_t cos, std::size_t sin, std::size_t positions) {
  const Tensor given = c.t(0);
  if (c.shape(cos).empty() || c.shape(sin).empty())
    c.wrong(
        formatted("{} and {} are no tables of angles.", describe(c.in(cos)), describe(c.in(sin))));
  const bool flat = given.shape().size() == 3;
  const auto dims = static_cast<U>(c.i("rotary_embedding_dim", 0));
  U heads = static_cast<U>(c.i("num_heads", 0));
  if (flat && heads == 0) {  // from the size of the cache
    const U pairs = last_of(c.shape(cos));
    heads = dims != 0 ? 1 : given.shape().at(2) / std::max<U>(2 * pairs, 1);
  }
  if (flat && (heads == 0 || given.shape().at(2) % heads != 0))
    c.wrong(formatted("{} has no {} heads.", describe(c.in(0)), heads));
  const Tensor x = flat ? given.reshape({given.shape().at(0), given.shape().at(1), heads,
                                         given.shape().at(2) / heads})
                        : given.permute({0, 2, 1, 3});
  const U size = x.shape().at(3);
  const U turned = dims == 0 ? size : dims;
  const Tensor cosine =
      unsqueeze(at_positions(c, cos, positions, x.shape().at(0), x.shape().at(1)), 2);
  const Tensor sine =
      unsqueeze(at_positions(c, sin, positions, x.shape().at(0), x.shape().at(1)), 2);
  const Tensor y = as(turned_pairs(x, as(cosine.slice(-1, 0, turned / 2), DType::f32),
                                   as(sine.slice(-1, 0, turned / 2), DType::f32), turned,
                                   c.i("interleaved", 0) != 0),
                      given.dtype());
  return {flat ? y.reshape(given.shape()) : y.permute({0, 2, 1, 3})};
}

}  // namespace

Heads heads_of(const Call& c, const Tensor& x, std::int64_t heads) {
  const Shape& s = x.shape();
  if (s.size() != 3 || heads <= 0 || s[2] % static_cast<U>(heads) != 0)
    c.wrong(formatted("{} does not divide into {} heads.", text_of(s), heads));
  const auto count = static_cast<U>(heads);
  return {x.reshape({s[0], s[1], count, s[2] / count}).permute({0, 2, 1, 3})};
}

Tensor causal_mask(const Device& device, U queries, U keys, std::int64_t offset) {
  const Tensor row =
      device.arange(queries, static_cast<double>(offset), 1, DType::i32).reshape({queries, 1});
  const Tensor column = device.arange(keys, 0, 1, DType::i32).reshape({1, keys});
  const Tensor seen = less_equal(column, row);
  return where(seen, zeros_like(seen, DType::f32), full_like(seen, -infinity, DType::f32));
}

Attended attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, double scale,
                double soft_cap, int products) {
  const DType dtype = q.dtype();
  Attended out;
  if (products < 0 && soft_cap == 0 && k.shape().at(3) == v.shape().at(3) && !bias) {
    out.y = attention(q, k, v, {.scale = static_cast<float>(scale)});
    return out;
  }
  const U groups = q.shape().at(1) / std::max<U>(k.shape().at(1), 1);
  const Tensor keys = groups > 1 ? repeat_interleave(k, groups, 1) : k;
  const Tensor values = groups > 1 ? repeat_interleave(v, groups, 1) : v;
  Tensor logits = matmul(q, keys.transpose(), {.dtype = DType::f32}) * scale;
  if (products == 0) out.products = as(logits, dtype);
  if (bias) logits = logits + bias;
  if (products == 1) out.products = as(logits, dtype);
  if (soft_cap > 0) logits = tanh(logits / soft_cap) * soft_cap;
  if (products == 2) out.products = as(logits, dtype);
  const Tensor shares = softmax(logits);
  if (products == 3) out.products = as(shares, dtype);
  out.y = as(matmul(as(shares, dtype), values), dtype);
  return out;
}

Tensor turned_pairs(const Tensor& x, const Tensor& cosine, const Tensor& sine, U turned,
                    bool interleaved) {
  const Tensor wide = as(x, DType::f32);
  const U size = last_of(x.shape());
  const U half = turned / 2;
  const Tensor front = wide.slice(-1, 0, turned);
  const Tensor a = interleaved ? front.slice(-1, 0, half, 2) : front.slice(-1, 0, half);
  const Tensor b = interleaved ? front.slice(-1, 1, half, 2)
                               : front.slice(-1, static_cast<std::int64_t>(half), half);
  const Tensor first = a * cosine - b * sine;
  const Tensor second = a * sine + b * cosine;
  Tensor y =
      interleaved ? stack({first, second}, -1).reshape(front.shape()) : concat({first, second}, -1);
  if (turned < size)
    y = concat({y, wide.slice(-1, static_cast<std::int64_t>(turned), size - turned)}, -1);
  return as(y, x.dtype());
}

void add_attention(Table& table) {
  table["Attention"] = attention_op;
  table["RotaryEmbedding"] = +[](Call& c) { return rotary(c, 1, 2, 3); };
  table["com.microsoft.RotaryEmbedding"] = +[](Call& c) { return rotary(c, 2, 3, 1); };
}

}  // namespace weft::onnx
