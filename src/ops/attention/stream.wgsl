// Attention of few queries on devices with subgroups of SUBGROUP invocations: a workgroup makes up to ROWS rows that share a head of keys, over
// a split of the keys. Subgroups go through keys on their own, KEYS at a time, without barriers, and add up at the end.
// Products: 4 neighbouring lanes have a key, whose row they read 4 x 8 elements at a time; a lane has KEYS / (SUBGROUP / 4) keys. Weights: of the
// 4 lanes each has the rows of its number. Values: VALUE_LANES lanes have a key, 8 columns each, and get its weights by shuffles.
// Loads run ahead: values are loaded before their weights are known, and the next keys before these weights are made.
// Workgroup memory: the rows of q in f32; sums of the subgroups.
#include "attention/score.wgsl"
#if PARTIAL
#include "attention/store.wgsl" with NAME="part" SIZE="value_size" VEC=1
#else
#include "attention/store.wgsl" with NAME="y" SIZE="value_size" VEC=Y_VEC
#endif
#let ONCE = ""
#let THREADS = SUBGROUP_COUNT * SUBGROUP
#let KEYS = FLIGHT * SUBGROUP / 4
#let BLOCK = SUBGROUP_COUNT * KEYS
#let VALUES = KEYS * VALUE_LANES / SUBGROUP
#let SETS = (ROWS + 3) / 4
#let TURN = ROWS < 4 ? ROWS : 4
#let Q_ROW = CHUNKS * 8
var<workgroup> q_rows: array<vec4<f32>, {{ROWS * Q_ROW}}>;
var<workgroup> sums: array<vec4<f32>, {{SUBGROUP_COUNT * ROWS * VALUE_LANES * 2}}>;
var<workgroup> tops: array<f32, {{SUBGROUP_COUNT * ROWS}}>;
var<workgroup> totals: array<f32, {{SUBGROUP_COUNT * ROWS}}>;

@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let split = job % p.splits;
  let block = job / p.splits % p.blocks;
  let key_head = job / p.splits / p.blocks % p.key_heads;
  let batch = job / p.splits / p.blocks / p.key_heads;
  let row0 = block * {{ROWS}}u;
  let row_last = min({{ROWS}}u, p.group_rows - row0) - 1u;
  let head0 = key_head * p.head_group;
  let k_at0 = p.k_off + batch / p.batch_group * p.k_b + key_head * p.k_h;
  let v_at0 = p.v_off + batch / p.batch_group * p.v_b + key_head * p.v_h;
  let part = lane % 4u;
  let seen = keys_seen(0u, p.queries - 1u);
  let key_begin = max(seen.x, split * p.split_keys) / {{BLOCK}}u * {{BLOCK}}u;
  let key_end = min(seen.y, (split + 1u) * p.split_keys);
  let last = p.keys - 1u;

  // This lane's rows: `part`, and the fourth after it.
#for s in 0..SETS
  let own{{s}} = min(part % {{TURN}}u + {{4 * s}}u, row_last);
  let head_{{s}} = head0 + (row0 + own{{s}}) / p.queries;
  let query{{s}} = (row0 + own{{s}}) % p.queries;
  let slope{{s}} = slope_of(head_{{s}} + p.head_first);
#if MASK
  let mask{{s}} = mask_head(batch, head_{{s}}) + query{{s}} * p.mask_i;
#endif
  var m{{s}} = hidden;
  var sum{{s}} = 0.0;
#endfor
#for r in 0..ROWS
  var a{{r}} = vec4<f32>();
  var b{{r}} = vec4<f32>();
#endfor
  let value_lane = lane % {{VALUE_LANES}}u;
  let value_key = lane / {{VALUE_LANES}}u;
  let column = min(value_lane * 8u, p.value_size - 8u);
#for f in 0..FLIGHT
#for c in 0..CHUNKS
  var k{{f}}_{{c}} = vec4<u32>();
#endfor
#for s in 0..SETS
  var mask{{s}}_{{f}} = 0.0;
#endfor
#endfor
  var first = key_begin + sg * {{KEYS}}u;
#include "attention/stream_keys.wgsl" with FIRST="first"

  for (var n = t; n < {{ROWS * Q_ROW}}u; n += {{THREADS}}u) {
    let row = row0 + min(n / {{Q_ROW}}u, row_last);
    let at = p.q_off + batch * p.q_b + (head0 + row / p.queries) * p.q_h + row % p.queries * p.q_t;
    var v = vec4<f32>();
#if Q_VEC
    if (n % {{Q_ROW}}u * 4u < p.size) { v = q_at4(at + n % {{Q_ROW}}u * 4u); }
#else
    for (var e = 0u; e < 4u; e++) {
      let d = n % {{Q_ROW}}u * 4u + e;
      if (d < p.size) { v[e] = q_at(at + d * p.q_d); }
    }
#endif
    q_rows[n] = v;
  }
  workgroupBarrier();
  for (var j0 = key_begin; j0 < key_end; j0 += {{BLOCK}}u) {
#for n in 0..VALUES
    let v{{n}} = v_words4((v_at0 + min(first + {{n * SUBGROUP / VALUE_LANES}}u + value_key, last) * p.v_t + column) / 2u);
#endfor
#for f in 0..FLIGHT
#for r in 0..ROWS
    var s{{r}}_{{f}} = 0.0;
#endfor
#endfor
#for c in 0..CHUNKS
#for f in 0..FLIGHT
    let low{{f}}_{{c}} = vec4<f32>(k_unpack2(k{{f}}_{{c}}.x), k_unpack2(k{{f}}_{{c}}.y));
    let high{{f}}_{{c}} = vec4<f32>(k_unpack2(k{{f}}_{{c}}.z), k_unpack2(k{{f}}_{{c}}.w));
#endfor
#for r in 0..ROWS
    {
      let low = q_rows[{{r * Q_ROW + c * 8}}u + part * 2u];
      let high = q_rows[{{r * Q_ROW + c * 8 + 1}}u + part * 2u];
#for f in 0..FLIGHT
      s{{r}}_{{f}} += dot(low, low{{f}}_{{c}}) + dot(high, high{{f}}_{{c}});
#endfor
    }
#endfor
#endfor
#for f in 0..FLIGHT
#for r in 0..ROWS
    s{{r}}_{{f}} += subgroupShuffleXor(s{{r}}_{{f}}, 1u);
    s{{r}}_{{f}} += subgroupShuffleXor(s{{r}}_{{f}}, 2u);
#endfor
#endfor
#for s in 0..SETS
#for f in 0..FLIGHT
    let z{{s}}_{{f}} = logit_with({{ROWS - 4 * s > 3 ? "select(select(s{{4 * s}}_{{f}}, s{{4 * s + 1}}_{{f}}, part == 1u), select(s{{4 * s + 2}}_{{f}}, s{{4 * s + 3}}_{{f}}, part == 3u), part > 1u)" : ROWS - 4 * s > 1 ? "select(s{{4 * s}}_{{f}}, s{{4 * s + 1}}_{{f}}, part % 2u == 1u)" : "s{{4 * s}}_{{f}}"}},
                               query{{s}}, first + {{f * SUBGROUP / 4}}u + lane / 4u, slope{{s}} * mask{{s}}_{{f}});
#endfor
#endfor
    first += {{BLOCK}}u;
    if (j0 + {{BLOCK}}u < key_end) {
#include "attention/stream_keys.wgsl" with FIRST="first"
    }
#for s in 0..SETS
    var top{{s}} = z{{s}}_0;
#for f in 1..FLIGHT
    top{{s}} = max(top{{s}}, z{{s}}_{{f}});
#endfor
#let STEP = 4
#for level in 0..4
#if STEP < SUBGROUP
    top{{s}} = max(top{{s}}, subgroupShuffleXor(top{{s}}, {{STEP}}u));
#let STEP = STEP * 2
#endif
#endfor
    top{{s}} = max(top{{s}}, m{{s}});
    let shrink{{s}} = exp(m{{s}} - top{{s}});
    if (subgroupAny(top{{s}} > m{{s}})) {
      sum{{s}} *= shrink{{s}};
#for r in 4 * s..min(4 * s + 4, ROWS)
      {
        let factor = subgroupShuffle(shrink{{s}}, {{r % 4}}u);
        a{{r}} *= factor;
        b{{r}} *= factor;
      }
#endfor
      m{{s}} = top{{s}};
    }
#for f in 0..FLIGHT
    let w{{s}}_{{f}} = share(z{{s}}_{{f}}, m{{s}});
    sum{{s}} += w{{s}}_{{f}};
#endfor
#endfor
#for n in 0..VALUES
#let F = n * 4 / VALUE_LANES
    {
      let v_low = vec4<f32>(v_unpack2(v{{n}}.x), v_unpack2(v{{n}}.y));
      let v_high = vec4<f32>(v_unpack2(v{{n}}.z), v_unpack2(v{{n}}.w));
      let source = ({{n * SUBGROUP / VALUE_LANES}}u + value_key - {{F * SUBGROUP / 4}}u) * 4u;
#for r in 0..ROWS
      {
        let w = subgroupShuffle(w{{r / 4}}_{{F}}, source + {{r % 4}}u);
        a{{r}} += w * v_low;
        b{{r}} += w * v_high;
      }
#endfor
    }
#endfor
  }

  // The lanes of a subgroup that have other keys, then the subgroups.
#let STEP = VALUE_LANES
#for level in 0..4
#if STEP < SUBGROUP
#for r in 0..ROWS
  a{{r}} += subgroupShuffleXor(a{{r}}, {{STEP}}u);
  b{{r}} += subgroupShuffleXor(b{{r}}, {{STEP}}u);
#endfor
#let STEP = STEP * 2
#endif
#endfor
#let STEP = 4
#for level in 0..4
#if STEP < SUBGROUP
#for s in 0..SETS
  sum{{s}} += subgroupShuffleXor(sum{{s}}, {{STEP}}u);
#endfor
#let STEP = STEP * 2
#endif
#endfor
#for s in 0..SETS
  if (lane < {{min(4, ROWS - 4 * s)}}u) {
    tops[sg * {{ROWS}}u + {{4 * s}}u + lane] = m{{s}};
    totals[sg * {{ROWS}}u + {{4 * s}}u + lane] = sum{{s}};
  }
#endfor
  if (value_key == 0u) {
#for r in 0..ROWS
    sums[(sg * {{ROWS}}u + {{r}}u) * {{VALUE_LANES * 2}}u + value_lane * 2u] = a{{r}};
    sums[(sg * {{ROWS}}u + {{r}}u) * {{VALUE_LANES * 2}}u + value_lane * 2u + 1u] = b{{r}};
#endfor
  }
  workgroupBarrier();
  for (var n = t; n < {{ROWS * VALUE_LANES * 2}}u; n += {{THREADS}}u) {
    let r = n / {{VALUE_LANES * 2}}u;
    let d = n % {{VALUE_LANES * 2}}u * 4u;
    if (r <= row_last && d < p.value_size) {
      var top = tops[r];
      for (var s = 1u; s < {{SUBGROUP_COUNT}}u; s++) { top = max(top, tops[s * {{ROWS}}u + r]); }
      var v = vec4<f32>();
      var total = 0.0;
      for (var s = 0u; s < {{SUBGROUP_COUNT}}u; s++) {
        let factor = exp(tops[s * {{ROWS}}u + r] - top);
        v += sums[(s * {{ROWS}}u + r) * {{VALUE_LANES * 2}}u + d / 4u] * factor;
        total += totals[s * {{ROWS}}u + r] * factor;
      }
      finish(v, row0 + r, top, total, d, batch, head0, split);
    }
  }
}

// The logit of query i and key j, whose mask is already times its slope.
fn logit_with(product: f32, i: u32, j: u32, added: f32) -> f32 {
  let ahead = i32(j) - i32(i);
  return select(capped(product){{MASK ? " + added" : ""}}, hidden, j >= p.keys || ahead >= p.causal_end || ahead < p.window_start);
}

#include "attention/finish.wgsl"
