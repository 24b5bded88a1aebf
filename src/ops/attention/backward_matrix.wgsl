// What the backward kernels for matrix units share. A workgroup of WM x WN subgroups has BO = WM * TM * MM rows of its own side (queries
// or keys), whose operands stay in matrices, and goes through the other side BK rows at a time. Of products with those a
// subgroup makes TM x TC matrices, of gradients TM rows of matrices in its share of the columns.
// Logits and their gradients go through workgroup memory as in matrix.wgsl: LPR lanes have a row, and of it groups of
// four columns, LPR groups apart. Gradients of logits are small, so they are multiplied by `lift` before they are rounded to f16.
// Workgroup memory: a tile of each operand of the other side (rows of 8 halves or 4 floats, PER, padded by one), both products and both
// weights (padded by 32 and 16 bytes). The next rows are fetched into registers while these are multiplied.
// Assumes: subgroups of SUBGROUP invocations, numbered subgroup by subgroup; DK and DV are sizes rounded up to WN matrices.
#let PER = COMPONENT == "f32" ? 4 : 8
#let SUBGROUP_COUNT = WM * WN
#let THREADS = SUBGROUP_COUNT * SUBGROUP
#let RM = TM * MM
#let BO = WM * RM
#let LPR = THREADS / BO
#let TC = BK / WN / MN
#let TOK = DK / WN / MN
#let TOV = DV / WN / MN
#let ROWK = DK / 8
#let ROWV = DV / 8
#let K_ROW = DK / PER + 1
#let V_ROW = DV / PER + 1
#let TILE_ROWS = max(BK, RM)
#let GROUPS = BK / 4 / LPR
#let LEFT = "subgroup_matrix_left<{{COMPONENT}}, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<{{COMPONENT}}, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
#let STRIP_ROW = BK / 4 + 2
#let WEIGHT_ROW = BK / 4 + 2
#let ONCE = ""
#let MASK = 0
#let PRODUCT_BY = FACTORS ? "product_by * " : ""
#let DELTA_BY = FACTORS ? "delta_by * " : ""
#let DQ_BY = FACTORS ? "(slope_by * k_by)" : "slope_by"
#let DK_BY = FACTORS ? "(slope_by * q_by)" : "slope_by"
#let DV_BY = FACTORS ? "dy_by" : "1.0"
const log2e = 1.4426950408889634;
const lift = 128.0;
#include "attention/score.wgsl"
#include "attention/halves.wgsl" with NAME="q" SIZE="size" FULL=K_FULL
#include "attention/halves.wgsl" with NAME="k" SIZE="size" FULL=K_FULL
#include "attention/halves.wgsl" with NAME="v" SIZE="value_size" FULL=V_FULL
#include "attention/halves.wgsl" with NAME="dy" SIZE="value_size" FULL=V_FULL
var<workgroup> first_tile: array<vec4<u32>, {{TILE_ROWS * K_ROW}}>;
var<workgroup> second_tile: array<vec4<u32>, {{TILE_ROWS * V_ROW}}>;
var<workgroup> strips: array<vec4<u32>, {{BO * STRIP_ROW}}>;
var<workgroup> second_strips: array<vec4<u32>, {{BO * STRIP_ROW}}>;
#let WEIGHT = PER == 4 ? "vec4<u32>" : "vec2<u32>"
var<workgroup> weights: array<{{WEIGHT}}, {{BO * WEIGHT_ROW}}>;

fn strip_load(at: u32) -> vec4<f32> { return bitcast<vec4<f32>>(strips[at]); }
fn row_stats(batch: u32, head: u32, i: u32) -> vec2<f32> {
  let at = p.stats_off + ((batch * p.heads + head) * p.queries + i) * 2u;
  return vec2<f32>(stats_at(at), stats_at(at + 1u));
}
#if PER == 4
fn packed(w: vec4<f32>) -> vec4<u32> { return bitcast<vec4<u32>>(w); }
#else
fn packed(w: vec4<f32>) -> vec2<u32> { return vec2<u32>(bitcast<u32>(vec2<f16>(w.xy)), bitcast<u32>(vec2<f16>(w.zw))); }
#endif
fn lifted(w: vec4<f32>) -> vec4<f32> { return clamp(w * lift, vec4<f32>(-65504.0), vec4<f32>(65504.0)); }
