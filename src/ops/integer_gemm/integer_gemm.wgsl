// y = Σ (a - a_zero) · (b - b_zero), with four products per instruction.
// Tile: WORKGROUP invocations, WORKGROUP / 4 x 64 results, 4 x 4 each; 64 steps of K at a time. Workgroup memory: at most 8.5 KiB.
// Numbers without a sign are made numbers with one by turning their highest bit (less 128), and so are their zero points. The
// zero points come in at the end: Σab - a_zero Σb - b_zero Σa + K a_zero b_zero.
#let TILE = 64
#let TALL = WORKGROUP / 4
#let NEXT = WORKGROUP / 16
#let WORDS = 16
#let PITCH = 17
var<workgroup> tile_a: array<u32, {{TALL * PITCH}}>;
var<workgroup> tile_b: array<u32, {{TILE * PITCH}}>;

#for which in 0..2
#let S = which == 0 ? "a" : "b"
// Four neighbours along K of a row of a (or a column of b), as numbers with a sign; 0 past the end.
fn {{S}}_four(at: u32, k: u32) -> u32 {
#if (which == 0 ? WORDS_A : WORDS_B)
  let word = {{S}}_word((at + k) / 4u) ^ {{(which == 0 ? UNSIGNED_A : UNSIGNED_B) ? "0x80808080u" : "0u"}};
  return word & (0xffffffffu >> (32u - 8u * min(p.k - k, 4u)));
#else
  var word = 0u;
  for (var i = 0u; i < min(p.k - k, 4u); i++) {
    let byte = (u32({{S}}_at(at + (k + i) * p.{{S}}_k)) & 0xffu) ^ {{(which == 0 ? UNSIGNED_A : UNSIGNED_B) ? "0x80u" : "0u"}};
    word |= byte << (8u * i);
  }
  return word;
#endif
}
#endfor

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
  let column = (g % p.tiles_n) * {{TILE}}u;
  let row = (g / p.tiles_n % p.tiles_m) * {{TALL}}u;
  var rest = g / (p.tiles_n * p.tiles_m);
  var a = p.a_off;
  var b = p.b_off;
  var y = p.y_off;
#for back in 0..RANK
#let d = RANK - 1 - back
  {
    let at = rest % p.batch_{{d}};
    rest /= p.batch_{{d}};
    a += at * p.a_{{d}};
    b += at * p.b_{{d}};
    y += at * p.y_{{d}};
  }
#endfor
  let mine_n = lane % 16u;
  let mine_m = lane / 16u;
#for i in 0..4
#for j in 0..4
  var sum_{{i}}_{{j}} = 0;
#endfor
  var of_a{{i}} = 0;
  var of_b{{i}} = 0;
#endfor
  for (var first = 0u; first < p.k; first += {{4 * WORDS}}u) {
    workgroupBarrier();
    for (var e = lane; e < {{TILE * WORDS}}u; e += {{WORKGROUP}}u) {
      let i = e / {{WORDS}}u;
      let k = first + (e % {{WORDS}}u) * 4u;
      let to = i * {{PITCH}}u + e % {{WORDS}}u;
      var word_a = 0u;
      var word_b = 0u;
      if (k < p.k) {
        if (i < {{TALL}}u && row + i < p.m) { word_a = a_four(a + (row + i) * p.a_row, k); }
        if (column + i < p.n) { word_b = b_four(b + (column + i) * p.b_column, k); }
      }
      if (i < {{TALL}}u) { tile_a[to] = word_a; }
      tile_b[to] = word_b;
    }
    workgroupBarrier();
    for (var w = 0u; w < {{WORDS}}u; w++) {
#for i in 0..4
      let a{{i}} = tile_a[(mine_m + {{NEXT * i}}u) * {{PITCH}}u + w];
      let b{{i}} = tile_b[(mine_n + {{16 * i}}u) * {{PITCH}}u + w];
#endfor
#for i in 0..4
#for j in 0..4
      sum_{{i}}_{{j}} += dot4I8Packed(a{{i}}, b{{j}});
#endfor
#if ZEROS
      of_a{{i}} += dot4I8Packed(a{{i}}, 0x01010101u);
      of_b{{i}} += dot4I8Packed(b{{i}}, 0x01010101u);
#endif
#endfor
    }
  }
#if ZEROS
#for i in 0..4
  var zero_a{{i}} = {{UNSIGNED_A ? "-128" : "0"}};
  var zero_b{{i}} = {{UNSIGNED_B ? "-128" : "0"}};
#if ZERO_A
  if (row + mine_m + {{NEXT * i}}u < p.m) { zero_a{{i}} += za_at(p.za_off + (row + mine_m + {{NEXT * i}}u) * p.za_step); }
#endif
#if ZERO_B
  if (column + mine_n + {{16 * i}}u < p.n) { zero_b{{i}} += zb_at(p.zb_off + (column + mine_n + {{16 * i}}u) * p.zb_step); }
#endif
#endfor
#endif
#for i in 0..4
#for j in 0..4
  if (row + mine_m + {{NEXT * i}}u < p.m && column + mine_n + {{16 * j}}u < p.n) {
#if ZEROS
    let whole = sum_{{i}}_{{j}} - zero_a{{i}} * of_b{{j}} - zero_b{{j}} * of_a{{i}} + i32(p.k) * zero_a{{i}} * zero_b{{j}};
#else
    let whole = sum_{{i}}_{{j}};
#endif
    y_put(y + (row + mine_m + {{NEXT * i}}u) * p.y_row + (column + mine_n + {{16 * j}}u) * p.y_column, whole);
  }
#endfor
#endfor
}
