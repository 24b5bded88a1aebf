// One token of recurrence.wgsl: brings the state forward, writes y, and the state where a snapshot is wanted. Given: t, v, q, k and what
// the kind has besides, of this lane.
var sums = vec4<f32>(0.0);
var with_q = E(0.0);
#if KIND == "gated_linear_attention"
#for e in 0..PER
s{{e}} = s{{e}} * w{{SCALAR_DECAY ? "" : e}} + k{{e}} * v;
with_q += s{{e}} * q{{e}};
#endfor
sums.x = total(with_q);
let y = row_sum(sums, invocation).x * p.scale;
#elif KIND == "rwkv6"
#for e in 0..PER
let kv{{e}} = k{{e}} * v;
with_q += (s{{e}} + kv{{e}} * bonus{{e}}) * q{{e}};
s{{e}} = s{{e}} * w{{SCALAR_DECAY ? "" : e}} + kv{{e}};
#endfor
sums.x = total(with_q);
let y = row_sum(sums, invocation).x;
#elif KIND == "rwkv7"
// The product of the new state with q, from products with the old one: one sum over the lanes instead of two.
var with_a = E(0.0);
var k_with_q = E(0.0);
var b_with_q = E(0.0);
#for e in 0..PER
with_a += s{{e}} * a{{e}};
with_q += s{{e}} * w{{SCALAR_DECAY ? "" : e}} * q{{e}};
k_with_q += k{{e}} * q{{e}};
b_with_q += b{{e}} * q{{e}};
#endfor
sums = row_sum(vec4<f32>(total(with_a), total(with_q), total(k_with_q), total(b_with_q)), invocation);
#for e in 0..PER
s{{e}} = s{{e}} * w{{SCALAR_DECAY ? "" : e}} + k{{e}} * v + b{{e}} * sums.x;
#endfor
let y = sums.y + sums.z * v + sums.w * sums.x;
#elif KIND == "gated_delta_rule"
// As for wkv7: the product with q of the state before and of what is added to it.
var with_k = E(0.0);
var k_with_q = E(0.0);
#for e in 0..PER
s{{e}} *= w{{SCALAR_DECAY ? "" : e}};
with_k += s{{e}} * k{{e}};
with_q += s{{e}} * q{{e}};
k_with_q += k{{e}} * q{{e}};
#endfor
sums = row_sum(vec4<f32>(total(with_k), total(with_q), total(k_with_q), 0.0), invocation);
let written = (v - sums.x) * step;
#for e in 0..PER
s{{e}} += k{{e}} * written;
#endfor
let y = (sums.y + sums.z * written) * p.scale;
#else
#if SCALAR_DECAY
let w = exp(step * rate);
#endif
#for e in 0..PER
s{{e}} = s{{e}} * {{SCALAR_DECAY ? "w" : "exp(step * rate" + e + ")"}} + k{{e}} * (v * step);
with_q += s{{e}} * q{{e}};
#endfor
sums.x = total(with_q);
let y = row_sum(sums, invocation).x;
#endif
if (lane == 0u && live) { y_put(y_start + t * p.y_t, y); }
#if SNAPSHOTS

// Snapshot 0 is written behind the loop.
let snapshot = p.tokens_after + p.tokens - 1u - t;
if (snapshot > 0u && snapshot < p.snapshots && live) {
  let start = new_start + snapshot * p.new_k;
#for e in 0..PER
#if STATE_VEC
  new_state_put4(start + i{{e}}, s{{e}});
#elif VEC == 4
  for (var c = 0u; c < 4u; c++) { new_state_put(start + (i{{e}} + c) * p.new_i, s{{e}}[c]); }
#else
  {{FULL ? "" : "if (i" + e + " < " + KEYS + "u) "}}{ new_state_put(start + i{{e}} * p.new_i, s{{e}}); }
#endif
#endfor
}
#endif
