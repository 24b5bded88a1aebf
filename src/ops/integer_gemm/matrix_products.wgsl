// Tiles of Σ (a - a_zero) · (b - b_zero) through subgroup matrices of 8-bit numbers, whose sums have 32 bits and so are exact, and
// what becomes of the sums.
// Tile: SM x SN subgroups make BM x BN results in steps of BK; a subgroup keeps its part as MM x MN matrices. Sums of rows of a and of
// columns of b, which zero points need, are products with ones.
// Workgroup memory: rows of a and columns of b along k, 8 numbers per element and rows padded by one, and strips of sums: at most
// 31 KiB together.
// Assumes: subgroups of SUBGROUP invocations, numbered subgroup by subgroup; kinds.wgsl, and what products.wgsl wants of whoever
// includes it.
#include "integer_gemm/finished.wgsl"
#let THREADS = SM * SN * SUBGROUP
#let WM = BM / SM
#let WN = BN / SN
#let TM = WM / MM
#let TN = WN / MN
#let LD = BK / 8 + 1
#let STRIP_ROW = WN / 4 + 1
#let STRIP = MM * STRIP_ROW
#let LEFT = "subgroup_matrix_left<{{COMPONENT}}, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<{{COMPONENT}}, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<{{SUM}}, {{MN}}, {{MM}}>"
var<workgroup> tile: array<vec2<u32>, {{(BM + BN) * LD}}>;
var<workgroup> strips: array<vec4<{{SUM}}>, {{SM * SN * STRIP}}>;
#if ZEROS
var<workgroup> row_sums: array<vec4<{{SUM}}>, {{SM * SN * WM * MN / 4}}>;
var<workgroup> column_sums: array<vec4<{{SUM}}>, {{SM * SN * STRIP}}>;
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
  let ones_left = {{LEFT}}({{BYTES_UNSIGNED ? "1u" : "1i"}});
  let ones_right = {{RIGHT}}({{BYTES_UNSIGNED ? "1u" : "1i"}});
#for i in 0..TM
  var of_a{{i}} = {{SUMS}}();
#endfor
#for j in 0..TN
  var of_b{{j}} = {{SUMS}}();
#endfor
#endif
  for (var first = 0u; first < p.fours; first += {{BK / 4}}u) {
    workgroupBarrier();
    for (var e = t; e < {{(BM + BN) * BK / 8}}u; e += {{THREADS}}u) {
      let i = e / {{BK / 8}}u;
      let four = first + e % {{BK / 8}}u * 2u;
      var words = vec2<u32>();
      if (i < {{BM}}u) {
        if (row + i < p.m && four < p.fours) { words.x = a_four(row + i, four); }
        if (row + i < p.m && four + 1u < p.fours) { words.y = a_four(row + i, four + 1u); }
      } else {
        let n = column + i - {{BM}}u;
        if (n < p.n && four < p.fours) { words.x = b_four(n, four); }
        if (n < p.n && four + 1u < p.fours) { words.y = b_four(n, four + 1u); }
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
      var v = vec4<i32>(strips[strip + q / {{WN / 4}}u * {{STRIP_ROW}}u + q % {{WN / 4}}u]);
#if ZEROS
      let of_a = i32(row_sums[(sg * {{WM}}u + {{i * MM}}u + q / {{WN / 4}}u) * {{MN / 4}}u].x);
      let of_b = vec4<i32>(column_sums[strip + q % {{WN / 4}}u]);
      var zero_a = {{FLIP_A ? TURNED : "0"}};
      var zero_b = vec4<i32>({{FLIP_B ? TURNED : "0"}});
#if ZERO_A
      zero_a += za_at(p.za_off + (first_channel + m) * p.za_step);
#endif
#if ZERO_B
      for (var e = 0u; e < min(4u, p.n - n); e++) { zero_b[e] += zb_at(p.zb_off + (n + e) * p.zb_step); }
#endif
      v += i32(p.k) * zero_a * zero_b - zero_a * of_b - zero_b * of_a;
#endif
#if VEC
      y_put4(y_place(m, n), vec4<y_t>(finished(v.x, first_channel + m, n), finished(v.y, first_channel + m, n + 1u), finished(v.z, first_channel + m, n + 2u), finished(v.w, first_channel + m, n + 3u)));
#else
      for (var e = 0u; e < min(4u, p.n - n); e++) { y_put(y_place(m, n + e), finished(v[e], first_channel + m, n + e)); }
#endif
    }
  }
#endfor
}
