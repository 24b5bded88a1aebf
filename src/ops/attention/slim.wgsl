// Attention of slim heads through subgroup matrices, f16 operands and f32 sums, where each subgroup has its own rows: a workgroup of WM
// subgroups makes BQ = WM * MM queries of one head, BK keys at a time; a subgroup multiplies its MM queries with all of these keys
// and its weights with all columns of the values. Only keys and values pass between subgroups.
// Logits go through the subgroup's strip of workgroup memory, a matrix at a time, where LPR lanes have a row, and come back as weights in
// f16. A lane has 8 of a matrix's columns as two groups of four, LPR groups apart, and writes their weights side by side:
// rows of values stand in that order too (value_row). Maxima lag behind as in matrix.wgsl.
// The next keys and values are fetched into registers while these are multiplied. The branch around that fetch is what keeps
// compilers from moving it down to where its values are stored: an H200 waits a fifth of the time without.
// Workgroup memory: keys and values (rows of 8-half groups, padded by one), strips (padded by 32 bytes). Little of it, so that
// two workgroups run at once, or three with heads of 64, and one multiplies while another makes weights.
// Assumes: lanes of a subgroup see in workgroup memory what the others stored before, without a barrier (slim.cpp asks for devices where
// that holds); subgroups of SUBGROUP = LPR * MM invocations, numbered subgroup by subgroup; MN = 8 * LPR; DK and DV are the sizes, and
// rows of them divide a workgroup; rows of k and v are contiguous and aligned.
#let WN = 1
#let TM = 1
#let THREADS = WM * SUBGROUP
#let RM = MM
#let BQ = WM * MM
#let LPR = SUBGROUP / MM
#let TC = BK / MN
#let TO = DV / MN
#let ROWK = DK / 8
#let ROWV = DV / 8
#let GROUPS = BK / 4 / LPR
#let CHUNK_GROUPS = MN / 4 / LPR
#let PER = 8
#let LEFT = "subgroup_matrix_left<f16, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<f16, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
#let STRIP_ROW = MN / 4 + 2
#let WEIGHT_ROW = BK / 8 + 1
#let STRIP = MM * max(STRIP_ROW, WEIGHT_ROW)
#let K_ROW = ROWK + 1
#let V_ROW = ROWV + 1
#let V_AT = BK * K_ROW
#let TILE_ROWS = max(BK, RM)
const log2e = 1.4426950408889634;
const slack = 8.0;
#let ONCE = ""
#include "attention/score.wgsl"
#include "attention/halves.wgsl" with NAME="q" SIZE="size" VEC=Q_VEC FULL=K_FULL
#if PARTIAL
#include "attention/store.wgsl" with NAME="part" SIZE="value_size" VEC=1
#else
#include "attention/store.wgsl" with NAME="y" SIZE="value_size" VEC=Y_VEC
#endif
var<workgroup> tiles: array<vec4<u32>, {{max(BK * (K_ROW + V_ROW), TILE_ROWS * K_ROW)}}>;
var<workgroup> strips: array<vec4<u32>, {{WM * STRIP}}>;

fn strip_load(at: u32) -> vec4<f32> { return bitcast<vec4<f32>>(strips[at]); }
fn across(v: vec4<f32>) -> f32 { return max(max(v.x, v.y), max(v.z, v.w)); }
fn rounded(v: vec4<f32>) -> vec2<u32> { return vec2<u32>(bitcast<u32>(vec2<f16>(v.xy)), bitcast<u32>(vec2<f16>(v.zw))); }
// Where the row of key j of a block lies among the values: in the order in which weights are written.
fn value_row(j: u32) -> u32 {
#if LPR == 1
  return j;
#else
  return j / {{MN}}u * {{MN}}u + j / 4u % {{LPR}}u * {{CHUNK_GROUPS * 4}}u + j / {{4 * LPR}}u % {{CHUNK_GROUPS}}u * 4u + j % 4u;
#endif
}

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let split = job % p.splits;
  let block = p.blocks - 1u - job / p.splits % p.blocks;
  let head = job / p.splits / p.blocks % p.heads;
  let batch = job / p.splits / p.blocks / p.heads;
  let i0 = block * {{BQ}}u;
  let i_last = min({{BQ}}u, p.queries - i0) - 1u;
  let sub_m = sg;
  let row = lane / {{LPR}}u;
  let part = lane % {{LPR}}u;
  let i = i0 + sg * {{MM}}u + row;
  let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i0 * p.q_t;
  let k_at0 = p.k_off + batch / p.batch_group * p.k_b + head / p.head_group * p.k_h;
  let v_at0 = p.v_off + batch / p.batch_group * p.v_b + head / p.head_group * p.v_h;
#include "attention/slim_tiles.wgsl" with PART="place"
  let slope = slope_of(head + p.head_first) * log2e;
#include "attention/factors.wgsl" with BATCH="batch / p.batch_group" HEAD="head / p.head_group" GRADIENT=0
#if MASK
  let mask_row = mask_head(batch, head) + min(i, p.queries - 1u) * p.mask_i;
#endif
  let strip = sg * {{STRIP}}u;
  let own = strip + row * {{STRIP_ROW}}u + part;
  let weight_row = strip + row * {{WEIGHT_ROW}}u + part;

#include "attention/own.wgsl" with MATRIX="q" NAME="q" TILE="tiles" SIZE=DK BO=BQ AT="q_at0" LAST="i_last"
#for c in 0..TO
  var o{{c}} = {{SUMS}}();
#endfor
#include "attention/slim_tiles.wgsl" with PART="declare"
  var m = hidden;
  var sum = 0.0;
#include "attention/blocks.wgsl"
  if (total > 0u) {
    var at0 = {{LISTED ? "list_at(first)" : "first"}};
#let NUMBER = LISTED ? "/ 4u" : ""
    workgroupBarrier();
#include "attention/slim_tiles.wgsl" with PART="fetch" BLOCK="at0 {{NUMBER}}"
#include "attention/slim_tiles.wgsl" with PART="store"
    workgroupBarrier();
  for (var n = 0u; n < total; n += p.once) {
    let j0 = at0 {{NUMBER}} * {{BK}}u;
    let j_last = min({{BK}}u, p.keys - j0) - 1u;
    let at1 = {{LISTED ? "list_at(first + min(n + 1u, final_block))" : "first + min(n + 1u, final_block)"}};
    if (n < final_block) {
#include "attention/slim_tiles.wgsl" with PART="fetch" BLOCK="at1 {{NUMBER}}"
    }
#for c in 0..TC
    var s{{c}} = {{SUMS}}();
#endfor
#for d in 0..DK / MK
#for c in 0..TC
    s{{c}} = subgroupMatrixMultiplyAccumulate(q0_{{d}}, subgroupMatrixLoad<{{RIGHT}}, col_major>(&tiles, {{c * MN * K_ROW + d * MK / 8}}u, {{K_ROW}}u), s{{c}});
#endfor
#endfor
#for c in 0..TC
    subgroupMatrixStore<row_major>(&strips, strip, s{{c}}, {{STRIP_ROW}}u);
#for g in c * CHUNK_GROUPS..(c + 1) * CHUNK_GROUPS
    var z{{g}} = strip_load(own + {{(g - c * CHUNK_GROUPS) * LPR}}u);
#endfor
#endfor
#for g in 0..GROUPS
#if SIMPLE
#elif CAP
    z{{g}} = vec4<f32>(capped(z{{g}}.x), capped(z{{g}}.y), capped(z{{g}}.z), capped(z{{g}}.w)) * log2e;
#else
    z{{g}} *= scale;
#endif
#endfor
#include "attention/seen.wgsl"
    var top = across(z0);
#for g in 1..GROUPS
    top = max(top, across(z{{g}}));
#endfor
#if LPR > 1
    top = max(top, subgroupShuffleXor(top, 1u));
#endif
#if SIMPLE
    top = select(top * scale, hidden, top < counts_from);
#endif
    let outgrown = top > m + slack;
    let shrink = select(1.0, exp2(m - top), outgrown);
    let rescale = subgroupAny(outgrown && m > counts_from);
    m = select(m, top, outgrown);
    sum *= shrink;
    // Where nothing counts yet, what does not count is far below this too, whatever the scale.
    let base = select(m, 0.0, m < counts_from);
    if (rescale) {
#for c in 0..TO
      subgroupMatrixStore<row_major>(&strips, strip, o{{c}}, {{STRIP_ROW}}u);
#for g in 0..CHUNK_GROUPS
      strips[own + {{g * LPR}}u] = bitcast<vec4<u32>>(strip_load(own + {{g * LPR}}u) * shrink);
#endfor
      o{{c}} = subgroupMatrixLoad<{{SUMS}}, row_major>(&strips, strip, {{STRIP_ROW}}u);
#endfor
    }
#for c in 0..TC
    {
      let w0 = exp2({{SIMPLE ? "fma(z{{c * 2}}, vec4<f32>(scale), vec4<f32>(-base))" : "z{{c * 2}} - base"}});
      let w1 = exp2({{SIMPLE ? "fma(z{{c * 2 + 1}}, vec4<f32>(scale), vec4<f32>(-base))" : "z{{c * 2 + 1}} - base"}});
      sum += ((w0.x + w0.y) + (w0.z + w0.w)) + ((w1.x + w1.y) + (w1.z + w1.w));
      strips[weight_row + {{c * LPR}}u] = vec4<u32>(rounded(w0), rounded(w1));
    }
#endfor
#for k in 0..BK / MK
    let w_{{k}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&strips, strip + {{k * MK / 8}}u, {{WEIGHT_ROW}}u);
#endfor
#for k in 0..BK / MK
#for c in 0..TO
    o{{c}} = subgroupMatrixMultiplyAccumulate(w_{{k}}, subgroupMatrixLoad<{{RIGHT}}, row_major>(&tiles, {{V_AT + k * MK * V_ROW + c * MN / 8}}u, {{V_ROW}}u), o{{c}});
#endfor
#endfor
    workgroupBarrier();
#include "attention/slim_tiles.wgsl" with PART="store"
    workgroupBarrier();
    at0 = at1;
  }
  }
#if LPR > 1
  sum += subgroupShuffleXor(sum, 1u);
#endif
#include "attention/result.wgsl"
#let OUT = PARTIAL ? "part" : "y"
#let OUT_BY = FACTORS ? "(factor * v_by)" : "factor"
#include "attention/slim_flush.wgsl" with NAME=OUT SUMS_OF="o" COUNT=TO AT="at" LIVE="i < p.queries" FACTOR=OUT_BY
}
