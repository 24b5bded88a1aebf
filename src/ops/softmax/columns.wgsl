// softmax or log_softmax of z = scale * x along columns: four neighbouring columns at a time, so that rows of 16-bit elements are
// read and written by whole words. A column's state is its largest logit and the sum of exp(z - largest).
// Phases: "whole" keeps the columns in registers; "partial" reduces a split of them to the state scratch, [splits, batches *
// columns, 2] in planes of four; "apply" merges the states and writes its split.
// Tile: ACROSS times DOWN invocations, each with four columns and DEPTH rows that lie DOWN apart, p.rounds times over. Workgroup
// memory: 16 bytes per invocation. Assumes: rows of x and y start at multiples of four elements and have such lengths.
// The smallest float stands in for -infinity where a maximum starts (see softmax.wgsl).
const lowest = vec4<f32>(-3.4028234e38);
var<workgroup> shared_values: array<vec4<f32>, {{ACROSS * DOWN}}>;

// What the invocations above one another have, joined; each of them gets it.
#for sum in 0..2
#let NAME = sum ? "sum" : "max"
fn {{NAME}}_down(own: vec4<f32>, lane: u32) -> vec4<f32> {
#if DOWN == 1
  return own;
#else
  var v = own;
  workgroupBarrier();
  shared_values[lane] = v;
  for (var step = {{DOWN * ACROSS / 2}}u; step >= {{ACROSS}}u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) {
      v = {{sum ? "v + shared_values[lane + step]" : "max(v, shared_values[lane + step])"}};
      shared_values[lane] = v;
    }
  }
  workgroupBarrier();
  return shared_values[lane % {{ACROSS}}u];
#endif
}
#endfor

@compute @workgroup_size({{ACROSS * DOWN}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.groups) { return; }
  let strip = job % p.strips;
  let split = (job / p.strips) % p.splits;
  let batch = job / (p.strips * p.splits);
  let wanted = strip * {{ACROSS}}u + lane % {{ACROSS}}u;
  let live = wanted < p.quads;
  let quad = min(wanted, p.quads - 1u);
  let x_start = p.x_off + batch * p.x_batch + quad * 4u;
  let first = split * p.rounds * {{DOWN * DEPTH}}u + lane / {{ACROSS}}u;
#if PHASE != "whole"
  let state_at_ = p.state_off + (batch * p.quads + quad) * 8u;
  let state_step = p.batches * p.quads * 8u;
#endif

  var most = lowest;
  var sum = vec4<f32>(0.0);
#if PHASE == "apply"
  for (var i = lane / {{ACROSS}}u; i < p.splits; i += {{DOWN}}u) {
    let at = state_at_ + i * state_step;
    let m = state_at4(at);
    let new_most = max(most, m);
    sum = sum * exp(most - new_most) + state_at4(at + 4u) * exp(m - new_most);
    most = new_most;
  }
  let top = max_down(most, lane);
  let total = sum_down(sum * exp(most - top), lane);
#endif

#if PHASE != "whole"
  for (var round = 0u; round < p.rounds; round++) {
    let start = first + round * {{DOWN * DEPTH}}u;
#else
  {
    let start = first;
#endif
#for j in 0..DEPTH
    let i{{j}} = start + {{j * DOWN}}u;
    let z{{j}} = x_at4(x_start + {{EXACT ? "i" + j : "min(i" + j + ", p.length - 1u)"}} * p.x_step) * p.scale;
#endfor
#if PHASE != "apply"
    var block = lowest;
#for j in 0..DEPTH
    block = {{EXACT ? "max(block, z" + j + ")" : "select(block, max(block, z" + j + "), i" + j + " < p.length)"}};
#endfor
#if PHASE == "partial"
    block = max(block, most);
    sum *= exp(most - block);
#endif
#for j in 0..DEPTH
    let e{{j}} = {{EXACT ? "exp(z" + j + " - block)" : "select(vec4<f32>(0.0), exp(z" + j + " - block), i" + j + " < p.length)"}};
    sum += e{{j}};
#endfor
    most = block;
#endif
#if PHASE == "whole"
    let top = max_down(most, lane);
    let factor = exp(most - top);
    let total = sum_down(sum * factor, lane);
#endif
#if PHASE != "partial"
#if LOG
    // With the sum 0 every logit is -infinity, and so is its logarithm.
    let away = select(log(total), vec4<f32>(0.0), total == vec4<f32>(0.0));
#else
    let share = select(1.0 / total, vec4<f32>(0.0), total == vec4<f32>(0.0));
#endif
    let y_start = p.y_off + batch * p.y_batch + quad * 4u;
#for j in 0..DEPTH
    if (live{{EXACT ? "" : " && i" + j + " < p.length"}}) {
      y_put4(y_start + i{{j}} * p.y_step, {{LOG ? "(z" + j + " - top) - away" : PHASE == "whole" ? "e" + j + " * (factor * share)" : "exp(z" + j + " - top) * share"}});
    }
#endfor
#endif
  }

#if PHASE == "partial"
  let top = max_down(most, lane);
  let total = sum_down(sum * exp(most - top), lane);
  if (live && lane < {{ACROSS}}u) {
    state_put4(state_at_ + split * state_step, top);
    state_put4(state_at_ + split * state_step + 4u, total);
  }
#endif
}
