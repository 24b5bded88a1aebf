// softmax or log_softmax of z = scale * x + slope * mask over rows; the tile is that of lib/row_tile.wgsl.
// Phases: "whole" reads, reduces and writes a row at once; "partial" reduces a split of a row to the state scratch;
// "merge" merges the states of a row into one; "apply" merges the states it finds and writes a split of the row.
// A row's state is (m, s): the largest logit and the sum of exp(z - m). Workgroup memory: 8 bytes per subgroup (or per
// invocation without subgroups).
// The smallest float stands in for -infinity where a maximum starts: a row of -infinity keeps it, all its exp are 0,
// and the sum 0 is caught where outputs are made.
#include "lib/row_tile.wgsl"
#let WRITES = PHASE == "whole" || PHASE == "apply"
const lowest = -3.4028234e38;

fn row_merge(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  let shrink = exp(-abs(a.x - b.x));
  return vec2<f32>(max(a.x, b.x), select(a.y * shrink + b.y, a.y + b.y * shrink, a.x >= b.x));
}
#include "lib/row_reduce.wgsl" with NAME="row" TYPE="vec2<f32>"

#if PHASE != "merge"
#if CHAIN > 0
#include "fused/row_chain.wgsl"
#else
#include "lib/row_operand.wgsl" with NAME="x" KIND=X_KIND STORE=0
#endif
#if MASK_KIND != "none"
#include "lib/row_operand.wgsl" with NAME="mask" KIND=MASK_KIND STORE=0
#endif
#if HEAD_KIND != "none"
#include "lib/row_operand.wgsl" with NAME="head" KIND="number" STORE=0
fn slope_of(head: u32) -> f32 {
  if (head < p.slopes) { return exp2(p.bias * f32(head + 1u)); }
  return exp2(0.5 * p.bias * f32(2u * (head - p.slopes) + 1u));
}
#endif
#if WRITES
#include "lib/row_operand.wgsl" with NAME="y" KIND=Y_KIND STORE=1 NARROW=Y_NARROW
#if SINKS_KIND != "none"
#include "lib/row_operand.wgsl" with NAME="sinks" KIND="number" STORE=0
#endif
#endif
#endif

#if PHASE == "apply" || PHASE == "merge"
// What lane l of a row merges of that row's states.
fn states_of(row: u32, l: u32) -> vec2<f32> {
  var state = vec2<f32>(lowest, 0.0);
  for (var i = l; i < p.splits_total; i += {{LANES}}u) {
    let at = p.state_off + (row * p.splits_total + i) * 2u;
    state = row_merge(state, vec2<f32>(state_at(at), state_at(at + 1u)));
  }
  return state;
}
#endif

@compute @workgroup_size({{SIZE}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) invocation: u32) {
  let job = group_index(group, groups);
#if PHASE == "merge"
  if (job >= p.blocks) { return; }
  let state = row_reduce(states_of(job, invocation), invocation);
  if (invocation == 0u) {
    merged_put(p.merged_off + job * 2u, state.x);
    merged_put(p.merged_off + job * 2u + 1u, state.y);
  }
#else
#include "lib/row_place.wgsl"
  let x_start = x_row(row);
#if MASK_KIND != "none"
  let mask_start = mask_row(row);
#endif

  // All loads first, so that they are in flight together.
#for j in 0..CHUNKS
  let c{{j}} = first + {{LANES * j}}u;
#if EXACT
  const live{{j}} = true;
  let x{{j}} = x_load(x_start, c{{j}});
#else
  let live{{j}} = c{{j}} < p.row_chunks;
  let x{{j}} = x_load(x_start, min(c{{j}}, p.row_chunks - 1u));
#endif
#if MASK_KIND != "none"
  let mask{{j}} = mask_load(mask_start, {{EXACT ? "c" + j : "min(c" + j + ", p.row_chunks - 1u)"}});
#endif
#endfor
#if HEAD_KIND != "none"
  let slope = slope_of(head_row(row));
#endif

#for j in 0..CHUNKS
#for h in 0..HALVES
#if MASK_KIND == "none"
  var z{{j}}_{{h}} = x{{j}}[{{h}}] * p.scale;
#elif HEAD_KIND == "none"
  var z{{j}}_{{h}} = x{{j}}[{{h}}] * p.scale + mask{{j}}[{{h}}];
#else
  var z{{j}}_{{h}} = x{{j}}[{{h}}] * p.scale + mask{{j}}[{{h}}] * slope;
#endif
#endfor
#endfor

#if PHASE == "apply"
  var state = row_reduce(states_of(row, l), invocation);
#else
  var own = lowest;
#for j in 0..CHUNKS
#for h in 0..HALVES
  own = max(own, {{EXACT ? "" : "select(lowest, "}}vec_max(z{{j}}_{{h}}){{EXACT ? "" : ", live" + j + ")"}});
#endfor
#endfor
  var sum = Vec(0.0);
#for j in 0..CHUNKS
#for h in 0..HALVES
  let e{{j}}_{{h}} = {{EXACT ? "" : "select(Vec(0.0), "}}exp(z{{j}}_{{h}} - own){{EXACT ? "" : ", live" + j + ")"}};
  sum += e{{j}}_{{h}};
#endfor
#endfor
  var state = row_reduce(vec2<f32>(own, vec_sum(sum)), invocation);
#endif

#if PHASE == "partial"
  if (l == 0u && row_live) {
    let at = p.state_off + (row * p.splits_total + p.splits_first + split) * 2u;
    state_put(at, state.x);
    state_put(at + 1u, state.y);
  }
#else
#if SINKS_KIND != "none"
  state = row_merge(state, vec2<f32>(sinks_at(sinks_row(row)), 1.0));
#endif
#if LOG
  // With the sum 0 every logit is -infinity, and so is its logarithm.
  let log_sum = select(log(state.y), 0.0, state.y == 0.0);
#else
  let share = select(1.0 / state.y, 0.0, state.y == 0.0);
#if PHASE == "whole"
  let factor = exp(own - state.x) * share;
#endif
#endif
  let y_start = y_row(row);
#for j in 0..CHUNKS
#for h in 0..HALVES
#if LOG
  let r{{j}}_{{h}} = (z{{j}}_{{h}} - state.x) - log_sum;
#elif PHASE == "whole"
  let r{{j}}_{{h}} = e{{j}}_{{h}} * factor;
#else
  let r{{j}}_{{h}} = exp(z{{j}}_{{h}} - state.x) * share;
#endif
#endfor
  y_store(y_start, c{{j}}, Chunk(r{{j}}_0{{HALVES == 2 ? ", r" + j + "_1" : ""}}), live{{j}} && row_live, invocation);
#endfor
#endif
#endif
}
