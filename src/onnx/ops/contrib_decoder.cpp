#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/ops/attention.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/contrib.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

// GroupQueryAttention of com.microsoft: attention of a decoder, whose heads share keys, whose
// positions turn, and whose cache grows or lies in a buffer of its largest size.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

/// Where the tokens of a call are in their sequences.
struct Step {
  U batch = 0;
  U length = 0;          ///< Tokens of the call.
  U past = 0;            ///< Places of the cache that is given.
  U keys = 0;            ///< Places of the cache that is made.
  bool is_first = true;  ///< The call has all tokens so far.
  U at = 0;              ///< Where its tokens go, for a batch of 1 and for the first call.
  Tensor first;          ///< The same for each sequence: i32 [batch, 1].
  Tensor positions;      ///< Of the tokens: i32 [batch or 1, length].
  [[nodiscard]] bool is_one_place() const { return is_first || batch == 1; }
};

Step step_of(const Call& c, U batch, U length) {
  const U past = c.has(3) ? c.shape(3).at(2) : 0;
  // Tokens of the longest sequence, those of the call included: without a past there are no others.
  const I total = past == 0 ? static_cast<I>(length) : c.scalar_int(6);
  if (total < static_cast<I>(length) || total > I{1} << 31)
    c.wrong(formatted("Sequences of {} tokens in all have no {} new ones.", total, length));
  if (c.in(5).size() != batch)
    c.wrong(formatted("{} are not the lengths of {} sequences.", describe(c.in(5)), batch));
  Step out{.batch = batch,
           .length = length,
           .past = past,
           .keys = 0,
           .is_first = static_cast<U>(total) == length,
           .at = static_cast<U>(total) - length,
           .first = {},
           .positions = {}};
  out.keys = std::max(out.past, static_cast<U>(total));
  if (out.is_one_place() && out.at > out.past)
    c.wrong(formatted("{} keys of the past are not {}.", out.past, out.at));
  const Tensor step = c.device().arange(length, 0, 1, DType::i32).reshape({1, length});
  if (out.is_one_place())
    out.first = c.device().full({batch, 1}, static_cast<double>(out.at), DType::i32);
  else  // what is given is the number of keys of each sequence, less one
    out.first = as(c.t(5), DType::i32).reshape({batch, 1}) - (static_cast<double>(length) - 1);
  out.positions = out.first + step;
  return out;
}

/// The cache with the keys or values [batch, heads, length, size] of the call at their places.
Tensor with_new(const Call& c, std::size_t input, const Tensor& fresh, const Step& step) {
  if (step.past == 0 && step.is_first) return fresh;
  const Tensor before = c.t(input);
  const Shape& s = before.shape();
  const Shape& f = fresh.shape();
  if (s.size() != 4 || s[0] != f[0] || s[1] != f[1] || s[3] != f[3])
    c.wrong(formatted("{} is no past of {}.", describe(c.in(input)), text_of(f)));
  if (step.is_one_place()) {
    std::vector<Tensor> parts;
    if (step.at > 0) parts.push_back(before.slice(2, 0, step.at));
    parts.push_back(fresh);
    const U end = step.at + step.length;
    if (end < step.past) parts.push_back(before.slice(2, static_cast<I>(end), step.past - end));
    return parts.size() == 1 ? parts[0] : concat(parts, 2);
  }
  Tensor cache = before;
  if (step.keys > step.past) {
    Shape high(4, 0);
    high[2] = step.keys - step.past;
    cache = pad(cache, Shape(4, 0), high);
  }
  const auto keys = static_cast<double>(step.keys);
  const Tensor row = c.device().arange(f[0] * f[1], 0, keys, DType::i32).reshape({f[0], f[1], 1});
  const Tensor places = maximum(step.positions, zeros_like(step.positions));
  const Tensor at = row + minimum(places, full_like(places, keys - 1)).reshape({f[0], 1, f[2]});
  return index_copy(cache.reshape({f[0] * f[1] * step.keys, f[3]}),
                    at.reshape({f[0] * f[1] * f[2]}), fresh.reshape({f[0] * f[1] * f[2], f[3]}))
      .reshape({f[0], f[1], step.keys, f[3]});
}

/// Queries or keys with their pairs turned by their positions.
Tensor turned(const Call& c, const Tensor& x, const Step& step) {
  if (c.shape(7).size() != 2 || c.shape(8) != c.shape(7))
    c.wrong(formatted("{} and {} are no tables of angles.", describe(c.in(7)), describe(c.in(8))));
  const Tensor at = c.has(9) ? as(c.t(9), DType::i32) : step.positions;
  const Tensor places = maximum(at, zeros_like(at));
  const auto angles = [&](std::size_t table) {
    return as(unsqueeze(take(c.t(table), places, 0), 1), DType::f32);
  };
  return turned_pairs(x, angles(7), angles(8), 2 * last_of(c.shape(7)),
                      c.i("rotary_interleaved", 0) != 0);
}

/// softmax(cap(scale · q·kᵀ) + bias)·v, with one more score in each row whose value is 0.
Tensor attend_with_sink(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                        double scale, double cap, const Tensor& sink) {
  const U groups = q.shape().at(1) / std::max<U>(k.shape().at(1), 1);
  const Tensor keys = groups > 1 ? repeat_interleave(k, groups, 1) : k;
  const Tensor values = groups > 1 ? repeat_interleave(v, groups, 1) : v;
  Tensor scores = matmul(q, keys.transpose(), {.dtype = DType::f32}) * scale;
  if (cap > 0) scores = tanh(scores / cap) * cap;
  scores = scores + bias;
  if (sink) {
    Shape one = scores.shape();
    one[3] = 1;
    scores = concat({scores, sink.broadcast_to(one)}, 3);
  }
  Tensor shares = softmax(scores);
  if (sink) shares = shares.slice(3, 0, k.shape().at(2));
  return as(matmul(as(shares, q.dtype()), values), q.dtype());
}

struct Given {
  Tensor q;
  Tensor k;
  Tensor v;
};
/// Queries, keys and values by their heads; keys and values may be packed behind the queries.
Given given(const Call& c) {
  const I heads = c.i("num_heads", 0);
  const I shared = c.i("kv_num_heads", 0);
  constexpr I most = 1 << 20;
  if (heads <= 0 || shared <= 0 || heads > most || shared > most || heads % shared != 0)
    c.wrong(formatted("{} heads and {} of keys are none.", heads, shared));
  const Tensor x = c.t(0);
  if (x.shape().size() != 3) c.wrong(formatted("{} are no queries.", describe(c.in(0))));
  if (c.has(1))
    return {.q = heads_of(c, x, heads).t,
            .k = heads_of(c, c.t(1), shared).t,
            .v = heads_of(c, c.t(2), shared).t};
  const auto parts = static_cast<U>(heads + 2 * shared);
  if (x.shape().at(2) % parts != 0)
    c.wrong(formatted("{} does not divide into {} heads.", describe(c.in(0)), parts));
  const U size = x.shape().at(2) / parts;
  const auto part = [&](I from, I count) {
    return heads_of(c, x.slice(2, from * static_cast<I>(size), static_cast<U>(count) * size), count)
        .t;
  };
  return {.q = part(0, heads), .k = part(heads, shared), .v = part(heads + shared, shared)};
}

Values group_query(Call& c) {
  if (c.wants(3)) c.refuse("Its scores are not given back.");
  Given x = given(c);
  const Shape shape = x.q.shape();
  const Step step = step_of(c, shape[0], shape[2]);
  if (c.i("do_rotary", 0) != 0) {
    x.q = turned(c, x.q, step);
    x.k = turned(c, x.k, step);
  }
  const Tensor k = with_new(c, 3, x.k, step);
  const Tensor v = with_new(c, 4, x.v, step);
  const Tensor place = c.device().arange(step.keys, 0, 1, DType::i32).reshape({1, 1, 1, step.keys});
  const Tensor query = (step.is_one_place() ? step.positions.slice(0, 0, std::min<U>(step.batch, 1))
                                            : step.positions);
  const Tensor row = query.reshape({query.shape().at(0), 1, step.length, 1});
  Tensor seen = less_equal(place, row);
  if (const I window = c.i("local_window_size", -1); window > 0)  // besides the query's own place
    seen = logical_and(seen, greater_equal(place, row - static_cast<double>(window)));
  constexpr double lowest = std::numeric_limits<float>::lowest();
  Tensor bias = where(seen, zeros_like(seen, DType::f32), full_like(seen, lowest, DType::f32));
  const double given_scale = c.f("scale", 0);
  const double scale =
      given_scale == 0 ? 1 / std::sqrt(static_cast<double>(shape[3])) : given_scale;
  const double cap = c.f("softcap", 0);
  if (c.has(10)) {  // [batch or 1, heads or 1, length, tokens of the longest sequence]
    Tensor more = as(c.t(10), DType::f32);
    if (more.shape().size() != 4 || last_of(more.shape()) > step.keys)
      c.wrong(formatted("{} is no bias of {} keys.", describe(c.in(10)), step.keys));
    Shape high(4, 0);
    high[3] = step.keys - last_of(more.shape());
    bias = bias + (high[3] == 0 ? more : pad(more, Shape(4, 0), high));
  }
  Tensor sink;
  if (c.has(11))
    sink = as(c.t(11), DType::f32).reshape({1, c.in(11).size(), 1, 1});
  else if (c.i("smooth_softmax", 0) > 0)
    sink = zeros(c.device(), {1, 1, 1, 1});
  const Tensor y = cap > 0 || sink ? attend_with_sink(x.q, k, v, bias, scale, cap, sink)
                                   : attend(x.q, k, v, bias, scale, 0, -1).y;
  return {y.permute({0, 2, 1, 3}).reshape({shape[0], shape[2], shape[1] * shape[3]}), k, v};
}

}  // namespace

void add_contrib_decoder(Table& table) { table["com.microsoft.GroupQueryAttention"] = group_query; }

}  // namespace weft::onnx
