// softmax or log_softmax of scale * x over dense rows of 16-bit elements, whatever their length: eight rows are whole vectors
// together, which a workgroup reads and writes as they lie in memory; in between rows are reduced from workgroup memory.
// The smallest float stands in for -infinity where a maximum starts: a row of -infinity keeps it, and its sum is 0.
// Tile: SIZE invocations, LANES for each of ROWS = 8 rows. Workgroup memory: CAPACITY * 16 + 64 bytes, and 8 bytes per subgroup (or per
// invocation without subgroups). Assumes: rows have 8 to CAPACITY elements, tensors start at a multiple of 16 bytes.
#include "lib/row_tile.wgsl"
// Words of a row that a lane has.
#let PAIRS = (CAPACITY / 2 + LANES) / LANES
const lowest = -3.4028234e38;
fn most_merge(a: f32, b: f32) -> f32 { return max(a, b); }
fn sum_merge(a: f32, b: f32) -> f32 { return a + b; }
#include "lib/row_reduce.wgsl" with NAME="most" TYPE="f32"
#include "lib/row_reduce.wgsl" with NAME="sum" TYPE="f32"
var<workgroup> block: array<vec4<u32>, {{CAPACITY}}>;
var<workgroup> found: array<vec2<f32>, {{ROWS}}>;

@compute @workgroup_size({{SIZE}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) invocation: u32) {
  let job = group_index(group, groups);
  if (job >= p.blocks) { return; }
  let first = job * p.length * {{ROWS}}u;
  let count = min(p.length * {{ROWS}}u, p.total - first);
#for j in 0..CHUNKS
  let at{{j}} = (invocation + {{j * SIZE}}u) * 8u;
  let words{{j}} = x_words4((p.x_off + first + min(at{{j}}, (count - 1u) & 0xfffffff8u)) / 2u);
#endfor
#for j in 0..CHUNKS
  if (at{{j}} < count) { block[at{{j}} / 8u] = words{{j}}; }
#endfor
  workgroupBarrier();

  // Words at the ends of a row may have an element of its neighbour. Rows behind the last one have anything and are not written.
  let row = row_of(invocation);
  let start = row * p.length;
  let stop = start + p.length;
  let pair = start / 2u + lane_of(invocation);
  var own = lowest;
#for i in 0..PAIRS
  let e{{i}} = (pair + {{i * LANES}}u) * 2u;
  let w{{i}} = min(e{{i}} / 2u, {{4 * CAPACITY - 1}}u);
  let z{{i}} = select(vec2<f32>(lowest), x_unpack2(block[w{{i}} / 4u][w{{i}} % 4u]) * p.scale,
                    vec2<bool>(e{{i}} >= start && e{{i}} < stop, e{{i}} + 1u < stop));
  own = max(own, max(z{{i}}.x, z{{i}}.y));
#endfor
  let most = most_reduce(own, invocation);
  var part = vec2<f32>();
#for i in 0..PAIRS
  part += select(vec2<f32>(), exp(z{{i}} - most), vec2<bool>(e{{i}} >= start && e{{i}} < stop, e{{i}} + 1u < stop));
#endfor
  let sum = sum_reduce(part.x + part.y, invocation);
  if (lane_of(invocation) == 0u) {
#if LOG
    found[row] = vec2<f32>(most, select(log(sum), 0.0, sum == 0.0));
#else
    found[row] = vec2<f32>(most, select(1.0 / sum, 0.0, sum == 0.0));
#endif
  }
  workgroupBarrier();

#for j in 0..CHUNKS
  if (at{{j}} < count) {
    // A vector has elements of one row or of two.
    let upper = at{{j}} / p.length;
    let border = (upper + 1u) * p.length - at{{j}};
    let here = found[upper];
    let next = found[min(upper + 1u, {{ROWS - 1}}u)];
#for h in 0..2
    let logit{{h}} = vec4<f32>(x_unpack2(words{{j}}[{{2 * h}}]), x_unpack2(words{{j}}[{{2 * h + 1}}])) * p.scale;
    let past{{h}} = vec4<u32>({{4 * h}}u, {{4 * h + 1}}u, {{4 * h + 2}}u, {{4 * h + 3}}u) >= vec4<u32>(border);
    let most{{h}} = select(vec4<f32>(here.x), vec4<f32>(next.x), past{{h}});
    let last{{h}} = select(vec4<f32>(here.y), vec4<f32>(next.y), past{{h}});
    let r{{h}} = {{LOG ? "(logit" + h + " - most" + h + ") - last" + h : "exp(logit" + h + " - most" + h + ") * last" + h}};
#endfor
    let to = p.y_off + first + at{{j}};
    if (at{{j}} + 8u <= count) {
      y_put8(to, r0, r1);
    } else {
      for (var e = 0u; e < count - at{{j}}; e++) { y_put(to + e, select(r1[e & 3u], r0[e & 3u], e < 4u)); }
    }
  }
#endfor
}
