// y = normalised(x + r) * w + b over rows; the tile is that of lib/row_tile.wgsl.
// Phases: "whole" reads, reduces and writes a row at once; "partial" reduces a split of a row to the state scratch;
// "merge" merges the states of a row into one; "apply" merges the states it finds and writes a split of the row.
// A row's state is the sum of squares (rms, l2) or, with CENTERED (layer, group), the count, the mean and the sum of
// squared differences from that mean. What a workgroup holds is centered in two passes over registers; splits are
// merged by the parallel-variance formula. Workgroup memory: at most 12 bytes per subgroup (or per invocation without
// subgroups, and 4 more with PACKED). With PACKED (chunks of 4) y is also written as bytes, see mul_mat/pack_block.wgsl.
#include "lib/row_tile.wgsl"
#let CENTERED = NORM == "layer"
#let WRITES = PHASE == "whole" || PHASE == "apply"
#let READS = PHASE == "whole" || PHASE == "partial"
#let WORDS = CENTERED ? 3 : 1

#if CENTERED && READS
fn mean_merge(a: f32, b: f32) -> f32 { return a + b; }
#include "lib/row_reduce.wgsl" with NAME="mean" TYPE="f32"
fn spread_merge(a: f32, b: f32) -> f32 { return a + b; }
#include "lib/row_reduce.wgsl" with NAME="spread" TYPE="f32"
#elif CENTERED
alias State = vec3<f32>;
// (count, mean, squared differences) of two disjoint sets; either may be empty.
fn row_merge(a: State, b: State) -> State {
  let count = a.x + b.x;
  let share = select(b.x / count, 0.0, count == 0.0);
  let apart = b.y - a.y;
  return State(count, a.y + apart * share, a.z + b.z + apart * apart * a.x * share);
}
#include "lib/row_reduce.wgsl" with NAME="row" TYPE="vec3<f32>"
#else
alias State = f32;
fn row_merge(a: f32, b: f32) -> f32 { return a + b; }
#include "lib/row_reduce.wgsl" with NAME="row" TYPE="f32"
#endif

#if PHASE != "merge"
#if CHAIN > 0
#include "fused/row_chain.wgsl"
#else
#include "lib/row_operand.wgsl" with NAME="x" KIND=X_KIND STORE=0
#endif
#if R_KIND != "none"
#include "lib/row_operand.wgsl" with NAME="r" KIND=R_KIND STORE=0
#endif
#if WRITES
#include "lib/row_operand.wgsl" with NAME="y" KIND=Y_KIND STORE=1 NARROW=Y_NARROW
#if S_KIND != "none"
#include "lib/row_operand.wgsl" with NAME="s" KIND=S_KIND STORE=1 NARROW=S_NARROW
#endif
#if W_KIND != "none"
#include "lib/row_operand.wgsl" with NAME="w" KIND=W_KIND STORE=0
#endif
#if B_KIND != "none"
#include "lib/row_operand.wgsl" with NAME="b" KIND=B_KIND STORE=0
#endif
#endif
#endif

#if PACKED
#include "mul_mat/pack_block.wgsl"
#if SUBGROUP < 8
var<workgroup> magnitudes: array<f32, {{SIZE}}>;
#endif
// The largest of the magnitudes that 8 neighbouring lanes have: LANES is a multiple of 8. Call it from uniform control flow.
fn block_most(own: f32, invocation: u32) -> f32 {
#if SUBGROUP >= 8
  var most = max(own, subgroupShuffleXor(own, 1u));
  most = max(most, subgroupShuffleXor(most, 2u));
  return max(most, subgroupShuffleXor(most, 4u));
#else
  workgroupBarrier();
  magnitudes[invocation] = own;
  workgroupBarrier();
  let first = invocation & ~7u;
  var most = magnitudes[first];
  for (var i = 1u; i < 8u; i++) { most = max(most, magnitudes[first + i]); }
  return most;
#endif
}
#endif

#if !READS
// What lane l of a row merges of that row's states.
fn states_of(row: u32, l: u32) -> State {
  var state = State();
  for (var i = l; i < p.splits_total; i += {{LANES}}u) {
    let at = p.state_off + (row * p.splits_total + i) * {{WORDS}}u;
#if CENTERED
    state = row_merge(state, State(state_at(at), state_at(at + 1u), state_at(at + 2u)));
#else
    state = row_merge(state, state_at(at));
#endif
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
#for k in 0..WORDS
    merged_put(p.merged_off + job * {{WORDS}}u + {{k}}u, state{{WORDS == 1 ? "" : k == 0 ? ".x" : k == 1 ? ".y" : ".z"}});
#endfor
  }
#else
#include "lib/row_place.wgsl"
  let x_start = x_row(row);
#if R_KIND != "none"
  let r_start = r_row(row);
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
#if R_KIND != "none"
  let r{{j}} = r_load(r_start, at{{j}});
#endif
#endfor
#if PACKED
  // Few rows: waiting is most of it, so these are not loaded after the sum but before.
#include "norm/late.wgsl"
#endif
#for j in 0..CHUNKS
#for h in 0..HALVES
  var v{{j}}_{{h}} = x{{j}}[{{h}}]{{R_KIND == "none" ? "" : " + r" + j + "[" + h + "]"}};
#endfor
#endfor
#if S_KIND != "none" && WRITES
  let s_start = s_row(row);
#for j in 0..CHUNKS
  s_store(s_start, c{{j}}, Chunk(v{{j}}_0{{HALVES == 2 ? ", v" + j + "_1" : ""}}), live{{j}} && row_live, invocation);
#endfor
#endif

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
#for j in 0..CHUNKS
#for h in 0..HALVES
  v{{j}}_{{h}} -= mean;
#endfor
#endfor
#endif
  var squares = Vec(0.0);
#for j in 0..CHUNKS
#for h in 0..HALVES
  squares += {{EXACT ? "" : "select(Vec(0.0), "}}v{{j}}_{{h}} * v{{j}}_{{h}}{{EXACT ? "" : ", live" + j + ")"}};
#endfor
#endfor
  let spread = {{CENTERED ? "spread" : "row"}}_reduce(vec_sum(squares), invocation);
#else
  let state = row_reduce(states_of(row, l), invocation);
#if CENTERED
#for j in 0..CHUNKS
#for h in 0..HALVES
  v{{j}}_{{h}} -= state.y;
#endfor
#endfor
  let spread = state.z;
#else
  let spread = state;
#endif
#endif

#if PHASE == "partial"
  if (l == 0u && row_live) {
    let at = p.state_off + (row * p.splits_total + p.splits_first + split) * {{WORDS}}u;
#if CENTERED
    state_put(at, count);
    state_put(at + 1u, mean);
    state_put(at + 2u, spread);
#else
    state_put(at, spread);
#endif
  }
#else
#if NORM == "l2"
  let factor = 1.0 / max(sqrt(spread), p.eps);
#else
  let factor = inverseSqrt(spread / p.length + p.eps);
#endif
  let y_start = y_row(row);
#if !PACKED
#include "norm/late.wgsl"
#endif
#for j in 0..CHUNKS
#for h in 0..HALVES
  let o{{j}}_{{h}} = v{{j}}_{{h}} * factor{{W_KIND == "none" ? "" : " * w" + j + "[" + h + "]"}}{{B_KIND == "none" ? "" : " + b" + j + "[" + h + "]"}};
#endfor
  y_store(y_start, c{{j}}, Chunk(o{{j}}_0{{HALVES == 2 ? ", o" + j + "_1" : ""}}), live{{j}} && row_live, invocation);
#endfor
#if PACKED
  // Blocks are 8 neighbouring chunks, which lie inside of the row together or not at all.
  let packed_start = p.packed_off + row * p.packed_row;
#for j in 0..CHUNKS
  {
    let most = block_most(pack_magnitude(o{{j}}_0), invocation);
    if (live{{j}} && row_live) {
      packed_put(packed_start + pack_word(c{{j}}, p.packed_blocks), pack_bytes(o{{j}}_0, most));
      if ((c{{j}} & 7u) == 0u) {
        packed_put(packed_start + pack_scale_word(c{{j}}, p.packed_blocks), bitcast<u32>(pack_scale(most)));
      }
    }
  }
#endfor
#endif
#endif
#endif
}
