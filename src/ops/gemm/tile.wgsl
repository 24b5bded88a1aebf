// C = A·B in f32, or with SHORT_SUMS in f16 for the BK terms of a step, whose sums are added up in f32 (the caller says that 32 terms
// cannot overflow): a workgroup computes a BM x BN tile of C, an invocation TM x TN of it in registers.
// Workgroup memory: STAGES x BK x (BM + BN) floats or halves, as vectors along m and n: sa[k][m/4], sb[k][n/4], so that one k
// step is TM/4 + TN/4 vector loads for TM·TN multiplies. Columns are swizzled by k/4: writing 4 x 4 blocks that
// neighbour along k then meets different banks. The next tile is fetched into registers before the multiplies.
// Assumes: BM, BN multiples of 32, BK of 4; BN/TN a multiple of 8 and BM/TM of 4 (8 x 4 invocations share operands).
// Any strides (A_DIR, A_VEC, …: see block.wgsl), any M, N; K_EDGE where K is not a multiple of BK.
#include "gemm/place.wgsl"
#include "gemm/epilogue.wgsl"
#include "gemm/block.wgsl" with NAME="a" DIR=A_DIR VEC=A_VEC
#include "gemm/block.wgsl" with NAME="b" DIR=B_DIR VEC=B_VEC
#let NX = BN / TN
#let NY = BM / TM
#let THREADS = NX * NY
#let A4 = BM / 4
#let B4 = BN / 4
#let K4 = BK / 4
#let A_BLOCKS = A4 * K4
#let BLOCKS = A_BLOCKS + B4 * K4
#let ITEMS = (BLOCKS + THREADS - 1) / THREADS
#let SWIZZLE = max(1, 8 / K4)
#let STAGE = BK * (A4 + B4)

#let HALVES = defined(SHORT_SUMS)
#let FOUR = HALVES ? "vec4<f16>" : "vec4<f32>"
// The sums of a step: c themselves, or others.
#let SUM = HALVES ? "h" : "c"

var<workgroup> tile: array<{{FOUR}}, {{STAGES * STAGE}}>;

// A 4 x 4 block that an invocation moves: where it is read and where it is written.
struct Item {
  base: u32,
  last: u32,
  k: u32,
  slot: u32,
}

fn a_item(at: Place, m0: u32, e: u32) -> Item {
  let k4 = {{A_DIR == "k" ? "e % {{K4}}u" : "e / {{A4}}u"}};
  let x4 = {{A_DIR == "k" ? "e / {{K4}}u" : "e % {{A4}}u"}};
  let x = {{EDGE ? "min(m0 + x4 * 4u, (p.m - 1u) / 4u * 4u)" : "m0 + x4 * 4u"}};
  return Item(at.a + x * p.a_x, p.m - 1u - x, k4 * 4u, k4 * {{4 * A4}}u + (x4 ^ ((k4 * {{SWIZZLE}}u) & 7u)));
}

fn b_item(at: Place, n0: u32, e: u32) -> Item {
  let k4 = {{B_DIR == "k" ? "e % {{K4}}u" : "e / {{B4}}u"}};
  let x4 = {{B_DIR == "k" ? "e / {{K4}}u" : "e % {{B4}}u"}};
  let x = {{EDGE ? "min(n0 + x4 * 4u, (p.n - 1u) / 4u * 4u)" : "n0 + x4 * 4u"}};
  return Item(at.b + x * p.b_x, p.n - 1u - x, k4 * 4u, {{BK * A4}}u + k4 * {{4 * B4}}u + (x4 ^ ((k4 * {{SWIZZLE}}u) & 7u)));
}

#for i in 0..ITEMS
// Item {{i}} of an invocation: of a, of b, or (where the blocks of a end among the invocations) of either.
#let FIRST = i * THREADS
#let KIND = FIRST + THREADS <= A_BLOCKS ? "a" : FIRST >= A_BLOCKS ? "b" : "both"
fn item{{i}}(at: Place, m0: u32, n0: u32, t: u32) -> Item {
  let e = t + {{FIRST}}u;
#if KIND == "a"
  return a_item(at, m0, e);
#elif KIND == "b"
  return b_item(at, n0, e - {{A_BLOCKS}}u);
#else
  if (e < {{A_BLOCKS}}u) { return a_item(at, m0, e); }
  return b_item(at, n0, min(e, {{BLOCKS - 1}}u) - {{A_BLOCKS}}u);
#endif
}

fn fetch{{i}}(item: Item, t: u32, k: u32, k_end: u32) -> array<vec4<f32>, 4> {
#if KIND == "a"
  return a_block(item.base, item.last, k + item.k, k_end);
#elif KIND == "b"
  return b_block(item.base, item.last, k + item.k, k_end);
#else
  if (t + {{FIRST}}u < {{A_BLOCKS}}u) { return a_block(item.base, item.last, k + item.k, k_end); }
  return b_block(item.base, item.last, k + item.k, k_end);
#endif
}

fn put{{i}}(item: Item, t: u32, stage: u32, rows: array<vec4<f32>, 4>) {
#if FIRST + THREADS > BLOCKS
  if (t + {{FIRST}}u >= {{BLOCKS}}u) { return; }
#endif
#if KIND == "both"
  let row = select({{B4}}u, {{A4}}u, t + {{FIRST}}u < {{A_BLOCKS}}u);
#else
  let row = {{KIND == "a" ? A4 : B4}}u;
#endif
#for c in 0..4
  tile[stage + item.slot + {{c}}u * row] = {{FOUR}}(rows[{{c}}]);
#endfor
}
#endfor

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let at = place(group.z);
  let tile_at = banded(group, groups, {{BAND}}u);
  let m0 = tile_at.x * {{BM}}u;
  let n0 = tile_at.y * {{BN}}u;
  // Neighbouring invocations form 8 x 4 patches of the tile.
  let tx = t / 32u % {{NX / 8}}u * 8u + t % 8u;
  let ty = t / 32u / {{NX / 8}}u * 4u + t / 8u % 4u;
#for i in 0..TM
#for g in 0..TN / 4
  var c{{i}}_{{g}} = vec4<f32>();
#endfor
#endfor
#for i in 0..ITEMS
  let item_{{i}} = item{{i}}(at, m0, n0, t);
  var r{{i}} = array<vec4<f32>, 4>();
  if (at.k_begin < at.k_end) { r{{i}} = fetch{{i}}(item_{{i}}, t, at.k_begin, at.k_end); }
#endfor
  for (var k = at.k_begin; k < at.k_end; k += {{STAGES * BK}}u) {
#for s in 0..STAGES
#if s > 0
    if (k + {{s * BK}}u < at.k_end) {
#else
    {
#endif
#if STAGES == 1
      workgroupBarrier();
#endif
#for i in 0..ITEMS
      put{{i}}(item_{{i}}, t, {{s * STAGE}}u, r{{i}});
#endfor
      workgroupBarrier();
      if (k + {{(s + 1) * BK}}u < at.k_end) {
#for i in 0..ITEMS
        r{{i}} = fetch{{i}}(item_{{i}}, t, k + {{(s + 1) * BK}}u, at.k_end);
#endfor
      }
#if HALVES
#for i in 0..TM
#for g in 0..TN / 4
      var h{{i}}_{{g}} = vec4<f16>();
#endfor
#endfor
#endif
      for (var k4 = 0u; k4 < {{K4}}u; k4 += {{UNROLL}}u) {
#for u in 0..UNROLL
        {
          let turn = ((k4 + {{u}}u) * {{SWIZZLE}}u) & 7u;
          let row_a = {{s * STAGE}}u + (k4 + {{u}}u) * {{4 * A4}}u;
          let row_b = {{s * STAGE + BK * A4}}u + (k4 + {{u}}u) * {{4 * B4}}u;
#for c in 0..4
          {
#for g in 0..TM / 4
            let a{{g}} = tile[row_a + {{c * A4}}u + ((ty + {{g * NY}}u) ^ turn)];
#endfor
#for g in 0..TN / 4
            let b{{g}} = tile[row_b + {{c * B4}}u + ((tx + {{g * NX}}u) ^ turn)];
#endfor
#for i in 0..TM
#for g in 0..TN / 4
            {{SUM}}{{i}}_{{g}} = fma({{FOUR}}(a{{i / 4}}[{{i % 4}}]), b{{g}}, {{SUM}}{{i}}_{{g}});
#endfor
#endfor
          }
#endfor
        }
#endfor
      }
#if HALVES
#for i in 0..TM
#for g in 0..TN / 4
      c{{i}}_{{g}} += vec4<f32>(h{{i}}_{{g}});
#endfor
#endfor
#endif
    }
#endfor
  }
#if C_VEC
#for i in 0..TM
  {
    let m = m0 + (ty + {{i / 4 * NY}}u) * 4u + {{i % 4}}u;
    if (m < p.m) {
#for g in 0..TN / 4
      if (n0 + (tx + {{g * NX}}u) * 4u < p.n) { emit4(at, m, n0 + (tx + {{g * NX}}u) * 4u, c{{i}}_{{g}}); }
#endfor
    }
  }
#endfor
#else
  // One element at a time is slow anyway: a loop keeps the text small.
  var sums = array<vec4<f32>, {{TM * TN / 4}}>({{""}}
#for i in 0..TM
#for g in 0..TN / 4
    c{{i}}_{{g}},
#endfor
#endfor
  );
  for (var i = 0u; i < {{TM}}u; i++) {
    let m = m0 + (ty + i / 4u * {{NY}}u) * 4u + i % 4u;
    for (var g = 0u; g < {{TN / 4}}u; g++) {
      let n = n0 + (tx + g * {{NX}}u) * 4u;
      if (m < p.m && n < p.n) { emit4(at, m, n, sums[i * {{TN / 4}}u + g]); }
    }
  }
#endif
}
