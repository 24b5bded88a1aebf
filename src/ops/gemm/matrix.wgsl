// C = A·B through subgroup matrices: f16 or f32 operands (COMPONENT), f32 sums. A workgroup of SM x SN subgroups computes a BM x BN tile
// of C in steps of BK; a subgroup keeps its part as MM x MN matrices in registers. Every loop over matrices is written
// out: arrays of matrices indexed by WGSL loops were measured 7 times slower.
// With SHORT_SUMS matrices add up BK terms in f16, at most 32 of a size that cannot overflow; each such sum is added in f32 by
// invocations, which read it from a strip of workgroup memory.
// Workgroup memory: a tile of a and one of b, PER = 8 halves or 4 floats per element, rows padded by one element; a row runs along k or
// across it just as the operand does in memory, so tiles are moved by 16-byte copies and the matrix loads transpose.
// The next tile is fetched into registers while this one is multiplied. The epilogue reuses the memory, a strip of MM
// rows per subgroup at a time: whole rows to c are faster than storing matrices to it.
// Measured on an H200 and not better: two tiles in turn (one barrier less, half the workgroups per processor), loading
// the next step's matrices early (the compiler orders loads itself), larger tiles, transposing while copying.
// Assumes: subgroups of SUBGROUP (asked for where there are others) invocations, invocations numbered subgroup by subgroup, an operand tile divides evenly
// among them. Any strides, any M, N; K_EDGE where K is not a multiple of BK.
#include "gemm/place.wgsl"
#include "gemm/epilogue.wgsl"
#let PER = COMPONENT == "f32" ? 4 : 8
#let LOADED = COMPONENT == "f32" ? "array<vec4<f32>, 2>" : "vec4<u32>"
#if COMPONENT == "f32"
#include "gemm/eights.wgsl" with NAME="a" DIR=A_DIR VEC=A_VEC
#include "gemm/eights.wgsl" with NAME="b" DIR=B_DIR VEC=B_VEC
#else
#include "gemm/halves.wgsl" with NAME="a" DIR=A_DIR VEC=A_VEC F16=A_F16
#include "gemm/halves.wgsl" with NAME="b" DIR=B_DIR VEC=B_VEC F16=B_F16
#endif
#let THREADS = SM * SN * SUBGROUP
#let WM = BM / SM
#let WN = BN / SN
#let TM = WM / MM
#let TN = WN / MN
#let LDA = (A_DIR == "k" ? BK : BM) / PER + 1
#let LDB = (B_DIR == "k" ? BK : BN) / PER + 1
#let A_SIZE = (A_DIR == "k" ? BM : BK) * LDA
#let STAGE = A_SIZE + (B_DIR == "k" ? BN : BK) * LDB
#let STRIP_ROW = SHORT_SUMS ? WN / 8 + 1 : WN / 4 + 1
#let STRIP = (SHORT_SUMS ? WM : MM) * STRIP_ROW
#let LEFT = "subgroup_matrix_left<{{COMPONENT}}, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<{{COMPONENT}}, {{MN}}, {{MK}}>"
#let SUM_TYPE = SHORT_SUMS ? "f16" : "f32"
#let SUMS = "subgroup_matrix_result<{{SUM_TYPE}}, {{MN}}, {{MM}}>"
#let A_ORDER = A_DIR == "k" ? "row_major" : "col_major"
#let B_ORDER = B_DIR == "k" ? "col_major" : "row_major"

var<workgroup> tile: array<vec4<u32>, {{SHORT_SUMS ? STAGE : max(STAGE, SM * SN * STRIP)}}>;
#if SHORT_SUMS
#let OWN = WM * WN / 8 / SUBGROUP
var<workgroup> strips: array<vec4<u32>, {{SM * SN * STRIP}}>;
#else
// Hands a strip of MM rows, which the matrices of this subgroup were stored to, to the epilogue.
fn flush(at: Place, m0: u32, n0: u32, strip: u32, lane: u32) {
  for (var q = lane; q < {{MM * WN / 4}}u; q += {{SUBGROUP}}u) {
    let m = m0 + q / {{WN / 4}}u;
    let n = n0 + q % {{WN / 4}}u * 4u;
    if (m < p.m && n < p.n) {
      emit4(at, m, n, bitcast<vec4<f32>>(tile[strip + q / {{WN / 4}}u * {{STRIP_ROW}}u + q % {{WN / 4}}u]));
    }
  }
}
#endif

@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let at = place(group.z);
  let tile_at = {{BAND > 0 ? "banded(group, groups, {{BAND}}u)" : "group.yx"}};
  let m0 = tile_at.x * {{BM}}u;
  let n0 = tile_at.y * {{BN}}u;
  let sub_m = sg % {{SM}}u;
  let sub_n = sg / {{SM}}u;
  let strip = sg * {{STRIP}}u;
#if SHORT_SUMS
#for q in 0..OWN
  let own{{q}} = strip + (lane + {{q * SUBGROUP}}u) / {{WN / 8}}u * {{STRIP_ROW}}u + (lane + {{q * SUBGROUP}}u) % {{WN / 8}}u;
  var s{{q}} = array<vec4<f32>, 2>();
#endfor
#else
#for i in 0..TM
#for j in 0..TN
  var c{{i}}_{{j}} = {{SUMS}}();
#endfor
#endfor
#endif
#include "gemm/operand.wgsl" with NAME="a" ORIGIN="m0" EXTENT="p.m" BX=BM DIR=A_DIR LD=LDA OFFSET=0 PART="place"
#include "gemm/operand.wgsl" with NAME="b" ORIGIN="n0" EXTENT="p.n" BX=BN DIR=B_DIR LD=LDB OFFSET=A_SIZE PART="place"
#include "gemm/operand.wgsl" with NAME="a" ORIGIN="m0" EXTENT="p.m" BX=BM DIR=A_DIR LD=LDA OFFSET=0 PART="fetch" K="at.k_begin"
#include "gemm/operand.wgsl" with NAME="b" ORIGIN="n0" EXTENT="p.n" BX=BN DIR=B_DIR LD=LDB OFFSET=A_SIZE PART="fetch" K="at.k_begin"
  for (var k = at.k_begin; k < at.k_end; k += {{BK}}u) {
    workgroupBarrier();
#include "gemm/operand.wgsl" with NAME="a" ORIGIN="m0" EXTENT="p.m" BX=BM DIR=A_DIR LD=LDA OFFSET=0 PART="store"
#include "gemm/operand.wgsl" with NAME="b" ORIGIN="n0" EXTENT="p.n" BX=BN DIR=B_DIR LD=LDB OFFSET=A_SIZE PART="store"
    workgroupBarrier();
    let next = k + {{BK}}u;
    if (next < at.k_end) {
#include "gemm/operand.wgsl" with NAME="a" ORIGIN="m0" EXTENT="p.m" BX=BM DIR=A_DIR LD=LDA OFFSET=0 PART="fetch" K="next"
#include "gemm/operand.wgsl" with NAME="b" ORIGIN="n0" EXTENT="p.n" BX=BN DIR=B_DIR LD=LDB OFFSET=A_SIZE PART="fetch" K="next"
    }
#if SHORT_SUMS
#for i in 0..TM
#for j in 0..TN
    var c{{i}}_{{j}} = {{SUMS}}();
#endfor
#endfor
#endif
#for step in 0..BK / MK
#let KK = step * MK
#for i in 0..TM
#let AT = A_DIR == "k" ? "(sub_m * {{WM}}u + {{i * MM}}u) * {{LDA}}u + {{KK / PER}}u" : "{{KK * LDA}}u + sub_m * {{WM / PER}}u + {{i * MM / PER}}u"
    let a{{step}}_{{i}} = subgroupMatrixLoad<{{LEFT}}, {{A_ORDER}}>(&tile, {{AT}}, {{LDA}}u);
#endfor
#for j in 0..TN
#let AT = B_DIR == "k" ? "(sub_n * {{WN}}u + {{j * MN}}u) * {{LDB}}u + {{KK / PER}}u" : "{{KK * LDB}}u + sub_n * {{WN / PER}}u + {{j * MN / PER}}u"
    let b{{step}}_{{j}} = subgroupMatrixLoad<{{RIGHT}}, {{B_ORDER}}>(&tile, {{A_SIZE}}u + {{AT}}, {{LDB}}u);
#for i in 0..TM
    c{{i}}_{{j}} = subgroupMatrixMultiplyAccumulate(a{{step}}_{{i}}, b{{step}}_{{j}}, c{{i}}_{{j}});
#endfor
#endfor
#endfor
#if SHORT_SUMS
#for i in 0..TM
#for j in 0..TN
    subgroupMatrixStore<row_major>(&strips, strip + {{i * MM * STRIP_ROW + j * MN / 8}}u, c{{i}}_{{j}}, {{STRIP_ROW}}u);
#endfor
#endfor
    workgroupBarrier();
#for q in 0..OWN
    {
      let v = strips[own{{q}}];
      s{{q}}[0] += vec4<f32>(unpack2x16float(v.x), unpack2x16float(v.y));
      s{{q}}[1] += vec4<f32>(unpack2x16float(v.z), unpack2x16float(v.w));
    }
#endfor
#endif
  }
#if SHORT_SUMS
#for q in 0..OWN
  {
    let m = m0 + sub_m * {{WM}}u + (lane + {{q * SUBGROUP}}u) / {{WN / 8}}u;
    let n = n0 + sub_n * {{WN}}u + (lane + {{q * SUBGROUP}}u) % {{WN / 8}}u * 8u;
    if (m < p.m && n < p.n) { emit4(at, m, n, s{{q}}[0]); }
    if (m < p.m && n + 4u < p.n) { emit4(at, m, n + 4u, s{{q}}[1]); }
  }
#endfor
#else
#for i in 0..TM
  workgroupBarrier();
#for j in 0..TN
  subgroupMatrixStore<row_major>(&tile, strip + {{j * MN / 4}}u, c{{i}}_{{j}}, {{STRIP_ROW}}u);
#endfor
  workgroupBarrier();
  flush(at, m0 + sub_m * {{WM}}u + {{i * MM}}u, n0 + sub_n * {{WN}}u, strip, lane);
#endfor
#endif
}
