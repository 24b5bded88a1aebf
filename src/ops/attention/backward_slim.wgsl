// What the backward kernels of slim heads share, where each subgroup has its own rows as in slim.wgsl. A workgroup of WM subgroups has
// BO = WM * MM rows of its own side (queries or keys), whose operands stay in matrices, and goes through the other side BK rows at a time.
// Logits and their gradients go through the subgroup's strip of workgroup memory, a matrix at a time, where LPR lanes have a row, of each
// matrix two groups of four columns, LPR groups apart. Gradients of logits are small, so they are multiplied by `lift` before
// they are rounded to f16.
// Workgroup memory: a tile of each operand of the other side (rows of 8 halves, padded by one), strips (padded by 32 bytes) and weights
// (padded by 16). Little of it, so that several workgroups run at once; two sets of tiles, for one barrier per block, leave room for
// fewer of them and take an H200 a quarter longer. The next rows are fetched into registers while these are multiplied.
// Assumes what slim.wgsl assumes.
#let TM = 1
#let THREADS = WM * SUBGROUP
#let RM = MM
#let BO = WM * MM
#let LPR = SUBGROUP / MM
#let TC = BK / MN
#let TOK = DK / MN
#let TOV = DV / MN
#let ROWK = DK / 8
#let ROWV = DV / 8
#let K_ROW = ROWK + 1
#let V_ROW = ROWV + 1
#let V_AT = BK * K_ROW
#let PER = 8
#let GROUPS = BK / 4 / LPR
#let CHUNK_GROUPS = MN / 4 / LPR
#let TILE_ROWS = min(BO, BK)
#let LEFT = "subgroup_matrix_left<f16, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<f16, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
#let STRIP_ROW = MN / 4 + 2
#let WEIGHT_ROW = BK / 4 + 2
#let ONCE = ""
#let MASK = 0
#let PRODUCT_BY = FACTORS ? "product_by * " : ""
#let DELTA_BY = FACTORS ? "delta_by * " : ""
#let DQ_BY = FACTORS ? "(slope_by * k_by)" : "slope_by"
#let DK_BY = FACTORS ? "(slope_by * q_by)" : "slope_by"
#let DV_BY = FACTORS ? "dy_by" : "1.0"
#let VEC = 1
const log2e = 1.4426950408889634;
const lift = 128.0;
#include "attention/score.wgsl"
#include "attention/halves.wgsl" with NAME="q" SIZE="size" FULL=1
#include "attention/halves.wgsl" with NAME="k" SIZE="size" FULL=1
#include "attention/halves.wgsl" with NAME="v" SIZE="value_size" FULL=1
#include "attention/halves.wgsl" with NAME="dy" SIZE="value_size" FULL=1
var<workgroup> tiles: array<vec4<u32>, {{BK * (K_ROW + V_ROW)}}>;
var<workgroup> strips: array<vec4<u32>, {{BO * STRIP_ROW}}>;
var<workgroup> weights: array<vec2<u32>, {{BO * WEIGHT_ROW}}>;

fn strip_load(at: u32) -> vec4<f32> { return bitcast<vec4<f32>>(strips[at]); }
fn row_stats(batch: u32, head: u32, i: u32) -> vec2<f32> {
  let at = p.stats_off + ((batch * p.heads + head) * p.queries + i) * 2u;
  return vec2<f32>(stats_at(at) * log2e, stats_at(at + 1u));
}
fn packed(w: vec4<f32>) -> vec2<u32> { return vec2<u32>(bitcast<u32>(vec2<f16>(w.xy)), bitcast<u32>(vec2<f16>(w.zw))); }
fn lifted(w: vec4<f32>) -> vec4<f32> { return clamp(w * lift, vec4<f32>(-65504.0), vec4<f32>(65504.0)); }
