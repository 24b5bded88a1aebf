#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/ops/attention.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/ops/products.hpp"
#include "onnx/ops/quantize.hpp"
#include "onnx/ops/windows.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

// Operations of the domain com.microsoft that exporters write.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// x + skip + bias, its norm, and the sum.
Values skip_norm(Call& c, bool simple) {
  const std::size_t beta = simple ? 0 : 3;
  const std::size_t bias = simple ? 3 : 4;
  Tensor x = c.t(0) + c.t(1);
  if (c.has(bias)) x = x + c.t(bias);
  const auto eps = static_cast<float>(c.f("epsilon", 1e-12));
  const Tensor y =
      simple ? rms_norm(x, c.t(2), eps)
             : layer_norm(x, c.t(2), beta != 0 && c.has(beta) ? c.t(beta) : Tensor(), eps);
  return {y, Value(), Value(), x};
}

/// As LayerNormalization of one axis without a mean.
Values simple_norm(Call& c) {
  const Tensor x = c.t(0);
  const int axis = int_axis(c, c.i("axis", -1), x.shape().size());
  if (static_cast<std::size_t>(axis) + 1 != x.shape().size())
    c.refuse("Only the last axis is done.");
  return {rms_norm(x, as(c.t(1), x.dtype()), static_cast<float>(c.f("epsilon", 1e-5)))};
}

Values bias_gelu(Call& c, std::string_view approximate) {
  Tensor x = c.t(0);
  if (c.has(1)) x = x + c.t(1);
  return {gelu(x, {.approximate = approximate})};
}

/// 0 where a key is seen, a very low number elsewhere.
Tensor seen_mask(const Tensor& seen) {
  return where(seen, zeros_like(seen, DType::f32), full_like(seen, -infinity, DType::f32));
}

/// Masks as exporters give them: [batch, keys] of 0 and 1, [batch] of lengths, or [batch, queries,
/// keys].
Tensor key_mask(const Call& c, const Value& value, U batch, U keys) {
  const Tensor mask = as(value.on(c.device()), DType::i32);
  if (mask.shape().size() == 1 && mask.size() == batch) {
    const Tensor place = c.device().arange(keys, 0, 1, DType::i32).reshape({1, 1, 1, keys});
    return seen_mask(less(place, mask.reshape({batch, 1, 1, 1})));
  }
  const Tensor seen = not_equal(mask, zeros_like(mask));
  if (mask.shape().size() == 2)
    return seen_mask(seen.reshape({mask.shape().at(0), 1, 1, mask.shape().at(1)}));
  if (mask.shape().size() == 3) return seen_mask(unsqueeze(seen, 1));
  if (mask.shape().size() == 4) return seen_mask(seen);
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

/// Self-attention with one weight for queries, keys and values.
Values attention_op(Call& c) {
  const I heads = c.i("num_heads", 0);
  const Tensor x = c.t(0);
  Tensor all = matmul(x, c.t(1));
  if (c.has(2)) all = all + c.t(2);
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
  if (c.has(4)) {  // [2, batch, heads, length, size]
    const Tensor before = c.t(4);
    if (before.shape().size() != 5)
      c.wrong(formatted("The past {} is not keys and values.", describe(c.in(4))));
    const Shape shape(before.shape().begin() + 1, before.shape().end());
    past = shape.at(2);
    k = concat({before.slice(0, 0, 1).reshape(shape), k}, 2);
    v = concat({before.slice(0, 1, 1).reshape(shape), v}, 2);
  }
  const U keys = k.shape().at(2);
  Tensor bias;
  const auto add_bias = [&](const Tensor& more) { bias = bias ? bias + more : more; };
  if (c.has(3)) add_bias(key_mask(c, c.in(3), q.shape().at(0), keys));
  if (c.has(5)) add_bias(as(c.t(5), DType::f32));
  if (c.i("unidirectional", 0) != 0)
    add_bias(causal_mask(c.device(), q.shape().at(2), keys, static_cast<I>(past)));
  const Tensor y = attend(q, k, v, bias, scale_of(c, q), 0, -1).y;
  return {joined_heads(y), stack({k, v}, 0)};
}

/// Queries, keys and values with biases; keys and values may have heads already.
Values multi_head(Call& c) {
  const I heads = c.i("num_heads", 0);
  if (!c.has(1) || !c.has(2) || c.shape(0).size() != 3)
    c.refuse("Packed queries, keys and values are not done.");
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (c.shape(i).size() != 3 && c.shape(i).size() != 4)
      c.wrong(formatted("{} are neither keys nor values.", describe(c.in(i))));
  }
  const U width = c.shape(0).at(2);
  const auto biased = [&](std::size_t i, U from) {
    const Tensor x = c.t(i);
    if (!c.has(3)) return Tensor(x);
    return x + c.t(3).slice(0, static_cast<I>(from), last_of(x.shape()));
  };
  const Tensor q = heads_of(c, biased(0, 0), heads).t;
  Tensor k = c.shape(1).size() == 4 ? c.t(1) : heads_of(c, biased(1, width), heads).t;
  Tensor v = c.shape(2).size() == 4 ? c.t(2)
                                    : heads_of(c, biased(2, width + last_of(c.shape(1))), heads).t;
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
    add_bias(causal_mask(c.device(), q.shape().at(2), k.shape().at(2), static_cast<I>(past)));
  return {joined_heads(attend(q, k, v, bias, scale_of(c, q), 0, -1).y), k, v};
}

/// Attention of a decoder: heads share keys, positions turn, and a cache grows.
Values group_query(Call& c) {
  const I heads = c.i("num_heads", 0);
  const I key_heads = c.i("kv_num_heads", 0);
  constexpr I most_heads = 1 << 20;
  if (heads <= 0 || key_heads <= 0 || heads > most_heads || key_heads > most_heads)
    c.wrong(formatted("{} heads and {} of keys are none.", heads, key_heads));
  Tensor q3 = c.t(0);
  Tensor k3;
  Tensor v3;
  if (!c.has(1)) {  // packed
    const U size = q3.shape().at(2) / static_cast<U>(heads + 2 * key_heads);
    const auto part = [&](U from, U count) {
      return c.t(0).slice(2, static_cast<I>(from * size), count * size);
    };
    k3 = part(static_cast<U>(heads), static_cast<U>(key_heads));
    v3 = part(static_cast<U>(heads + key_heads), static_cast<U>(key_heads));
    q3 = part(0, static_cast<U>(heads));
  } else {
    k3 = c.t(1);
    v3 = c.t(2);
  }
  Tensor q = heads_of(c, q3, heads).t;
  Tensor k = heads_of(c, k3, key_heads).t;
  Tensor v = heads_of(c, v3, key_heads).t;
  const U batch = q.shape().at(0);
  const U length = q.shape().at(2);
  const U past = c.has(3) ? c.shape(3).at(2) : 0;
  const Tensor lengths =
      as(c.t(5), DType::i32).reshape({batch, 1});  // keys of each batch, less one
  const Tensor first =
      lengths - (static_cast<double>(length) - 1);  // the position of its first query
  const Tensor positions = first + c.device().arange(length, 0, 1, DType::i32).reshape({1, length});
  if (c.i("do_rotary", 0) != 0) {
    if (c.shape(7).empty()) c.wrong("The table of angles is one number.");
    const auto turned = [&](const Tensor& x) {
      const U half = last_of(c.shape(7));
      const Tensor cosine =
          unsqueeze(take(c.t(7), maximum(positions, zeros_like(positions)), 0), 1);
      const Tensor sine = unsqueeze(take(c.t(8), maximum(positions, zeros_like(positions)), 0), 1);
      return turned_pairs(x, as(cosine, DType::f32), as(sine, DType::f32), 2 * half,
                          c.i("rotary_interleaved", 0) != 0);
    };
    q = turned(q);
    k = turned(k);
  }
  if (past > 0) {
    k = concat({c.t(3), k}, 2);
    v = concat({c.t(4), v}, 2);
  }
  const U keys = k.shape().at(2);
  const Tensor place = c.device().arange(keys, 0, 1, DType::i32).reshape({1, 1, 1, keys});
  const Tensor query = positions.reshape({batch, 1, length, 1});
  Tensor seen = less_equal(place, query);
  if (const I window = c.i("local_window_size", -1); window >= 0)  // besides the query's own place
    seen = logical_and(seen, greater_equal(place, query - static_cast<double>(window)));
  const Tensor y = attend(q, k, v, seen_mask(seen), scale_of(c, q), c.f("softcap", 0), -1).y;
  return {joined_heads(y), k, v};
}

/// x times a matrix of 4 or 8 bits [N, blocks, bytes], with a scale (and a zero point) for each
/// block.
Values matmul_nbits(Call& c) {
  const I bits = c.i("bits", 4);
  const auto n = static_cast<U>(c.i("N", 0));
  const auto depth = static_cast<U>(c.i("K", 0));
  const auto block = static_cast<U>(c.i("block_size", 32));
  if ((bits != 4 && bits != 8) || n == 0 || depth == 0 || block == 0)
    c.refuse(formatted("Blocks of {} numbers of {} bits are not done.", block, bits));
  if (c.has(4)) c.refuse("An order of groups is not done.");
  const U blocks = (depth + block - 1) / block;
  const auto numbers = [&](const Tensor& packed, U rows,
                           U columns) {  // two in each byte, the lower one first
    if (bits == 8) return packed.to(DType::f32).reshape({rows, columns});
    const Tensor bytes = packed.to(DType::i32);
    const Tensor sixteen = full_like(bytes, 16);
    return stack({remainder(bytes, sixteen), floor_divide(bytes, sixteen)}, -1)
        .to(DType::f32)
        .reshape({rows, bytes.size() * 2 / rows});
  };
  Tensor w = numbers(c.t(1), n, blocks * block).reshape({n, blocks, block});
  const Tensor scales = as(c.t(2), DType::f32).reshape({n, blocks, 1});
  if (c.has(3) && c.in(3).type() == Type::u8) {
    w = w - numbers(c.t(3), n, blocks).slice(1, 0, blocks).reshape({n, blocks, 1});
  } else if (c.has(3)) {
    w = w - as(c.t(3), DType::f32).reshape({n, blocks, 1});
  } else {
    w = w - (bits == 4 ? 8.0 : 128.0);
  }
  const Tensor weights = (w * scales).reshape({n, blocks * block}).slice(1, 0, depth);
  const Tensor x = c.t(0);
  return {as(linear(x, as(weights, x.dtype()), c.has(5) ? c.t(5) : Tensor()), x.dtype())};
}

Values fused_matmul(Call& c) {
  Tensor a = c.t(0);
  Tensor b = c.t(1);
  if (c.i("transBatchA", 0) != 0 || c.i("transBatchB", 0) != 0)
    c.refuse("Turned batches are not done.");
  if (c.i("transA", 0) != 0) a = a.transpose();
  if (c.i("transB", 0) != 0) b = b.transpose();
  const Tensor y = matmul(a, b);
  const double alpha = c.f("alpha", 1);
  return {alpha == 1 ? y : y * alpha};
}

Tensor activated(const Call& c, const Tensor& x, const std::string& name) {
  const auto p = c.fs("activation_params");
  if (name.empty()) return x;
  if (name == "Relu") return relu(x);
  if (name == "Tanh") return tanh(x);
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "LeakyRelu") return leaky_relu(x, p.empty() ? 0.01 : p[0]);
  if (name == "Clip") return clamp(x, p.empty() ? -infinity : p[0], p.size() < 2 ? infinity : p[1]);
  if (name == "HardSigmoid")
    return clamp(x * (p.empty() ? 0.2 : p[0]) + (p.size() < 2 ? 0.5 : p[1]), 0, 1);
  c.refuse(formatted("The activation '{}' is not known.", name));
}

Values fused_conv(Call& c) {
  Tensor y = convolve(c, c.t(0), c.t(1), c.maybe(2));
  if (c.has(3)) y = y + c.t(3);
  return {activated(c, y, c.s("activation", ""))};
}

Values integer_to_float(Call& c) {
  const Tensor sums = whole_product(c.t(0), c.maybe(4), c.t(1), c.maybe(5)).to(DType::f32);
  Tensor y = sums * (c.t(2) * c.t(3));
  if (c.has(6)) y = y + c.t(6);
  return {y};
}

Values dynamic_matmul(Call& c) {
  const Dynamic x = dynamically_quantized(c.t(0));
  Tensor y = whole_product(x.y, x.zero, c.t(1), c.maybe(3)).to(DType::f32) * (x.scale * c.t(2));
  if (c.has(4)) y = y + c.t(4);
  return {y};
}

}  // namespace

void add_contrib(Table& table) {
  const auto add = [&](const std::string& name, Op op) { table["com.microsoft." + name] = op; };
  add("Attention", attention_op);
  add("MultiHeadAttention", multi_head);
  add("GroupQueryAttention", group_query);
  add("MatMulNBits", matmul_nbits);
  add("SkipLayerNormalization", +[](Call& c) { return skip_norm(c, false); });
  add("SkipSimplifiedLayerNormalization", +[](Call& c) { return skip_norm(c, true); });
  add("SimplifiedLayerNormalization", simple_norm);
  table["SimplifiedLayerNormalization"] = simple_norm;
  add("BiasGelu", +[](Call& c) { return bias_gelu(c, "none"); });
  add("Gelu", +[](Call& c) { return bias_gelu(c, "none"); });
  add("FastGelu", +[](Call& c) { return bias_gelu(c, "tanh"); });
  add(
      "QuickGelu", +[](Call& c) {
        const Tensor x = c.t(0);
        return Values{x * sigmoid(x * c.f("alpha", 1.702))};
      });
  add("FusedMatMul", fused_matmul);
  add("FusedConv", fused_conv);
  add("MatMulIntegerToFloat", integer_to_float);
  add("DynamicQuantizeMatMul", dynamic_matmul);
}

}  // namespace weft::onnx
