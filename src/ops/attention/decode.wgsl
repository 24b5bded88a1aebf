// Attention of few queries: a workgroup of WORKGROUP = 128 invocations makes up to ROWS rows that share a head of keys (all queries of the
// query heads of its group), over a split of the keys, 64 at a time, so that keys and values are read once for all of them.
// Products: 8 neighbouring lanes have a key. Weights: 8 lanes have a row. Values: an invocation has 8 columns and every
// n-th key, and the sums of those are added at the end. FLIGHT keys and values of an invocation are loaded at a time; with
// AHEAD the first values are loaded before the weights are known. A launch is short, so that waiting is most of it.
// With TURNED the keys of a column of values are neighbours: an invocation has 8 of the keys, all values of which are loaded
// before the weights are known, and columns 16 apart, ROUNDS of them; `outs` then has the rows.
// With HELD > 0 heads have at most 64 * HELD elements, and invocations hold their parts of q: software adapters read
// workgroup memory lane by lane.
// Workgroup memory: the rows of q in f32, later sums (9,216 bytes), 64 weights per row, a few numbers per row.
#include "attention/score.wgsl"
#include "attention/load8.wgsl" with NAME="k" SIZE="size"
#if !TURNED
#include "attention/load8.wgsl" with NAME="v" SIZE="value_size"
#endif
#let ONCE = ""
#let ROLLED = FLIGHT > 2 ? "" : " * p.once"
#if PARTIAL
#include "attention/store.wgsl" with NAME="part" SIZE="value_size" VEC=1
#else
#include "attention/store.wgsl" with NAME="y" SIZE="value_size" VEC=Y_VEC
#endif
#let PARTS = 2 * ROWS < 4 ? 2 * ROWS : 4
var<workgroup> q_rows: array<vec4<f32>, 576>;
var<workgroup> weights: array<f32, {{ROWS * 64}}>;
var<workgroup> shrinks: array<f32, {{ROWS}}>;
var<workgroup> tops: array<f32, {{ROWS}}>;
var<workgroup> totals: array<f32, {{ROWS}}>;
#if TURNED
var<workgroup> outs: array<f32, {{ROWS * ROUNDS * 16}}>;
#endif
#if !SHUFFLE
var<workgroup> scratch: array<f32, {{WORKGROUP}}>;
#endif

// The sum or maximum over 8 neighbouring lanes, for each of them.
fn sum8(v: f32, t: u32) -> f32 {
#if SHUFFLE
  var s = v + subgroupShuffleXor(v, 1u);
  s += subgroupShuffleXor(s, 2u);
  return s + subgroupShuffleXor(s, 4u);
#else
  workgroupBarrier();
  scratch[t] = v;
  workgroupBarrier();
  var s = 0.0;
  for (var n = 0u; n < 8u * p.once; n++) { s += scratch[t / 8u * 8u + n]; }
  return s;
#endif
}
fn max8(v: f32, t: u32) -> f32 {
#if SHUFFLE
  var s = max(v, subgroupShuffleXor(v, 1u));
  s = max(s, subgroupShuffleXor(s, 2u));
  return max(s, subgroupShuffleXor(s, 4u));
#else
  workgroupBarrier();
  scratch[t] = v;
  workgroupBarrier();
  var s = v;
  for (var n = 0u; n < 8u * p.once; n++) { s = max(s, scratch[t / 8u * 8u + n]); }
  return s;
#endif
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
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
  let q_row = (p.size + 7u) / 8u * 2u;
  for (var n = t; n < {{ROWS}}u * q_row; n += {{WORKGROUP}}u) {
    let row = row0 + min(n / q_row, row_last);
    let at = p.q_off + batch * p.q_b + (head0 + row / p.queries) * p.q_h + row % p.queries * p.q_t;
    var v = vec4<f32>();
#if Q_VEC
    if (n % q_row * 4u < p.size) { v = q_at4(at + n % q_row * 4u); }
#else
    for (var e = 0u; e < 4u * p.once; e++) {
      let d = n % q_row * 4u + e;
      if (d < p.size) { v[e] = q_at(at + d * p.q_d); }
    }
#endif
    q_rows[n] = v;
  }
  if (t < {{ROWS}}u) {
    tops[t] = hidden;
    totals[t] = 0.0;
  }
  // The row and lane that this invocation weighs, and the columns and keys that it adds up.
  let lane = t % 8u;
  let own = min(t / 8u, row_last);
  let own_row = row0 + min(lane, row_last);
  let own_head = head0 + own_row / p.queries;
  let own_query = own_row % p.queries;
  let slope = slope_of(own_head + p.head_first);
  let mask_at0 = {{MASK ? "mask_head(batch, own_head)" : "0u"}};
#if TURNED
#for r in 0..ROWS
#for i in 0..ROUNDS
  var a{{r}}_{{i}} = 0.0;
#endfor
#endfor
#else
  let column_groups = (p.value_size + 7u) / 8u;
  let slices = {{WORKGROUP}}u / column_groups;
  let column = t % column_groups * 8u;
  let slice = t / column_groups;
#for r in 0..ROWS
  var a{{r}} = vec4<f32>();
  var b{{r}} = vec4<f32>();
#endfor
#endif
  let seen = keys_seen(0u, p.queries - 1u);
  let key_begin = max(seen.x, split * p.split_keys) / 64u * 64u;
  let key_end = min(seen.y, (split + 1u) * p.split_keys);
  workgroupBarrier();
#for h in 0..HELD
#for r in 0..ROWS
  let low{{r}}_{{h}} = q_rows[{{r}}u * q_row + min(lane + {{8 * h}}u, q_row / 2u - 1u) * 2u];
  let high{{r}}_{{h}} = q_rows[{{r}}u * q_row + min(lane + {{8 * h}}u, q_row / 2u - 1u) * 2u + 1u];
#endfor
#endfor
  for (var j0 = key_begin; j0 < key_end; j0 += 64u) {
    let j_last = min(64u, p.keys - j0) - 1u;
#if TURNED
    // There are 8, 16, … keys left.
    let v_at = v_at0 + j0 + min(lane * 8u, j_last & ~7u);
#for i in 0..ROUNDS
    let v{{i}} = v_at8(v_at + (t / 8u + {{16 * i}}u) * p.v_d);
#endfor
#elif AHEAD
#for i in 0..FLIGHT
    var v{{i}} = v_load8(v_at0 + (j0 + min(slice + {{i}}u * slices, j_last)) * p.v_t, column);
#endfor
#endif
    for (var n = 0u; n < {{4 / FLIGHT}}u * p.once; n++) {
#for i in 0..FLIGHT
      let key{{i}} = (n * {{FLIGHT}}u + {{i}}u) * 16u + t / 8u;
      let k_row{{i}} = k_at0 + (j0 + min(key{{i}}, j_last)) * p.k_t;
#for r in 0..ROWS
      var s{{r}}_{{i}} = 0.0;
#endfor
#endfor
#if HELD > 0
#for h in 0..HELD
      if (lane + {{8 * h}}u < q_row / 2u) {
#for i in 0..FLIGHT
        let k{{i}} = k_load8(k_row{{i}}, lane * 8u + {{64 * h}}u);
#for r in 0..ROWS
        s{{r}}_{{i}} += dot(low{{r}}_{{h}}, k{{i}}[0]) + dot(high{{r}}_{{h}}, k{{i}}[1]);
#endfor
#endfor
      }
#endfor
#else
      for (var c = lane; c < q_row / 2u; c += 8u) {
#for i in 0..FLIGHT
        let k{{i}} = k_load8(k_row{{i}}, c * 8u);
#endfor
#for r in 0..ROWS
        {
          let low = q_rows[{{r}}u * q_row + c * 2u];
          let high = q_rows[{{r}}u * q_row + c * 2u + 1u];
#for i in 0..FLIGHT
          s{{r}}_{{i}} += dot(low, k{{i}}[0]) + dot(high, k{{i}}[1]);
#endfor
        }
#endfor
      }
#endif
#for i in 0..FLIGHT
      {
        var product = 0.0;
#for r in 0..ROWS
        {
          let s = sum8(s{{r}}_{{i}}, t);
          product = select(product, s, lane == {{r}}u);
        }
#endfor
        if (lane < {{ROWS}}u) {
          weights[lane * 64u + key{{i}}] = logit(product, own_query, j0 + key{{i}}, slope, mask_at0);
        }
      }
#endfor
    }
    workgroupBarrier();
    // Every lane takes part, those without a row repeat the last one.
    var most = hidden;
    for (var n = lane; n < 64u{{ROLLED}}; n += 8u) { most = max(most, weights[own * 64u + n]); }
    most = max8(most, t);
    let before = tops[own];
    let top = max(before, most);
    var total = 0.0;
    for (var n = lane; n < 64u{{ROLLED}}; n += 8u) { total += share(weights[own * 64u + n], top); }
    total = sum8(total, t);
    workgroupBarrier();
    if (t / 8u <= row_last) {
      for (var n = lane; n < 64u{{ROLLED}}; n += 8u) { weights[own * 64u + n] = share(weights[own * 64u + n], top); }
      if (lane == 0u) {
        shrinks[own] = exp(before - top);
        tops[own] = top;
        totals[own] = totals[own] * exp(before - top) + total;
      }
    }
    workgroupBarrier();
#if TURNED
#for r in 0..ROWS
    {
      let mine = min({{r}}u, row_last);
      let at = mine * 64u + lane * 8u;
      let live = lane * 8u <= j_last;
      let low = select(vec4<f32>(), vec4<f32>(weights[at], weights[at + 1u], weights[at + 2u], weights[at + 3u]), live);
      let high = select(vec4<f32>(), vec4<f32>(weights[at + 4u], weights[at + 5u], weights[at + 6u], weights[at + 7u]), live);
      let shrink = shrinks[mine];
#for i in 0..ROUNDS
      a{{r}}_{{i}} = a{{r}}_{{i}} * shrink + (dot(low, v{{i}}[0]) + dot(high, v{{i}}[1]));
#endfor
    }
#endfor
#else
    if (slice < slices) {
#for r in 0..ROWS
      {
        let shrink = shrinks[min({{r}}u, row_last)];
        a{{r}} *= shrink;
        b{{r}} *= shrink;
      }
#endfor
      for (var j = slice; j <= j_last; j += {{FLIGHT}}u * slices) {
#if !AHEAD
#for i in 0..FLIGHT
        let v{{i}} = v_load8(v_at0 + (j0 + min(j + {{i}}u * slices, j_last)) * p.v_t, column);
#endfor
#endif
#for r in 0..ROWS
#for i in 0..FLIGHT
        {
          let at = j + {{i}}u * slices;
          let w = select(0.0, weights[min({{r}}u, row_last) * 64u + min(at, j_last)], at <= j_last);
          a{{r}} += w * v{{i}}[0];
          b{{r}} += w * v{{i}}[1];
        }
#endfor
#endfor
#if AHEAD
        let next = j + {{FLIGHT}}u * slices;
        if (next <= j_last) {
#for i in 0..FLIGHT
          v{{i}} = v_load8(v_at0 + (j0 + min(next + {{i}}u * slices, j_last)) * p.v_t, column);
#endfor
        }
#endif
      }
    }
#endif
    workgroupBarrier();
  }
#if TURNED
#for r in 0..ROWS
#for i in 0..ROUNDS
  {
    let sum = sum8(a{{r}}_{{i}}, t);
    if (lane == 0u) { outs[{{(r * ROUNDS + i) * 16}}u + t / 8u] = sum; }
  }
#endfor
#endfor
  workgroupBarrier();
  for (var i = t; i < {{ROWS * ROUNDS * 4}}u; i += {{WORKGROUP}}u) {
    let r = i / {{ROUNDS * 4}}u;
    if (r <= row_last) {
      let v = vec4<f32>(outs[i * 4u], outs[i * 4u + 1u], outs[i * 4u + 2u], outs[i * 4u + 3u]);
      finish(v, row0 + r, tops[r], totals[r], i % {{ROUNDS * 4}}u * 4u, batch, head0, split);
    }
  }
#else
  // The slices are added up for PARTS halves of rows at a time; the rows of q are not needed any more.
#for round in 0..2 * ROWS / PARTS
  workgroupBarrier();
#for part in 0..PARTS
#let NUMBER = round * PARTS + part
  q_rows[{{part * WORKGROUP}}u + t] = {{NUMBER % 2 == 0 ? "a" : "b"}}{{NUMBER / 2}};
#endfor
  workgroupBarrier();
  for (var i = t; i < {{PARTS}}u * column_groups; i += {{WORKGROUP}}u) {
    let part = i / column_groups;
    let r = ({{round * PARTS}}u + part) / 2u;
    let group_column = i % column_groups;
    if (r <= row_last) {
      var v = vec4<f32>();
      for (var n = 0u; n < slices; n++) { v += q_rows[part * {{WORKGROUP}}u + n * column_groups + group_column]; }
      finish(v, row0 + r, tops[r], totals[r], group_column * 8u + part % 2u * 4u, batch, head0, split);
    }
  }
#endfor
#endif
}

#include "attention/finish.wgsl"
