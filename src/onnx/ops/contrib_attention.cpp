#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "onnx/ops/attention.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/ops/products.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

// Attention in the domain com.microsoft.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;
/// What the scores of keys that are not seen get added. It is a number, so that a row without any
/// key (those of padding) has shares that are numbers as well: infinities would become NaN there,
/// and with the next layer's keys everywhere.
double low_score(const Call& c) { return c.f("mask_filter_value", -10000); }

/// 0 where a key is seen, a low number elsewhere.
Tensor seen_mask(const Tensor& seen, double low) {
  return where(seen, zeros_like(seen, DType::f32), full_like(seen, low, DType::f32));
}

/// The keys up to each query, those of the past included; others are further away than those that a
/// mask leaves out.
Tensor up_to_query(const Call& c, U queries, U keys, U past) {
  const Tensor row = c.device().arange(queries, static_cast<double>(past), 1, DType::i32);
  const Tensor column = c.device().arange(keys, 0, 1, DType::i32).reshape({1, keys});
  constexpr double lowest = std::numeric_limits<float>::lowest();
  return seen_mask(less_equal(column, row.reshape({queries, 1})), lowest);
}

/// Which keys lie before the lengths [batch] of their sequences.
Tensor before_ends(const Tensor& lengths, U keys) {
  const Tensor place = lengths.device().arange(keys, 0, 1, DType::i32).reshape({1, 1, 1, keys});
  return less(place, lengths.reshape({lengths.size(), 1, 1, 1}));
}

/// Masks as exporters give them: [batch, keys] of 0 and 1, [batch] of lengths, [2 * batch] of ends
/// and then starts, or [batch, queries, keys].
Tensor key_mask(const Call& c, const Value& value, U batch, U keys) {
  const Tensor mask = as(value.on(c.device()), DType::i32);
  const double low = low_score(c);
  if (mask.shape().size() == 1 && mask.size() == batch)
    return seen_mask(before_ends(mask, keys), low);
  if (mask.shape().size() == 1 && mask.size() == 2 * batch) {
    const Tensor starts = mask.slice(0, static_cast<I>(batch), batch);
    return seen_mask(logical_and(before_ends(mask.slice(0, 0, batch), keys),
                                 logical_not(before_ends(starts, keys))),
                     low);
  }
  const Tensor seen = not_equal(mask, zeros_like(mask));
  if (mask.shape().size() == 2)
    return seen_mask(seen.reshape({mask.shape().at(0), 1, 1, mask.shape().at(1)}), low);
  if (mask.shape().size() == 3) return seen_mask(unsqueeze(seen, 1), low);
  if (mask.shape().size() == 4) return seen_mask(seen, low);
  c.refuse(formatted("A mask {} is not known.", describe(value)));
}

Tensor joined_heads(const Tensor& y) {  // [B, H, S, D] → [B, S, H * D]
  const Shape& s = y.shape();
  return y.permute({0, 2, 1, 3}).reshape({s[0], s[2], s[1] * s[3]});
}

double scale_of(const Call& c, const Tensor& q) {
  const double scale = c.f("scale", 0);
  return scale == 0 ? 1 / std::sqrt(static_cast<double>(q.shape().at(3))) : scale;
}

/// Where the inputs of self-attention that may be left out are.
struct Optional {
  std::size_t mask;
  std::size_t past;
  std::optional<std::size_t> bias;
};

/// Self-attention of queries, keys and values beside each other: [batch, length, 3 * hidden].
Values self_attention(const Call& c, const Tensor& all, const Optional& at) {
  const I heads = c.i("num_heads", 0);
  auto sizes = c.is("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, static_cast<I>(last_of(all.shape()) / 3));
  if (sizes.size() != 3 ||
      std::ranges::any_of(sizes, [](I size) { return size < 0 || size > I{1} << 40; }))
    c.wrong("qkv_hidden_sizes are not three sizes.");
  const auto part = [&](I from, I size) {
    return heads_of(c, all.slice(-1, from, static_cast<U>(size)), heads).t;
  };
  const Tensor q = part(0, sizes[0]);
  Tensor k = part(sizes[0], sizes[1]);
  Tensor v = part(sizes[0] + sizes[1], sizes[2]);
  U past = 0;
  if (c.has(at.past)) {  // [2, batch, heads, length, size]
    const Tensor before = c.t(at.past);
    if (before.shape().size() != 5)
      c.wrong(formatted("The past {} is not keys and values.", describe(c.in(at.past))));
    const Shape shape(before.shape().begin() + 1, before.shape().end());
    past = shape.at(2);
    k = concat({before.slice(0, 0, 1).reshape(shape), k}, 2);
    v = concat({before.slice(0, 1, 1).reshape(shape), v}, 2);
  }
  const U keys = k.shape().at(2);
  Tensor bias;
  const auto add_bias = [&](const Tensor& more) { bias = bias ? bias + more : more; };
  if (c.has(at.mask)) add_bias(key_mask(c, c.in(at.mask), q.shape().at(0), keys));
  if (at.bias && c.has(*at.bias)) add_bias(as(c.t(*at.bias), DType::f32));
  if (c.i("unidirectional", 0) != 0) add_bias(up_to_query(c, q.shape().at(2), keys, past));
  const Tensor y = attend(q, k, v, bias, scale_of(c, q), 0, -1).y;
  return {joined_heads(y), stack({k, v}, 0)};
}

/// With one weight for queries, keys and values.
Values attention_op(Call& c) {
  Tensor all = matmul(c.t(0), c.t(1));
  if (c.has(2)) all = all + c.t(2);
  return self_attention(c, all, {.mask = 3, .past = 4, .bias = 5});
}

/// The same with an input and a weight of 8 bits.
Values quantized_attention(Call& c) {
  if (c.i("do_rotary", 0) != 0) c.refuse("Rotary positions are not done.");
  const Tensor sums = whole_product(c.t(0), c.maybe(6), c.t(1), c.maybe(7)).to(DType::f32);
  const Tensor scale = as(c.t(3), DType::f32).reshape({}) * as(c.t(4), DType::f32);
  const Tensor all = as(sums * scale + as(c.t(2), DType::f32), c.t(2).dtype());
  return self_attention(c, all, {.mask = 5, .past = 8, .bias = std::nullopt});
}

/// The parts of what is packed as [.., heads, parts, size], each as [.., heads * size].
std::vector<Tensor> unpacked(const Call& c, const Tensor& x, U parts) {
  const Shape& s = x.shape();
  const std::size_t rank = s.size();
  if (rank < 3 || s[rank - 2] != parts || s[rank - 3] != static_cast<U>(c.i("num_heads", 0)))
    c.wrong(formatted("{} is not {} parts of {} heads.", text_of(s), parts, c.i("num_heads", 0)));
  Shape flat(s.begin(), s.end() - 2);
  flat.back() *= s.back();
  std::vector<Tensor> out;
  for (U i = 0; i < parts; ++i)
    out.push_back(x.slice(static_cast<int>(rank) - 2, static_cast<I>(i), 1).reshape(flat));
  return out;
}

/// Queries, keys and values of a node: three inputs, or packed into one or two.
struct Given {
  Tensor q;
  Tensor k;
  Tensor v;
  bool has_heads = false;  ///< Keys and values are [batch, heads, length, size].
};
Given given(const Call& c, std::size_t rank) {
  if (!c.has(1)) {
    const auto parts = unpacked(c, c.t(0), 3);
    return {.q = parts[0], .k = parts[1], .v = parts[2]};
  }
  if (!c.has(2)) {
    const auto parts = unpacked(c, c.t(1), 2);
    return {.q = c.t(0), .k = parts[0], .v = parts[1]};
  }
  Given out{.q = c.t(0), .k = c.t(1), .v = c.t(2)};
  out.has_heads = rank == 3 && c.shape(1).size() == 4 && c.shape(2).size() == 4;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (c.shape(i).size() != rank && !out.has_heads)
      c.wrong(formatted("{} are neither keys nor values.", describe(c.in(i))));
  }
  return out;
}

/// With the biases of input 3, which lie one after the other, where it is there.
void add_biases(const Call& c, Given& x) {
  if (!c.has(3)) return;
  U from = 0;
  for (Tensor* one : {&x.q, &x.k, &x.v}) {
    if (one != &x.q && x.has_heads) return;
    const U size = last_of(one->shape());
    *one = *one + c.t(3).slice(0, static_cast<I>(from), size);
    from += size;
  }
}

/// Queries, keys and values with biases; keys and values may have heads already.
Values multi_head(Call& c) {
  const I heads = c.i("num_heads", 0);
  if (c.has(8) || c.has(9)) c.refuse("Keys and values that share a buffer are not done.");
  Given x = given(c, 3);
  if (x.q.shape().size() != 3) c.wrong(formatted("{} are no queries.", describe(c.in(0))));
  add_biases(c, x);
  const Tensor q = heads_of(c, x.q, heads).t;
  Tensor k = x.has_heads ? x.k : heads_of(c, x.k, heads).t;
  Tensor v = x.has_heads ? x.v : heads_of(c, x.v, heads).t;
  U past = 0;
  if (c.has(6) && c.has(7)) {
    past = c.shape(6).at(2);
    k = concat({c.t(6), k}, 2);
    v = concat({c.t(7), v}, 2);
  }
  Tensor bias;
  const auto add_bias = [&](const Tensor& more) { bias = bias ? bias + more : more; };
  if (c.has(4)) add_bias(key_mask(c, c.in(4), q.shape().at(0), k.shape().at(2)));
  if (c.has(5)) add_bias(as(c.t(5), DType::f32));
  if (c.i("unidirectional", 0) != 0)
    add_bias(up_to_query(c, q.shape().at(2), k.shape().at(2), past));
  return {joined_heads(attend(q, k, v, bias, scale_of(c, q), 0, -1).y), k, v};
}

/// Attention over sequences of different lengths whose tokens lie one after the other [tokens,
/// hidden], without the padding between them: it is put back, and left out again.
Values packed_multi_head(Call& c) {
  const I heads = c.i("num_heads", 0);
  Given x = given(c, 2);
  add_biases(c, x);
  const Shape& places = c.shape(4);  // [batch, length]: first those of the tokens
  if (places.size() != 2 || x.q.shape().size() != 2 || x.q.shape().at(0) > count_of(places) ||
      c.in(5).size() != places[0] + 1)
    c.wrong(formatted("{} and {} do not say where the tokens of {} are.", describe(c.in(4)),
                      describe(c.in(5)), text_of(x.q.shape())));
  const U tokens = x.q.shape().at(0);
  const Tensor at = as(c.t(4), DType::i32).reshape({count_of(places)}).slice(0, 0, tokens);
  const auto padded = [&](const Tensor& t) {
    const U width = last_of(t.shape());
    const Tensor none = zeros(c.device(), {count_of(places), width}, DType::f32).to(t.dtype());
    return heads_of(c, index_copy(none, at, t).reshape({places[0], places[1], width}), heads).t;
  };
  const Tensor q = padded(x.q);
  const Tensor k = padded(x.k);
  const Tensor v = padded(x.v);
  const Tensor ends = as(c.t(5), DType::i32).reshape({places[0] + 1});
  Tensor bias =
      seen_mask(before_ends(ends.slice(0, 1, places[0]) - ends.slice(0, 0, places[0]), places[1]),
                low_score(c));
  if (c.has(6)) bias = bias + as(c.t(6), DType::f32);
  const Tensor y = joined_heads(attend(q, k, v, bias, scale_of(c, q), 0, -1).y);
  return {take(y.reshape({count_of(places), last_of(y.shape())}), at, 0)};
}

}  // namespace

void add_contrib_attention(Table& table) {
  const auto add = [&](const std::string& name, Op op) { table["com.microsoft." + name] = op; };
  add("Attention", attention_op);
  add("QAttention", quantized_attention);
  add("MultiHeadAttention", multi_head);
  add("PackedMultiHeadAttention", packed_multi_head);
}

}  // namespace weft::onnx
