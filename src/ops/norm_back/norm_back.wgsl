// The gradient dx of a norm over rows, and with T_KIND the terms t = dy * normalised(x) of the weight's gradient; the
// tile is that of lib/row_tile.wgsl. With g = dy * w, v = x (layer: x - mean) and r = the factor of the norm:
//   dx = r * (g - mean(g) - v * r² * mean(g * v)), where mean(g) is taken only for layer; l2: r * (g - v * sum(g * v) / sum(v²)).
// Phases: "whole" reads, reduces and writes a row at once; "partial" reduces a split of a row to the state scratch;
// "merge" merges the states of a row into one; "apply" merges the states it finds and writes a split of the row.
// A row's state is (sum of v², sum of g v), and for layer (count, mean, sum of v², sum of g, sum of g v) with v taken
// from the mean of the split. Workgroup memory: at most 20 bytes per subgroup (or per invocation without subgroups).
#include "lib/row_tile.wgsl"
#let CENTERED = NORM == "layer"
#let WRITES = PHASE == "whole" || PHASE == "apply"
#let READS = PHASE == "whole" || PHASE == "partial"
#let WORDS = CENTERED ? 5 : 2

#if CENTERED && READS
fn mean_merge(a: f32, b: f32) -> f32 { return a + b; }
#include "lib/row_reduce.wgsl" with NAME="mean" TYPE="f32"
fn sums_merge(a: vec3<f32>, b: vec3<f32>) -> vec3<f32> { return a + b; }
#include "lib/row_reduce.wgsl" with NAME="sums" TYPE="vec3<f32>"
#else
#if CENTERED
// (count, mean, squared differences) of two disjoint sets; either may be empty.
fn spread_merge(a: vec3<f32>, b: vec3<f32>) -> vec3<f32> {
  let count = a.x + b.x;
  let share = select(b.x / count, 0.0, count == 0.0);
  let apart = b.y - a.y;
  return vec3<f32>(count, a.y + apart * share, a.z + b.z + apart * apart * a.x * share);
}
#include "lib/row_reduce.wgsl" with NAME="spread" TYPE="vec3<f32>"
#endif
fn sums_merge(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return a + b; }
#include "lib/row_reduce.wgsl" with NAME="sums" TYPE="vec2<f32>"
#endif

#if PHASE != "merge"
#include "lib/row_operand.wgsl" with NAME="x" KIND=X_KIND STORE=0
#include "lib/row_operand.wgsl" with NAME="dy" KIND=DY_KIND STORE=0
#if W_KIND != "none"
#include "lib/row_operand.wgsl" with NAME="w" KIND=W_KIND STORE=0
#endif
#if WRITES
#include "lib/row_operand.wgsl" with NAME="dx" KIND=DX_KIND STORE=1 NARROW=DX_NARROW
#if T_KIND != "none"
#include "lib/row_operand.wgsl" with NAME="t" KIND=T_KIND STORE=1 NARROW=T_NARROW
#endif
#endif
#endif

#if !READS
fn split_word(row: u32, i: u32, word: u32) -> f32 {
  return state_at(p.state_off + (row * p.splits_total + i) * {{WORDS}}u + word);
}
#if CENTERED
// What lane l of a row merges of that row's states: counts, means and squares, then the products around the row's mean.
fn spread_of(row: u32, l: u32) -> vec3<f32> {
  var state = vec3<f32>();
  for (var i = l; i < p.splits_total; i += {{LANES}}u) {
    state = spread_merge(state, vec3<f32>(split_word(row, i, 0u), split_word(row, i, 1u), split_word(row, i, 2u)));
  }
  return state;
}
fn sums_of(row: u32, l: u32, mean: f32) -> vec2<f32> {
  var state = vec2<f32>();
  for (var i = l; i < p.splits_total; i += {{LANES}}u) {
    let g = split_word(row, i, 3u);
    state += vec2<f32>(g, split_word(row, i, 4u) + g * (split_word(row, i, 1u) - mean));
  }
  return state;
}
#else
fn sums_of(row: u32, l: u32) -> vec2<f32> {
  var state = vec2<f32>();
  for (var i = l; i < p.splits_total; i += {{LANES}}u) {
    state += vec2<f32>(split_word(row, i, 0u), split_word(row, i, 1u));
  }
  return state;
}
#endif
#endif

@compute @workgroup_size({{SIZE}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) invocation: u32) {
  let job = group_index(group, groups);
#if PHASE == "merge"
  if (job >= p.blocks) { return; }
#if CENTERED
  let spread = spread_reduce(spread_of(job, invocation), invocation);
  let sums = sums_reduce(sums_of(job, invocation, spread.y), invocation);
  if (invocation == 0u) {
    let at = p.merged_off + job * 5u;
    merged_put(at, spread.x);
    merged_put(at + 1u, spread.y);
    merged_put(at + 2u, spread.z);
    merged_put(at + 3u, sums.x);
    merged_put(at + 4u, sums.y);
  }
#else
  let sums = sums_reduce(sums_of(job, invocation), invocation);
  if (invocation == 0u) {
    merged_put(p.merged_off + job * 2u, sums.x);
    merged_put(p.merged_off + job * 2u + 1u, sums.y);
  }
#endif
#else
#include "lib/row_place.wgsl"
  let x_start = x_row(row);
  let dy_start = dy_row(row);
#if W_KIND != "none"
  let w_start = w_row(row);
#endif

  // All loads first, so that they are in flight together.
#for j in 0..CHUNKS
  let c{{j}} = first + {{LANES * j}}u;
#if EXACT
  const live{{j}} = true;
  let at{{j}} = c{{j}};
#else
  let live{{j}} = c{{j}} < p.row_chunks;
  let at{{j}} = min(c{{j}}, p.row_chunks - 1u);
#endif
  let x{{j}} = x_load(x_start, at{{j}});
  let dy{{j}} = dy_load(dy_start, at{{j}});
#if W_KIND != "none"
  let w{{j}} = w_load(w_start, at{{j}});
#endif
#endfor
#for j in 0..CHUNKS
#for h in 0..HALVES
  var v{{j}}_{{h}} = x{{j}}[{{h}}];
  let g{{j}}_{{h}} = dy{{j}}[{{h}}]{{W_KIND == "none" ? "" : " * w" + j + "[" + h + "]"}};
#endfor
#endfor

#if READS
#if CENTERED
#if PHASE == "whole"
  let count = p.length;
#else
  let count = f32(min(p.row_chunks - split * {{LANES * CHUNKS}}u, {{LANES * CHUNKS}}u) * {{CHUNK}}u);
#endif
  var total = Vec(0.0);
#for j in 0..CHUNKS
#for h in 0..HALVES
  total += {{EXACT ? "" : "select(Vec(0.0), "}}v{{j}}_{{h}}{{EXACT ? "" : ", live" + j + ")"}};
#endfor
#endfor
  let mean = mean_reduce(vec_sum(total), invocation) / count;
  var gradients = Vec(0.0);
#for j in 0..CHUNKS
#for h in 0..HALVES
  v{{j}}_{{h}} -= mean;
  gradients += {{EXACT ? "" : "select(Vec(0.0), "}}g{{j}}_{{h}}{{EXACT ? "" : ", live" + j + ")"}};
#endfor
#endfor
#endif
  var squares = Vec(0.0);
  var products = Vec(0.0);
#for j in 0..CHUNKS
#for h in 0..HALVES
  squares += {{EXACT ? "" : "select(Vec(0.0), "}}v{{j}}_{{h}} * v{{j}}_{{h}}{{EXACT ? "" : ", live" + j + ")"}};
  products += {{EXACT ? "" : "select(Vec(0.0), "}}g{{j}}_{{h}} * v{{j}}_{{h}}{{EXACT ? "" : ", live" + j + ")"}};
#endfor
#endfor
#if CENTERED
  let reduced = sums_reduce(vec3<f32>(vec_sum(squares), vec_sum(gradients), vec_sum(products)), invocation);
  let spread = reduced.x;
  let sums = reduced.yz;
#else
  let reduced = sums_reduce(vec2<f32>(vec_sum(squares), vec_sum(products)), invocation);
#endif
#elif CENTERED
  let state = spread_reduce(spread_of(row, l), invocation);
  let sums = sums_reduce(sums_of(row, l, state.y), invocation);
  let spread = state.z;
#for j in 0..CHUNKS
#for h in 0..HALVES
  v{{j}}_{{h}} -= state.y;
#endfor
#endfor
#else
  let reduced = sums_reduce(sums_of(row, l), invocation);
#endif

#if PHASE == "partial"
  if (l == 0u && row_live) {
    let at = p.state_off + (row * p.splits_total + p.splits_first + split) * {{WORDS}}u;
#if CENTERED
    state_put(at, count);
    state_put(at + 1u, mean);
    state_put(at + 2u, spread);
    state_put(at + 3u, sums.x);
    state_put(at + 4u, sums.y);
#else
    state_put(at, reduced.x);
    state_put(at + 1u, reduced.y);
#endif
  }
#else
#if CENTERED
  let factor = inverseSqrt(spread / p.length + p.eps);
  let mean_gradient = sums.x / p.length;
  let pull = factor * factor * sums.y / p.length;
#elif NORM == "rms"
  let factor = inverseSqrt(reduced.x / p.length + p.eps);
  let pull = factor * factor * reduced.y / p.length;
#else
  // Below eps the factor is constant, so that nothing pulls back.
  let size = sqrt(reduced.x);
  let factor = 1.0 / max(size, p.eps);
  let pull = select(0.0, reduced.y / reduced.x, size > p.eps);
#endif
  let dx_start = dx_row(row);
#for j in 0..CHUNKS
#for h in 0..HALVES
  let o{{j}}_{{h}} = factor * (g{{j}}_{{h}}{{CENTERED ? " - mean_gradient" : ""}} - v{{j}}_{{h}} * pull);
#endfor
  dx_store(dx_start, c{{j}}, Chunk(o{{j}}_0{{HALVES == 2 ? ", o" + j + "_1" : ""}}), live{{j}} && row_live, invocation);
#endfor
#if T_KIND != "none"
  let t_start = t_row(row);
#for j in 0..CHUNKS
#for h in 0..HALVES
  let t{{j}}_{{h}} = dy{{j}}[{{h}}] * v{{j}}_{{h}} * factor;
#endfor
  t_store(t_start, c{{j}}, Chunk(t{{j}}_0{{HALVES == 2 ? ", t" + j + "_1" : ""}}), live{{j}} && row_live, invocation);
#endfor
#endif
#endif
#endif
}
