// Attention through subgroup matrices: f16 operands (or the same as f32, COMPONENT), f32 sums. A workgroup of WM x WN subgroups makes BQ = WM * TM * MM queries of
// one head, BK keys at a time. Of the logits a subgroup makes TM x TC matrices (its share of the keys), of the result TM x TO
// (its share of the columns): operands in workgroup memory are read once for TM rows of matrices.
// Elements of matrices cannot be reached, so logits go through workgroup memory, where LPR lanes have a row, and come
// back as weights in COMPONENT. Weights are relative to a maximum that may lag behind by a factor of 2^8: sums are rescaled,
// which takes a trip through workgroup memory, only when a row outgrows that.
// The logits of the next block are multiplied while the weights of this one are made: two barriers per block.
// Workgroup memory: keys, values (rows of 8 halves or 4 floats, PER, padded by one), logits and weights (padded by 32 and 16 bytes, which
// spreads banks). Queries pass through the tile of keys.
// With LISTED the list of mask_list.wgsl says which blocks of keys there are, and which need the mask.
// Assumes: subgroups of SUBGROUP invocations, numbered subgroup by subgroup; DK and DV are sizes rounded up to matrices, DV / WN too.
#let SUBGROUP_COUNT = WM * WN
#let THREADS = SUBGROUP_COUNT * SUBGROUP
#let RM = TM * MM
#let BQ = WM * RM
#let LPR = THREADS / BQ
#let TC = BK / WN / MN
#let TO = DV / WN / MN
#let ROWK = DK / 8
#let ROWV = DV / 8
#let GROUPS = BK / 4 / LPR
#let PER = COMPONENT == "f32" ? 4 : 8
#let LEFT = "subgroup_matrix_left<{{COMPONENT}}, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<{{COMPONENT}}, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
#let STRIP_ROW = BK / 4 + 2
#let WEIGHT_ROW = BK / 4 + 2
#let CHUNKS = (TO + TC - 1) / TC
#let K_ROW = DK / PER + 1
#let V_ROW = DV / PER + 1
#let TILE_ROWS = max(BK, RM)
const log2e = 1.4426950408889634;
const slack = 8.0;
#let ONCE = ""
#include "attention/score.wgsl"
#include "attention/halves.wgsl" with NAME="q" SIZE="size" VEC=Q_VEC FULL=K_FULL
#include "attention/halves.wgsl" with NAME="k" SIZE="size" FULL=K_FULL
#include "attention/halves.wgsl" with NAME="v" SIZE="value_size" FULL=V_FULL
#if PARTIAL
#include "attention/store.wgsl" with NAME="part" SIZE="value_size" VEC=1
#else
#include "attention/store.wgsl" with NAME="y" SIZE="value_size" VEC=Y_VEC
#endif
var<workgroup> k_tile: array<vec4<u32>, {{TILE_ROWS * K_ROW}}>;
var<workgroup> v_tile: array<vec4<u32>, {{BK * V_ROW}}>;
var<workgroup> strips: array<vec4<u32>, {{BQ * STRIP_ROW}}>;
var<workgroup> weights: array<{{PER == 4 ? "vec4<u32>" : "vec2<u32>"}}, {{BQ * WEIGHT_ROW}}>;
var<workgroup> grown: array<u32, {{SUBGROUP_COUNT}}>;

fn strip_load(at: u32) -> vec4<f32> { return bitcast<vec4<f32>>(strips[at]); }
fn across(v: vec4<f32>) -> f32 { return max(max(v.x, v.y), max(v.z, v.w)); }
#if PER == 4
fn rounded(v: vec4<f32>) -> vec4<u32> { return bitcast<vec4<u32>>(v); }
#else
fn rounded(v: vec4<f32>) -> vec2<u32> { return vec2<u32>(bitcast<u32>(vec2<f16>(v.xy)), bitcast<u32>(vec2<f16>(v.zw))); }
#endif

@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let split = job % p.splits;
  // Late queries see the most keys where there are causal rules: they go first.
  let block = p.blocks - 1u - job / p.splits % p.blocks;
  let head = job / p.splits / p.blocks % p.heads;
  let batch = job / p.splits / p.blocks / p.heads;
  let i0 = block * {{BQ}}u;
  let i_last = min({{BQ}}u, p.queries - i0) - 1u;
  let sub_m = sg / {{WN}}u;
  let sub_n = sg % {{WN}}u;
  let row = t / {{LPR}}u;
  let part = t % {{LPR}}u;
  let i = i0 + row;
  let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i0 * p.q_t;
  let k_at0 = p.k_off + batch / p.batch_group * p.k_b + head / p.head_group * p.k_h;
  let v_at0 = p.v_off + batch / p.batch_group * p.v_b + head / p.head_group * p.v_h;
  let slope = slope_of(head + p.head_first) * log2e;
#include "attention/factors.wgsl" with BATCH="batch / p.batch_group" HEAD="head / p.head_group" GRADIENT=0
#if MASK
  let mask_row = mask_head(batch, head) + min(i, p.queries - 1u) * p.mask_i;
#endif
  // Where this subgroup's matrices lie, and this lane's part of a row.
  let strip = sub_m * {{RM * STRIP_ROW}}u + sub_n * {{TC * MN / 4}}u;
  let own = row * {{STRIP_ROW}}u + part;
  let weight_row = row * {{WEIGHT_ROW}}u + part;

#include "attention/own.wgsl" with MATRIX="q" NAME="q" TILE="k_tile" SIZE=DK BO=BQ AT="q_at0" LAST="i_last"
#for r in 0..TM
#for c in 0..TO
  var o{{r}}_{{c}} = {{SUMS}}();
#endfor
#endfor
#include "attention/fetch.wgsl" with PART="declare" NAME="k" REG="kr" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="declare" NAME="v" REG="vr" ROW=ROWV ROWS=BK
  var m = hidden;
  var sum = 0.0;
#include "attention/blocks.wgsl"
  if (total > 0u) {
    var at0 = {{LISTED ? "list_at(first)" : "first"}};
    var at1 = {{LISTED ? "list_at(first + min(1u, final_block))" : "first + min(1u, final_block)"}};
    var at2 = {{LISTED ? "list_at(first + min(2u, final_block))" : "first + min(2u, final_block)"}};
    var at3 = {{LISTED ? "list_at(first + min(3u, final_block))" : "first + min(3u, final_block)"}};
#let NUMBER = LISTED ? "/ 4u" : ""
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="fetch" NAME="k" REG="kr" FROM="at0 {{NUMBER}}" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="store" NAME="k" REG="kr" ROW=ROWK ROWS=BK TILE="k_tile" TILE_ROW=K_ROW
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="fetch" NAME="k" REG="kr" FROM="at1 {{NUMBER}}" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="fetch" NAME="v" REG="vr" FROM="at0 {{NUMBER}}" ROW=ROWV ROWS=BK
    {
#include "attention/matrix_logits.wgsl" with PART="multiply"
#include "attention/matrix_logits.wgsl" with PART="store"
    }
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="store" NAME="k" REG="kr" ROW=ROWK ROWS=BK TILE="k_tile" TILE_ROW=K_ROW
#include "attention/fetch.wgsl" with PART="store" NAME="v" REG="vr" ROW=ROWV ROWS=BK TILE="v_tile" TILE_ROW=V_ROW
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="fetch" NAME="k" REG="kr" FROM="at2 {{NUMBER}}" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="fetch" NAME="v" REG="vr" FROM="at1 {{NUMBER}}" ROW=ROWV ROWS=BK
  // Here are the logits of block n, k of block n + 1 and v of block n; k of block n + 2 and v of block n + 1 are on their way. Behind
  // the last block the last one comes again, for nothing.
  for (var n = 0u; n < total; n++) {
    let j0 = at0 {{NUMBER}} * {{BK}}u;
    let j_last = min({{BK}}u, p.keys - j0) - 1u;
    let at4 = {{LISTED ? "list_at(first + min(n + 4u, final_block))" : "first + min(n + 4u, final_block)"}};
#include "attention/matrix_logits.wgsl" with PART="multiply"

    // Logits in units of log2: this lane has groups of four keys, LPR groups apart.
#for g in 0..GROUPS
    var z{{g}} = strip_load(own + {{g * LPR}}u);
#if CAP
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
#if LPR > 2
    top = max(top, subgroupShuffleXor(top, 2u));
#endif
    let outgrown = top > m + slack;
    let shrink = select(1.0, exp2(m - top), outgrown);
    let rescale = subgroupAny(outgrown && m > counts_from);
    if (lane == 0u) { grown[sg] = select(0u, 1u, rescale); }
    m = select(m, top, outgrown);
    sum *= shrink;
    // What does not count is far below this, even where nothing counts yet.
    let base = max(m, counts_from);
#for g in 0..GROUPS
    {
      let w = exp2(z{{g}} - base);
      sum += (w.x + w.y) + (w.z + w.w);
      weights[weight_row + {{g * LPR}}u] = rounded(w);
    }
#endfor
    let any = workgroupUniformLoad(&grown);
#let ANY = "any[0]"
#for g in 1..SUBGROUP_COUNT
#let ANY = ANY + " + any[" + g + "]"
#endfor
    if ({{ANY}} > 0u) {
#for chunk in 0..CHUNKS
#for c in chunk * TC..min((chunk + 1) * TC, TO)
#for r in 0..TM
      subgroupMatrixStore<row_major>(&strips, strip + {{r * MM * STRIP_ROW + (c - chunk * TC) * MN / 4}}u, o{{r}}_{{c}}, {{STRIP_ROW}}u);
#endfor
#endfor
      workgroupBarrier();
#for g in 0..GROUPS
      strips[own + {{g * LPR}}u] = bitcast<vec4<u32>>(strip_load(own + {{g * LPR}}u) * shrink);
#endfor
      workgroupBarrier();
#for c in chunk * TC..min((chunk + 1) * TC, TO)
#for r in 0..TM
      o{{r}}_{{c}} = subgroupMatrixLoad<{{SUMS}}, row_major>(&strips, strip + {{r * MM * STRIP_ROW + (c - chunk * TC) * MN / 4}}u, {{STRIP_ROW}}u);
#endfor
#endfor
      workgroupBarrier();
#endfor
    }
#include "attention/matrix_logits.wgsl" with PART="store"
#include "attention/fetch.wgsl" with PART="store" NAME="k" REG="kr" ROW=ROWK ROWS=BK TILE="k_tile" TILE_ROW=K_ROW
#for k in 0..BK / MK
#for r in 0..TM
    let w{{r}}_{{k}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&weights, (sub_m * {{RM}}u + {{r * MM}}u) * {{WEIGHT_ROW}}u + {{k * MK / 4}}u, {{WEIGHT_ROW}}u);
#endfor
#for c in 0..TO
    let v{{k}}_{{c}} = subgroupMatrixLoad<{{RIGHT}}, row_major>(&v_tile, {{k * MK * V_ROW}}u + (sub_n * {{TO * MN}}u + {{c * MN}}u) / {{PER}}u, {{V_ROW}}u);
#for r in 0..TM
    o{{r}}_{{c}} = subgroupMatrixMultiplyAccumulate(w{{r}}_{{k}}, v{{k}}_{{c}}, o{{r}}_{{c}});
#endfor
#endfor
#endfor
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="store" NAME="v" REG="vr" ROW=ROWV ROWS=BK TILE="v_tile" TILE_ROW=V_ROW
    at0 = at1;
    at1 = at2;
    at2 = at3;
    at3 = at4;
    // The branch keeps compilers from moving these loads down to where their values are stored: an H200 waited a fifth of its time for them.
    if (n < final_block) {
#include "attention/fetch.wgsl" with PART="fetch" NAME="k" REG="kr" FROM="at2 {{NUMBER}}" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="fetch" NAME="v" REG="vr" FROM="at1 {{NUMBER}}" ROW=ROWV ROWS=BK
    }
  }
  }
#if LPR > 1
  sum += subgroupShuffleXor(sum, 1u);
#endif
#if LPR > 2
  sum += subgroupShuffleXor(sum, 2u);
#endif
#include "attention/result.wgsl"
#let OUT = PARTIAL ? "part" : "y"
#let OUT_BY = FACTORS ? "(factor * v_by)" : "factor"
#include "attention/flush.wgsl" with NAME=OUT SUMS_OF="o" COUNT=TO AT="at" LIVE="i < p.queries" FACTOR=OUT_BY
}
