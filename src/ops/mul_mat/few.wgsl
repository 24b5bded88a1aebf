// Weights of any type times 9 to 64 columns of x in f16, through subgroup matrices: part[s, c, r] = Σ x[c, k] w[r, k] over part s of k, f32.
// Bound by reading and decoding the weights, which are read once and decoded to f16 in workgroup memory, never in memory.
// Tile: SUBGROUP_COUNT subgroups, BM rows of weights, all of BN columns, BK elements at a time; a subgroup has BM / SUBGROUP_COUNT rows. Elements
// of k stand in the order of the decoder's pieces (two runs of 8 that lie a gap apart), for weights and x alike.
// Workgroup memory: a tile of weights and one of x, 8 halves per element, rows padded by one; later the sums. With AHEAD the next
// weights are decoded into registers while these are multiplied.
// Assumes: subgroups of SUBGROUP invocations, numbered subgroup by subgroup; k is a multiple of 16, x has contiguous aligned rows.
#include "lib/quant/run.wgsl"
#include "lib/quant/decode.wgsl" with NAME="w"
#let THREADS = SUBGROUP_COUNT * SUBGROUP
#let PIECES = BK / 16
#let LD = BK / 8 + 1
#let WM = BM / SUBGROUP_COUNT
#let TM = WM / MM
#let TN = BN / MN
#let W_LOADS = BM * PIECES / THREADS
#let X_LOADS = (BN * BK / 8 + THREADS - 1) / THREADS
#let OUT_ROW = WM / 4 + 1
#let LEFT = "subgroup_matrix_left<f16, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<f16, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
var<workgroup> tile: array<vec4<u32>, {{max((BM + BN) * LD, SUBGROUP_COUNT * BN * OUT_ROW)}}>;

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

@compute @workgroup_size({{THREADS}})
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
  let w_at{{i}} = (t + {{i * THREADS}}u) / {{PIECES}}u * {{LD}}u + (t + {{i * THREADS}}u) % {{PIECES}}u * 2u;
  var w{{i}} = Halves();
#endfor
  let own_piece = t % {{PIECES}}u;
#for j in 0..TN
#for i in 0..TM
  var c{{i}}_{{j}} = {{SUMS}}();
#endfor
#endfor
#if AHEAD
#include "mul_mat/few_fetch.wgsl" with FIRST="begin"
#endif
  for (var first = begin; first < end; first += {{PIECES}}u) {
#if !AHEAD
#include "mul_mat/few_fetch.wgsl" with FIRST="first"
#endif
#for i in 0..X_LOADS
    let n{{i}} = t + {{i * THREADS}}u;
    let x_number{{i}} = first + n{{i}} % {{BK / 8}}u / 2u;
    let x_piece{{i}} = min(x_number{{i}}, end - 1u);
    let x_block{{i}} = x_piece{{i}} / w_pieces;
    let k{{i}} = x_block{{i}} * w_block + w_first(x_piece{{i}} - x_block{{i}} * w_pieces) + n{{i}} % 2u * w_gap;
    let x{{i}} = x_words4((p.x_off + min(n{{i}} / {{BK / 8}}u, p.n - 1u) * p.x_column + k{{i}}) / 2u);
#endfor
    workgroupBarrier();
#for i in 0..W_LOADS
    tile[w_at{{i}}] = w{{i}}.a;
    tile[w_at{{i}} + 1u] = w{{i}}.b;
#endfor
#for i in 0..X_LOADS
    {{(i + 1) * THREADS > BN * BK / 8 ? "if (n" + i + " < " + BN * BK / 8 + "u) " : ""}}{ tile[{{BM * LD}}u + n{{i}} / {{BK / 8}}u * {{LD}}u + n{{i}} % {{BK / 8}}u] = select(vec4<u32>(), x{{i}}, x_number{{i}} < end); }
#endfor
    workgroupBarrier();
#if AHEAD
    if (first + {{PIECES}}u < end) {
#include "mul_mat/few_fetch.wgsl" with FIRST="first + {{PIECES}}u"
    }
#endif
#for step in 0..BK / MK
#for i in 0..TM
    let a{{step}}_{{i}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&tile, (sg * {{WM}}u + {{i * MM}}u) * {{LD}}u + {{step * MK / 8}}u, {{LD}}u);
#endfor
#for j in 0..TN
    let b{{step}}_{{j}} = subgroupMatrixLoad<{{RIGHT}}, col_major>(&tile, {{BM * LD + j * MN * LD + step * MK / 8}}u, {{LD}}u);
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
