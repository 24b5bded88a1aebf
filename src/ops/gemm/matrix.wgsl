// C = A·B through subgroup matrices: f16 operands, f32 sums. A workgroup of SM x SN subgroups computes a BM x BN tile
// of C in steps of BK; a subgroup keeps its part as MM x MN matrices in registers. Every loop over matrices is written
// out: arrays of matrices indexed by WGSL loops were measured 7 times slower.
// Workgroup memory: STAGES tiles of a and b, 8 halves per element, rows padded by PAD elements; a row runs along k or
// across it just as the operand does in memory, so tiles are moved by 16-byte copies and the matrix loads transpose;
// with TURN both tiles run along k and the copies transpose (operand.wgsl).
// The epilogue reuses it, a strip of MM rows per subgroup at a time. DIRECT stores matrices straight to c.
// Assumes: subgroups of SG invocations, invocations numbered subgroup by subgroup, an operand tile divides evenly
// among them. Any strides, any M, N (EDGE); K_EDGE where K is not a multiple of BK.
#include "gemm/place.wgsl"
#include "gemm/epilogue.wgsl"
#include "gemm/halves.wgsl" with NAME="a" DIR=A_DIR VEC=A_VEC F16=A_F16
#include "gemm/halves.wgsl" with NAME="b" DIR=B_DIR VEC=B_VEC F16=B_F16
#let THREADS = SM * SN * SG
#let WM = BM / SM
#let WN = BN / SN
#let TM = WM / MM
#let TN = WN / MN
#let A_TURNED = TURN && A_VEC && A_DIR == "x"
#let B_TURNED = TURN && B_VEC && B_DIR == "x"
#let A_ALONG_K = A_TURNED || A_DIR == "k"
#let B_ALONG_K = B_TURNED || B_DIR == "k"
#let LDA = (A_ALONG_K ? BK : BM) / 8 + PAD
#let LDB = (B_ALONG_K ? BK : BN) / 8 + PAD
#let A_SIZE = (A_ALONG_K ? BM : BK) * LDA
#let STAGE = A_SIZE + (B_ALONG_K ? BN : BK) * LDB
#let STRIP_ROW = WN / 4 + 1
#let STRIP = MM * STRIP_ROW
#let NEEDS_STRIPS = !DIRECT || EDGE
#let LEFT = "subgroup_matrix_left<f16, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<f16, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
#let A_ORDER = A_ALONG_K ? "row_major" : "col_major"
#let B_ORDER = B_ALONG_K ? "col_major" : "row_major"

var<workgroup> tile: array<vec4<u32>, {{NEEDS_STRIPS ? max(STAGES * STAGE, SM * SN * STRIP) : STAGES * STAGE}}>;

#if NEEDS_STRIPS
// Hands a strip of MM rows, which the matrices of this subgroup were stored to, to the epilogue.
fn flush(at: Place, m0: u32, n0: u32, strip: u32, lane: u32) {
  for (var q = lane; q < {{MM * WN / 4}}u; q += {{SG}}u) {
    let m = m0 + q / {{WN / 4}}u;
    let n = n0 + q % {{WN / 4}}u * 4u;
    if (m < p.m && n < p.n) {
      emit4(at, m, n, bitcast<vec4<f32>>(tile[strip + q / {{WN / 4}}u * {{STRIP_ROW}}u + q % {{WN / 4}}u]));
    }
  }
}
#endif

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
#include "gemm/operand.wgsl" with NAME="a" ORIGIN="m0" EXTENT="p.m" BX=BM DIR=A_DIR TURNED=A_TURNED LD=LDA OFFSET=0 PART="place"
#include "gemm/operand.wgsl" with NAME="b" ORIGIN="n0" EXTENT="p.n" BX=BN DIR=B_DIR TURNED=B_TURNED LD=LDB OFFSET=A_SIZE PART="place"
#if PREFETCH
#include "gemm/operand.wgsl" with NAME="a" ORIGIN="m0" EXTENT="p.m" BX=BM DIR=A_DIR TURNED=A_TURNED LD=LDA OFFSET=0 PART="fetch" K="at.k_begin"
#include "gemm/operand.wgsl" with NAME="b" ORIGIN="n0" EXTENT="p.n" BX=BN DIR=B_DIR TURNED=B_TURNED LD=LDB OFFSET=A_SIZE PART="fetch" K="at.k_begin"
#endif
  for (var k = at.k_begin; k < at.k_end; k += {{STAGES * BK}}u) {
#for s in 0..STAGES
#if s > 0
    if (k + {{s * BK}}u < at.k_end) {
#else
    {
#endif
#if !PREFETCH
#include "gemm/operand.wgsl" with NAME="a" ORIGIN="m0" EXTENT="p.m" BX=BM DIR=A_DIR TURNED=A_TURNED LD=LDA OFFSET=0 PART="fetch" K="(k + {{s * BK}}u)"
#include "gemm/operand.wgsl" with NAME="b" ORIGIN="n0" EXTENT="p.n" BX=BN DIR=B_DIR TURNED=B_TURNED LD=LDB OFFSET=A_SIZE PART="fetch" K="(k + {{s * BK}}u)"
#endif
#if STAGES == 1
      workgroupBarrier();
#endif
#include "gemm/operand.wgsl" with NAME="a" ORIGIN="m0" EXTENT="p.m" BX=BM DIR=A_DIR TURNED=A_TURNED LD=LDA OFFSET=0 PART="store" STAGE_AT=s * STAGE
#include "gemm/operand.wgsl" with NAME="b" ORIGIN="n0" EXTENT="p.n" BX=BN DIR=B_DIR TURNED=B_TURNED LD=LDB OFFSET=A_SIZE PART="store" STAGE_AT=s * STAGE
      workgroupBarrier();
#if PREFETCH
      let next = k + {{(s + 1) * BK}}u;
      if (next < at.k_end) {  // fetch the next tile while this one is multiplied
#include "gemm/operand.wgsl" with NAME="a" ORIGIN="m0" EXTENT="p.m" BX=BM DIR=A_DIR TURNED=A_TURNED LD=LDA OFFSET=0 PART="fetch" K="next"
#include "gemm/operand.wgsl" with NAME="b" ORIGIN="n0" EXTENT="p.n" BX=BN DIR=B_DIR TURNED=B_TURNED LD=LDB OFFSET=A_SIZE PART="fetch" K="next"
      }
#endif
#for step in 0..BK / MK
      // k step {{step}}; with PRELOAD its operands were loaded before the multiplies of the step before.
#for ahead in (PRELOAD && step > 0 ? step + 1 : step)..(PRELOAD ? min(step + 2, BK / MK) : step + 1)
#let KK = ahead * MK
#for i in 0..TM
#let AT = A_ALONG_K ? "(sub_m * {{WM}}u + {{i * MM}}u) * {{LDA}}u + {{KK / 8}}u" : "{{KK * LDA}}u + sub_m * {{WM / 8}}u + {{i * MM / 8}}u"
      let a{{ahead}}_{{i}} = subgroupMatrixLoad<{{LEFT}}, {{A_ORDER}}>(&tile, {{s * STAGE}}u + {{AT}}, {{LDA}}u);
#endfor
#for j in 0..TN
#let AT = B_ALONG_K ? "(sub_n * {{WN}}u + {{j * MN}}u) * {{LDB}}u + {{KK / 8}}u" : "{{KK * LDB}}u + sub_n * {{WN / 8}}u + {{j * MN / 8}}u"
      let b{{ahead}}_{{j}} = subgroupMatrixLoad<{{RIGHT}}, {{B_ORDER}}>(&tile, {{s * STAGE + A_SIZE}}u + {{AT}}, {{LDB}}u);
#if !PRELOAD
#for i in 0..TM
      c{{i}}_{{j}} = subgroupMatrixMultiplyAccumulate(a{{ahead}}_{{i}}, b{{ahead}}_{{j}}, c{{i}}_{{j}});
#endfor
#endif
#endfor
#endfor
#if PRELOAD
#for j in 0..TN
#for i in 0..TM
      c{{i}}_{{j}} = subgroupMatrixMultiplyAccumulate(a{{step}}_{{i}}, b{{step}}_{{j}}, c{{i}}_{{j}});
#endfor
#endfor
#endif
#endfor
    }
#endfor
  }
#if DIRECT
#if EDGE
  if (m0 + {{BM}}u <= p.m && n0 + {{BN}}u <= p.n) {
#else
  {
#endif
#for i in 0..TM
#for j in 0..TN
    subgroupMatrixStore<row_major>(&{{c_BUFFER}}, (at.c + (m0 + sub_m * {{WM}}u + {{i * MM}}u) * p.c_m + n0 + sub_n * {{WN}}u + {{j * MN}}u) / {{c_UNIT}}u, c{{i}}_{{j}}, p.c_m / {{c_UNIT}}u);
#endfor
#endfor
    return;
  }
#endif
#if NEEDS_STRIPS
  let strip = sg * {{STRIP}}u;
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
