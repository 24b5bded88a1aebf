// Weights of any type times 9 to 64 columns of x in f16, through subgroup matrices of f16 or of f32 (COMPONENT): part[s, c, r] = Σ x[c, k] w[r, k] over part s of k, f32.
// Bound by reading and decoding the weights, which are read once and decoded to COMPONENT in workgroup memory, never in memory.
// Tile: SUBGROUP_COUNT subgroups, BM rows of weights, all of BN columns, BK elements at a time; a subgroup has BM / SUBGROUP_COUNT rows. Elements
// of k stand in the order of the decoder's pieces (two runs of 8 that lie a gap apart), for weights and x alike.
// Workgroup memory: a tile of weights and one of x, 8 halves or 4 floats (PER) per element, rows padded by one; later the sums. With AHEAD the next
// weights are decoded into registers while these are multiplied, and the next x is on its way.
// Assumes: subgroups of SUBGROUP invocations, numbered subgroup by subgroup; k is a multiple of 16, x has contiguous aligned rows.
#include "lib/quant/run.wgsl"
#include "lib/quant/decode.wgsl" with NAME="w"
#let THREADS = SUBGROUP_COUNT * SUBGROUP
#let PIECES = BK / 16
#let PER = COMPONENT == "f32" ? 4 : 8
#let LD = BK / PER + 1
#let WM = BM / SUBGROUP_COUNT
#let TM = WM / MM
#let TN = BN / MN
#let W_LOADS = BM * PIECES / THREADS
#let X_LOADS = (BN * BK / 8 + THREADS - 1) / THREADS
#let OUT_ROW = WM / 4 + 1
#let LEFT = "subgroup_matrix_left<{{COMPONENT}}, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<{{COMPONENT}}, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
var<workgroup> tile: array<vec4<u32>, {{max((BM + BN) * LD, SUBGROUP_COUNT * BN * OUT_ROW)}}>;

#if PER == 4
fn unpacked(v: vec4<u32>) -> array<vec4<u32>, 2> {
  return array<vec4<u32>, 2>(bitcast<vec4<u32>>(vec4<f32>(unpack2x16float(v.x), unpack2x16float(v.y))),
                             bitcast<vec4<u32>>(vec4<f32>(unpack2x16float(v.z), unpack2x16float(v.w))));
}
fn as_words(v: array<vec4<f32>, 2>) -> array<vec4<u32>, 2> {
  return array<vec4<u32>, 2>(bitcast<vec4<u32>>(v[0]), bitcast<vec4<u32>>(v[1]));
}

// The two runs of a piece as f32.
struct Halves {
  a: array<vec4<u32>, 2>,
  b: array<vec4<u32>, 2>,
}
fn halves_at(row: u32, number: u32) -> Halves {
#if QTYPE == "f16"
  return Halves(unpacked(w_words4(row / 4u + number * 8u)), unpacked(w_words4(row / 4u + number * 8u + 4u)));
#else
  let v = w_piece(row + number / w_pieces * w_block_bytes, number % w_pieces);
  return Halves(as_words(run_value(v.a)), as_words(run_value(v.b)));
#endif
}
#else
fn rounded(v: array<vec4<f32>, 2>) -> vec4<u32> {
  return vec4<u32>(bitcast<u32>(vec2<f16>(v[0].xy)), bitcast<u32>(vec2<f16>(v[0].zw)), bitcast<u32>(vec2<f16>(v[1].xy)), bitcast<u32>(vec2<f16>(v[1].zw)));
}

// The two runs of a piece as f16.
struct Halves {
  a: vec4<u32>,
  b: vec4<u32>,
}
fn halves_at(row: u32, number: u32) -> Halves {
#if QTYPE == "f16"
  return Halves(w_words4(row / 4u + number * 8u), w_words4(row / 4u + number * 8u + 4u));
#else
  let v = w_piece(row + number / w_pieces * w_block_bytes, number % w_pieces);
  return Halves(rounded(run_value(v.a)), rounded(run_value(v.b)));
#endif
}
#endif

@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let split = job % p.splits;
  let m0 = job / p.splits * {{BM}}u;
  let begin = split * p.split_pieces;
  let end = min(p.pieces, begin + p.split_pieces);
#for i in 0..W_LOADS
  let w_row{{i}} = p.w_off * w_unit + min(m0 + (t + {{i * THREADS}}u) / {{PIECES}}u, p.m - 1u) * p.w_row;
  let w_at{{i}} = (t + {{i * THREADS}}u) / {{PIECES}}u * {{LD}}u + (t + {{i * THREADS}}u) % {{PIECES}}u * {{16 / PER}}u;
  var w{{i}} = Halves();
#endfor
  let own_piece = t % {{PIECES}}u;
#for i in 0..X_LOADS
  let n{{i}} = t + {{i * THREADS}}u;
  let x_at{{i}} = p.x_off + min(n{{i}} / {{BK / 8}}u, p.n - 1u) * p.x_column + n{{i}} % 2u * w_gap;
  var x{{i}} = vec4<u32>();
#endfor
#for j in 0..TN
#for i in 0..TM
  var c{{i}}_{{j}} = {{SUMS}}();
#endfor
#endfor
#if AHEAD
#include "mul_mat/few_fetch.wgsl" with FIRST="begin"
#include "mul_mat/few_fetch_x.wgsl" with FIRST="begin"
#endif
  for (var first = begin; first < end; first += {{PIECES}}u) {
#if !AHEAD
#include "mul_mat/few_fetch.wgsl" with FIRST="first"
#include "mul_mat/few_fetch_x.wgsl" with FIRST="first"
#endif
    workgroupBarrier();
#for i in 0..W_LOADS
#if PER == 4
    tile[w_at{{i}}] = w{{i}}.a[0];
    tile[w_at{{i}} + 1u] = w{{i}}.a[1];
    tile[w_at{{i}} + 2u] = w{{i}}.b[0];
    tile[w_at{{i}} + 3u] = w{{i}}.b[1];
#else
    tile[w_at{{i}}] = w{{i}}.a;
    tile[w_at{{i}} + 1u] = w{{i}}.b;
#endif
#endfor
#for i in 0..X_LOADS
#let IF = (i + 1) * THREADS > BN * BK / 8 ? "if (n" + i + " < " + BN * BK / 8 + "u) " : ""
#if PER == 4
    {{IF}}{
      let at = {{BM * LD}}u + n{{i}} / {{BK / 8}}u * {{LD}}u + n{{i}} % {{BK / 8}}u * 2u;
      let v = unpacked(x{{i}});
      tile[at] = v[0];
      tile[at + 1u] = v[1];
    }
#else
    {{IF}}{ tile[{{BM * LD}}u + n{{i}} / {{BK / 8}}u * {{LD}}u + n{{i}} % {{BK / 8}}u] = x{{i}}; }
#endif
#endfor
    workgroupBarrier();
#if AHEAD
    if (first + {{PIECES}}u < end) {
#include "mul_mat/few_fetch.wgsl" with FIRST="first + {{PIECES}}u"
#include "mul_mat/few_fetch_x.wgsl" with FIRST="first + {{PIECES}}u"
    }
#endif
#for step in 0..BK / MK
#for i in 0..TM
    let a{{step}}_{{i}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&tile, (sg * {{WM}}u + {{i * MM}}u) * {{LD}}u + {{step * MK / PER}}u, {{LD}}u);
#endfor
#for j in 0..TN
    let b{{step}}_{{j}} = subgroupMatrixLoad<{{RIGHT}}, col_major>(&tile, {{BM * LD + j * MN * LD + step * MK / PER}}u, {{LD}}u);
#for i in 0..TM
    c{{i}}_{{j}} = subgroupMatrixMultiplyAccumulate(a{{step}}_{{i}}, b{{step}}_{{j}}, c{{i}}_{{j}});
#endfor
#endfor
#endfor
  }
  workgroupBarrier();
  let out = sg * {{BN * OUT_ROW}}u;
#for i in 0..TM
#for j in 0..TN
  subgroupMatrixStore<col_major>(&tile, out + {{j * MN * OUT_ROW + i * MM / 4}}u, c{{i}}_{{j}}, {{OUT_ROW}}u);
#endfor
#endfor
  workgroupBarrier();
  for (var q = lane; q < {{BN * WM / 4}}u; q += {{SUBGROUP}}u) {
    let c = q / {{WM / 4}}u;
    let r = m0 + sg * {{WM}}u + q % {{WM / 4}}u * 4u;
    if (c < p.n && r < p.m) {
      let v = bitcast<vec4<f32>>(tile[out + c * {{OUT_ROW}}u + q % {{WM / 4}}u]);
      let at = p.part_off + (split * p.n + c) * p.m + r;
#if M_VEC
      part_put4(at, v);
#else
      for (var e = 0u; e < min(4u, p.m - r); e++) { part_put(at + e, v[e]); }
#endif
    }
  }
}
