// Tiles of Σ (a - a_zero) · (b - b_zero), with four products per instruction, and what becomes of the sums.
// Tile: WORKGROUP invocations, WORKGROUP / 4 x 64 results, 4 x 4 each; 64 steps of K at a time. Workgroup memory: at most 8.5 KiB.
// FEW rows, as many as a quarter of a tile has: WORKGROUP / 16 x 64 results, 1 x 4 each.
// Numbers without a sign are made numbers with one by turning their highest bit (less 128), and so are their zero points. The
// zero points come in at the end: Σab - a_zero Σb - b_zero Σa + K a_zero b_zero.
// Whoever includes this says where the numbers of a batch begin (start, which sets first_channel), what they are, four at a time
// (a_four, b_four: 0 past the end of a row), and where results go (y_place).
#let TILE = 64
#let ROWS = FEW ? 1 : 4
#let NEXT = WORKGROUP / 16
#let TALL = NEXT * ROWS
#let WORDS = 16
#let PITCH = 17
var<workgroup> tile_a: array<u32, {{TALL * PITCH}}>;
var<workgroup> tile_b: array<u32, {{TILE * PITCH}}>;

#include "integer_gemm/finished.wgsl"

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
  let column = (g % p.tiles_n) * {{TILE}}u;
  let row = (g / p.tiles_n % p.tiles_m) * {{TALL}}u;
  start(g / (p.tiles_n * p.tiles_m));
  let mine_n = lane % 16u;
  let mine_m = lane / 16u;
#for i in 0..ROWS
#for j in 0..4
  var sum_{{i}}_{{j}} = 0;
#endfor
  var of_a{{i}} = 0;
#endfor
#for j in 0..4
  var of_b{{j}} = 0;
#endfor
  for (var first = 0u; first < p.fours; first += {{WORDS}}u) {
    workgroupBarrier();
    for (var e = lane; e < {{TALL * WORDS}}u; e += {{WORKGROUP}}u) {
      let i = e / {{WORDS}}u;
      let w = e % {{WORDS}}u;
      var word = 0u;
      if (first + w < p.fours && row + i < p.m) { word = a_four(row + i, first + w); }
      tile_a[i * {{PITCH}}u + w] = word;
    }
    for (var e = lane; e < {{TILE * WORDS}}u; e += {{WORKGROUP}}u) {
#if ACROSS
      let i = e % {{TILE}}u;
      let w = e / {{TILE}}u;
#else
      let i = e / {{WORDS}}u;
      let w = e % {{WORDS}}u;
#endif
      var word = 0u;
      if (first + w < p.fours && column + i < p.n) { word = b_four(column + i, first + w); }
      // Four neighbouring columns belong to one invocation, which reads each of them among those of its neighbours.
      tile_b[((i % 4u) * 16u + i / 4u) * {{PITCH}}u + w] = word;
    }
    workgroupBarrier();
    for (var w = 0u; w < {{WORDS}}u; w++) {
#for i in 0..ROWS
      let a{{i}} = tile_a[(mine_m + {{NEXT * i}}u) * {{PITCH}}u + w];
#endfor
#for j in 0..4
      let b{{j}} = tile_b[(mine_n + {{16 * j}}u) * {{PITCH}}u + w];
#for i in 0..ROWS
      sum_{{i}}_{{j}} += dot4I8Packed(a{{i}}, b{{j}});
#endfor
#if ZEROS
      of_b{{j}} += dot4I8Packed(b{{j}}, 0x01010101u);
#endif
#endfor
#if ZEROS
#for i in 0..ROWS
      of_a{{i}} += dot4I8Packed(a{{i}}, 0x01010101u);
#endfor
#endif
    }
  }
  let mine = column + 4u * mine_n;
#if ZEROS
#for i in 0..ROWS
  var zero_a{{i}} = {{UNSIGNED_A ? "-128" : "0"}};
#if ZERO_A
  if (row + mine_m + {{NEXT * i}}u < p.m) { zero_a{{i}} += za_at(p.za_off + (first_channel + row + mine_m + {{NEXT * i}}u) * p.za_step); }
#endif
#endfor
#for j in 0..4
  var zero_b{{j}} = {{UNSIGNED_B ? "-128" : "0"}};
#if ZERO_B
  if (mine + {{j}}u < p.n) { zero_b{{j}} += zb_at(p.zb_off + (mine + {{j}}u) * p.zb_step); }
#endif
#endfor
#endif
#for i in 0..ROWS
  {
    let r = row + mine_m + {{NEXT * i}}u;
#for j in 0..4
#if ZEROS
    let all{{j}} = sum_{{i}}_{{j}} - zero_a{{i}} * of_b{{j}} - zero_b{{j}} * of_a{{i}} + i32(p.k) * zero_a{{i}} * zero_b{{j}};
#else
    let all{{j}} = sum_{{i}}_{{j}};
#endif
#endfor
#if VEC
    if (r < p.m && mine < p.n) {
      y_put4(y_place(r, mine), vec4<y_t>(finished(all0, first_channel + r, mine), finished(all1, first_channel + r, mine + 1u),
                                         finished(all2, first_channel + r, mine + 2u), finished(all3, first_channel + r, mine + 3u)));
    }
#else
#for j in 0..4
    if (r < p.m && mine + {{j}}u < p.n) {
      y_put(y_place(r, mine + {{j}}u), finished(all{{j}}, first_channel + r, mine + {{j}}u));
    }
#endfor
#endif
  }
#endfor
}
