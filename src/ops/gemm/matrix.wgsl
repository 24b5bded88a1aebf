// C = A·B through subgroup matrices: f16 operands, f32 sums. A workgroup of SM x SN subgroups computes a BM x BN tile
// of C in steps of BK; a subgroup keeps its part as MM x MN matrices in registers. Every loop over matrices is written
// out: arrays of matrices indexed by WGSL loops were measured 7 times slower.
// Workgroup memory: a tile of a and one of b, 8 halves per element, rows padded by one element; a row runs along k or
// across it just as the operand does in memory, so tiles are moved by 16-byte copies and the matrix loads transpose.
// The next tile is fetched into registers while this one is multiplied. The epilogue reuses the memory, a strip of MM
// rows per subgroup at a time: whole rows to c are faster than storing matrices to it.
// Measured on an H200 and not better: two tiles in turn (one barrier less, half the workgroups per processor), loading
// the next step's matrices early (the compiler orders loads itself), larger tiles, transposing while copying.
// Assumes: subgroups of SUBGROUP invocations, invocations numbered subgroup by subgroup, an operand tile divides evenly
// among them. Any strides, any M, N; K_EDGE where K is not a multiple of BK.
#include "gemm/place.wgsl"
#include "gemm/epilogue.wgsl"
#include "gemm/halves.wgsl" with NAME="a" DIR=A_DIR VEC=A_VEC F16=A_F16
#include "gemm/halves.wgsl" with NAME="b" DIR=B_DIR VEC=B_VEC F16=B_F16
#let THREADS = SM * SN * SUBGROUP
#let WM = BM / SM
#let WN = BN / SN
#let TM = WM / MM
#let TN = WN / MN
#let LDA = (A_DIR == "k" ? BK : BM) / 8 + 1
#let LDB = (B_DIR == "k" ? BK : BN) / 8 + 1
#let A_SIZE = (A_DIR == "k" ? BM : BK) * LDA
#let STAGE = A_SIZE + (B_DIR == "k" ? BN : BK) * LDB
#let STRIP_ROW = WN / 4 + 1
#let STRIP = MM * STRIP_ROW
#let LEFT = "subgroup_matrix_left<f16, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<f16, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
#let A_ORDER = A_DIR == "k" ? "row_major" : "col_major"
#let B_ORDER = B_DIR == "k" ? "col_major" : "row_major"

var<workgroup> tile: array<vec4<u32>, {{max(STAGE, SM * SN * STRIP)}}>;

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

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let at = place(group.z);
  let tile_at = {{BAND > 0 ? "banded(group, groups, {{BAND}}u)" : "group.yx"}};
  let m0 = tile_at.x * {{BM}}u;
  let n0 = tile_at.y * {{BN}}u;
  let sub_m = sg % {{SM}}u;
  let sub_n = sg / {{SM}}u;
#for i in 0..TM
#for j in 0..TN
  var c{{i}}_{{j}} = {{SUMS}}();
#endfor
#endfor
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
#for step in 0..BK / MK
#let KK = step * MK
#for i in 0..TM
#let AT = A_DIR == "k" ? "(sub_m * {{WM}}u + {{i * MM}}u) * {{LDA}}u + {{KK / 8}}u" : "{{KK * LDA}}u + sub_m * {{WM / 8}}u + {{i * MM / 8}}u"
    let a{{step}}_{{i}} = subgroupMatrixLoad<{{LEFT}}, {{A_ORDER}}>(&tile, {{AT}}, {{LDA}}u);
#endfor
#for j in 0..TN
#let AT = B_DIR == "k" ? "(sub_n * {{WN}}u + {{j * MN}}u) * {{LDB}}u + {{KK / 8}}u" : "{{KK * LDB}}u + sub_n * {{WN / 8}}u + {{j * MN / 8}}u"
    let b{{step}}_{{j}} = subgroupMatrixLoad<{{RIGHT}}, {{B_ORDER}}>(&tile, {{A_SIZE}}u + {{AT}}, {{LDB}}u);
#for i in 0..TM
    c{{i}}_{{j}} = subgroupMatrixMultiplyAccumulate(a{{step}}_{{i}}, b{{step}}_{{j}}, c{{i}}_{{j}});
#endfor
#endfor
#endfor
  }
  let strip = sg * {{STRIP}}u;
#for i in 0..TM
  workgroupBarrier();
#for j in 0..TN
  subgroupMatrixStore<row_major>(&tile, strip + {{j * MN / 4}}u, c{{i}}_{{j}}, {{STRIP_ROW}}u);
#endfor
  workgroupBarrier();
  flush(at, m0 + sub_m * {{WM}}u + {{i * MM}}u, n0 + sub_n * {{WN}}u, strip, lane);
#endfor
}
