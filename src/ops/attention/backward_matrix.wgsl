// What the backward kernels for matrix units share. A workgroup of SGS subgroups has BO = SGS * MM rows of its own side (queries
// or keys), whose operands stay in matrices, and goes through the other side BK rows at a time; a subgroup has MM rows.
// Logits and their gradients go through workgroup memory as in matrix.wgsl: LPR lanes have a row, and of it groups of
// four columns, LPR groups apart. Gradients of logits are small, so they are multiplied by `lift` before they are rounded to f16.
// Workgroup memory: a tile of each operand of the other side (rows of 8-half groups, padded by one), products and
// weights (MM rows per subgroup, padded by 16 bytes).
// Assumes: subgroups of SG invocations, numbered subgroup by subgroup; DK and DV are sizes rounded up to matrices.
#let LPR = SG / MM
#let THREADS = SGS * SG
#let BO = SGS * MM
#let ROWK = DK / 8
#let ROWV = DV / 8
#let GROUPS = BK / 4 / LPR
#let LEFT = "subgroup_matrix_left<f16, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<f16, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
#let STRIP_ROW = BK / 2 + 4
#let STRIP = MM * STRIP_ROW
#let WEIGHT_ROW = BK / 4 + 2
#let CHUNK_MATRICES = BK / MN
#let ONCE = ""
#let MASK = 0
const log2e = 1.4426950408889634;
const lift = 128.0;
#include "attention/score.wgsl"
#include "attention/halves.wgsl" with NAME="q" SIZE="size"
#include "attention/halves.wgsl" with NAME="k" SIZE="size"
#include "attention/halves.wgsl" with NAME="v" SIZE="value_size"
#include "attention/halves.wgsl" with NAME="dy" SIZE="value_size"
var<workgroup> first_tile: array<vec4<u32>, {{max(BO, BK) * (ROWK + 1)}}>;
var<workgroup> second_tile: array<vec4<u32>, {{max(BO, BK) * (ROWV + 1)}}>;
var<workgroup> strips: array<vec2<u32>, {{SGS * STRIP}}>;
var<workgroup> weights: array<vec2<u32>, {{SGS * MM * WEIGHT_ROW}}>;

fn strip_load(at: u32) -> vec4<f32> {
  return vec4<f32>(bitcast<vec2<f32>>(strips[at]), bitcast<vec2<f32>>(strips[at + 1u]));
}
fn row_stats(batch: u32, head: u32, i: u32) -> vec2<f32> {
  let at = p.stats_off + ((batch * p.heads + head) * p.queries + i) * 2u;
  return vec2<f32>(stats_at(at), stats_at(at + 1u));
}
fn packed(w: vec4<f32>) -> vec2<u32> { return vec2<u32>(pack_half_quickly(w.xy), pack_half_quickly(w.zw)); }
fn lifted(w: vec4<f32>) -> vec4<f32> { return clamp(w * lift, vec4<f32>(-65504.0), vec4<f32>(65504.0)); }
