// Reduces rows of logits to states: (m, s, t, d) are the largest logit, the sum of exp(x - m), the sum of the target
// probabilities and that of probability * x. Launches for later columns of the same rows merge with what is there.
// Tile: a workgroup of 256 per row; 4 blocks of BLOCK elements in flight per invocation. Blocks are aligned to 16 bytes
// wherever the row starts; elements outside of the row are masked out. With BLOCK 1 elements may lie x_inner apart.
// Workgroup memory: 16 bytes per subgroup (or 4 KiB without subgroups).
#let SIZE = WORKGROUP
#let LANES = WORKGROUP
#let ACROSS = 0
#let CHUNK = 4
#include "lib/row_tile.wgsl"
const lowest = -3.4028234e38;

fn row_merge(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  let shrink = exp(-abs(a.x - b.x));
  return vec4<f32>(max(a.x, b.x), select(a.y * shrink + b.y, a.y + b.y * shrink, a.x >= b.x), a.zw + b.zw);
}
#include "lib/row_reduce.wgsl" with NAME="row" TYPE="vec4<f32>"

#if BLOCK > 1
// Elements of the block at i that lie in [first, last), others as the lowest float.
fn masked(v: vec4<f32>, i: u32, first: u32, last: u32) -> vec4<f32> {
  let at = vec4<u32>(i) + vec4<u32>(0u, 1u, 2u, 3u);
  return select(vec4<f32>(lowest), v, (at >= vec4<u32>(first)) & (at < vec4<u32>(last)));
}
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row = group_index(group, groups);
  if (row >= p.rows) { return; }
  let first = p.x_off + row * p.x_row;
  var most = lowest;
  var sum = 0.0;
  var targets = vec2<f32>(0.0);
#if BLOCK > 1
  let last = first + p.columns;
  let blocks = (last + {{BLOCK - 1}}u) / {{BLOCK}}u;
  for (var b = first / {{BLOCK}}u + lane; b < blocks; b += {{4 * WORKGROUP}}u) {
#for k in 0..4
    let b{{k}} = b + {{k * WORKGROUP}}u;
    let at{{k}} = min(b{{k}}, blocks - 1u) * {{BLOCK}}u;
#if BLOCK == 8
    let both{{k}} = x_at8(at{{k}});
#let HALF = 2
#else
    let both{{k}} = array<vec4<f32>, 1>(x_at4(at{{k}}));
#let HALF = 1
#endif
#endfor
    var top = vec4<f32>(lowest);
#for k in 0..4
    // Behind the last block everything is masked out.
    let end{{k}} = select(first, last, b{{k}} < blocks);
#for h in 0..HALF
    let v{{k}}_{{h}} = masked(both{{k}}[{{h}}], at{{k}} + {{h * 4}}u, first, end{{k}});
    top = max(top, v{{k}}_{{h}});
#endfor
#endfor
    let higher = max(most, max(max(top.x, top.y), max(top.z, top.w)));
    var parts = vec4<f32>(0.0);
#for k in 0..4
#for h in 0..HALF
    // Masked elements are so low that their exp is 0, unless nothing else was seen yet.
    parts += select(exp(v{{k}}_{{h}} - higher), vec4<f32>(0.0), v{{k}}_{{h}} == vec4<f32>(lowest));
#endfor
#endfor
    sum = sum * exp(most - higher) + (parts.x + parts.y) + (parts.z + parts.w);
    most = higher;
  }
#else
  for (var i = lane; i < p.columns; i += {{WORKGROUP}}u) {
    let v = x_at(first + i * p.x_inner);
    let higher = max(most, v);
    sum = sum * exp(most - higher) + select(exp(v - higher), 0.0, v < lowest);
    most = higher;
#if PROBABILITIES
    let t = t_at(p.t_off + row * p.t_row + i * p.t_inner);
    // 0 * -infinity would be NaN: what is impossible and has no logit costs nothing.
    targets += vec2<f32>(t, select(t * v, 0.0, t == 0.0));
#endif
  }
#endif
#if !PROBABILITIES
  if (lane == 0u) {
    let right = classes_at(p.classes_off + row);
    let column = bitcast<u32>(right) - p.first_column;
    // The unsigned difference is large for columns before the first, too.
    if (right >= 0i && column < p.columns && !(p.has_ignored != 0u && right == p.ignored)) {
      targets = vec2<f32>(1.0, x_at(first + column * p.x_inner));
    }
    // There is no such class: NaN, so that the mistake is seen. (As a variable, because WGSL has no constant for it.)
    var nan_bits = 0x7fc00000u;
    let counts = p.has_ignored == 0u || right != p.ignored;
    if (p.first_column == 0u && right >= 0i && bitcast<u32>(right) >= p.all_columns && counts) {
      targets = vec2<f32>(1.0, bitcast<f32>(nan_bits));
    }
  }
#endif
  var state = row_reduce(vec4<f32>(most, sum, targets), lane);
  if (lane == 0u) {
    let at = p.state_off + row * 4u;
    if (p.first_column > 0u) {
      state = row_merge(vec4<f32>(state_at(at), state_at(at + 1u), state_at(at + 2u), state_at(at + 3u)), state);
    }
#for k in 0..4
    state_put(at + {{k}}u, state[{{k}}]);
#endfor
  }
}
