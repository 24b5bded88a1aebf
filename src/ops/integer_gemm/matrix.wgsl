// y = Σ (a - a_zero) · (b - b_zero) through subgroup matrices of 8-bit numbers, whose sums are i32 and so exact.
// Tile: SM x SN subgroups make BM x BN results in steps of BK; a subgroup keeps its part as MM x MN matrices. Sums of rows of a and of
// columns of b, which zero points need, are products with ones. Numbers without a sign are treated as in products.wgsl.
// Workgroup memory: rows of a and columns of b along k, 8 numbers per element and rows padded by one, and strips of sums: at most
// 31 KiB together.
// Assumes: subgroups of SUBGROUP invocations, numbered subgroup by subgroup.
#include "integer_gemm/operands.wgsl"
#let THREADS = SM * SN * SUBGROUP
#let WM = BM / SM
#let WN = BN / SN
#let TM = WM / MM
#let TN = WN / MN
#let LD = BK / 8 + 1
#let STRIP_ROW = WN / 4 + 1
#let STRIP = MM * STRIP_ROW
#let LEFT = "subgroup_matrix_left<i8, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<i8, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<i32, {{MN}}, {{MM}}>"
var<workgroup> tile: array<vec2<u32>, {{(BM + BN) * LD}}>;
var<workgroup> strips: array<vec4<i32>, {{SM * SN * STRIP}}>;
#if ZEROS
var<workgroup> row_sums: array<vec4<i32>, {{SM * SN * WM * MN / 4}}>;
var<workgroup> column_sums: array<vec4<i32>, {{SM * SN * STRIP}}>;
#endif

@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
  let column = (g % p.tiles_n) * {{BN}}u;
  let row = (g / p.tiles_n % p.tiles_m) * {{BM}}u;
  start(g / (p.tiles_n * p.tiles_m));
  let sub_m = sg % {{SM}}u;
  let sub_n = sg / {{SM}}u;
#for i in 0..TM
#for j in 0..TN
  var c{{i}}_{{j}} = {{SUMS}}();
#endfor
#endfor
#if ZEROS
  let ones_left = {{LEFT}}(1i);
  let ones_right = {{RIGHT}}(1i);
#for i in 0..TM
  var of_a{{i}} = {{SUMS}}();
#endfor
#for j in 0..TN
  var of_b{{j}} = {{SUMS}}();
#endfor
#endif
  for (var first = 0u; first < p.k; first += {{BK}}u) {
    workgroupBarrier();
    for (var e = t; e < {{(BM + BN) * BK / 8}}u; e += {{THREADS}}u) {
      let i = e / {{BK / 8}}u;
      let k = first + e % {{BK / 8}}u * 8u;
      var words = vec2<u32>();
      if (i < {{BM}}u) {
        if (row + i < p.m && k < p.k) { words.x = a_four(row + i, k / 4u); }
        if (row + i < p.m && k + 4u < p.k) { words.y = a_four(row + i, k / 4u + 1u); }
      } else {
        let n = column + i - {{BM}}u;
        if (n < p.n && k < p.k) { words.x = b_four(n, k / 4u); }
        if (n < p.n && k + 4u < p.k) { words.y = b_four(n, k / 4u + 1u); }
      }
      tile[i * {{LD}}u + e % {{BK / 8}}u] = words;
    }
    workgroupBarrier();
#for step in 0..BK / MK
#for i in 0..TM
    let a{{step}}_{{i}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&tile, (sub_m * {{WM}}u + {{i * MM}}u) * {{LD}}u + {{step * MK / 8}}u, {{LD}}u);
#if ZEROS
    of_a{{i}} = subgroupMatrixMultiplyAccumulate(a{{step}}_{{i}}, ones_right, of_a{{i}});
#endif
#endfor
#for j in 0..TN
    let b{{step}}_{{j}} = subgroupMatrixLoad<{{RIGHT}}, col_major>(&tile, ({{BM}}u + sub_n * {{WN}}u + {{j * MN}}u) * {{LD}}u + {{step * MK / 8}}u, {{LD}}u);
#if ZEROS
    of_b{{j}} = subgroupMatrixMultiplyAccumulate(ones_left, b{{step}}_{{j}}, of_b{{j}});
#endif
#for i in 0..TM
    c{{i}}_{{j}} = subgroupMatrixMultiplyAccumulate(a{{step}}_{{i}}, b{{step}}_{{j}}, c{{i}}_{{j}});
#endfor
#endfor
#endfor
  }
  let strip = sg * {{STRIP}}u;
#if ZEROS
#for i in 0..TM
  subgroupMatrixStore<row_major>(&row_sums, (sg * {{WM}}u + {{i * MM}}u) * {{MN / 4}}u, of_a{{i}}, {{MN / 4}}u);
#endfor
#for j in 0..TN
  subgroupMatrixStore<row_major>(&column_sums, strip + {{j * MN / 4}}u, of_b{{j}}, {{STRIP_ROW}}u);
#endfor
#endif
#for i in 0..TM
  workgroupBarrier();
#for j in 0..TN
  subgroupMatrixStore<row_major>(&strips, strip + {{j * MN / 4}}u, c{{i}}_{{j}}, {{STRIP_ROW}}u);
#endfor
  workgroupBarrier();
  for (var q = lane; q < {{MM * WN / 4}}u; q += {{SUBGROUP}}u) {
    let m = row + sub_m * {{WM}}u + {{i * MM}}u + q / {{WN / 4}}u;
    let n = column + sub_n * {{WN}}u + q % {{WN / 4}}u * 4u;
    if (m < p.m && n < p.n) {
      var v = strips[strip + q / {{WN / 4}}u * {{STRIP_ROW}}u + q % {{WN / 4}}u];
#if ZEROS
      let of_a = row_sums[(sg * {{WM}}u + {{i * MM}}u + q / {{WN / 4}}u) * {{MN / 4}}u].x;
      let of_b = column_sums[strip + q % {{WN / 4}}u];
      var zero_a = {{UNSIGNED_A ? "-128" : "0"}};
      var zero_b = vec4<i32>({{UNSIGNED_B ? "-128" : "0"}});
#if ZERO_A
      zero_a += za_at(p.za_off + m * p.za_step);
#endif
#if ZERO_B
      for (var e = 0u; e < min(4u, p.n - n); e++) { zero_b[e] += zb_at(p.zb_off + (n + e) * p.zb_step); }
#endif
      v += i32(p.k) * zero_a * zero_b - zero_a * of_b - zero_b * of_a;
#endif
      for (var e = 0u; e < min(4u, p.n - n); e++) { y_put(y_place(m, n + e), v[e]); }
    }
  }
#endfor
}
