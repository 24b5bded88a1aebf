// dx = scale * y * (dy - sum(dy * y)) over rows, or with LOG dx = scale * (dy - exp(y) * sum(dy)); the tile is that of
// lib/row_tile.wgsl.
// Phases: "whole" reads, reduces and writes a row at once; "partial" reduces a split of a row to the state scratch;
// "merge" merges the states of a row into one; "apply" merges the states it finds and writes a split of the row.
// A row's state is that sum. Workgroup memory: 4 bytes per subgroup (or per invocation without subgroups).
#include "lib/row_tile.wgsl"

fn row_merge(a: f32, b: f32) -> f32 { return a + b; }
#include "lib/row_reduce.wgsl" with NAME="row" TYPE="f32"

#if PHASE != "merge"
#include "lib/row_operand.wgsl" with NAME="y" KIND=Y_KIND STORE=0
#include "lib/row_operand.wgsl" with NAME="dy" KIND=DY_KIND STORE=0
#if PHASE != "partial"
#include "lib/row_operand.wgsl" with NAME="dx" KIND=DX_KIND STORE=1 NARROW=DX_NARROW
#endif
#endif

#if PHASE == "apply" || PHASE == "merge"
// What lane l of a row adds up of that row's states.
fn states_of(row: u32, l: u32) -> f32 {
  var state = 0.0;
  for (var i = l; i < p.splits_total; i += {{LANES}}u) {
    state += state_at(p.state_off + row * p.splits_total + i);
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
  if (invocation == 0u) { merged_put(p.merged_off + job, state); }
#else
#include "lib/row_place.wgsl"
  let y_start = y_row(row);
  let dy_start = dy_row(row);

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
  let y{{j}} = y_load(y_start, at{{j}});
  let g{{j}} = dy_load(dy_start, at{{j}});
#endfor

#if PHASE == "apply"
  let sum = row_reduce(states_of(row, l), invocation);
#else
  var total = Vec(0.0);
#for j in 0..CHUNKS
#for h in 0..HALVES
  total += {{EXACT ? "" : "select(Vec(0.0), "}}g{{j}}[{{h}}]{{LOG ? "" : " * y" + j + "[" + h + "]"}}{{EXACT ? "" : ", live" + j + ")"}};
#endfor
#endfor
  let sum = row_reduce(vec_sum(total), invocation);
#endif

#if PHASE == "partial"
  if (l == 0u && row_live) { state_put(p.state_off + row * p.splits_total + p.splits_first + split, sum); }
#else
  let dx_start = dx_row(row);
#for j in 0..CHUNKS
#for h in 0..HALVES
#if LOG
  let r{{j}}_{{h}} = p.scale * (g{{j}}[{{h}}] - exp(y{{j}}[{{h}}]) * sum);
#else
  let r{{j}}_{{h}} = p.scale * y{{j}}[{{h}}] * (g{{j}}[{{h}}] - sum);
#endif
#endfor
  dx_store(dx_start, c{{j}}, Chunk(r{{j}}_0{{HALVES == 2 ? ", r" + j + "_1" : ""}}), live{{j}} && row_live, invocation);
#endfor
#endif
#endif
}
