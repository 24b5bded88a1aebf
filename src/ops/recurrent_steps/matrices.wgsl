// The head of a step on subgroup matrices: the product of the states A of TILE_ROWS sequences (the last one again behind the
// end) with the weights of TILE_UNITS units, GATES rows of w for each. Subgroups share out k, and invocations add their sums
// up and hand UNITS neighbouring units of a sequence to finish(direction, row, unit, v), as in product.wgsl.
// With PEAKS states are f32, derivatives, and each sequence is scaled by a power of two before it is rounded, so that the largest of
// its numbers, which the step before left in `peak`, is below 2^15.
// Workgroup memory: BK elements of the states and the weights, rows padded by 16 bytes; later the sums of each subgroup.
// Assumes: subgroups of SUBGROUP invocations, numbered subgroup by subgroup; rows of A and w are aligned and whole in steps of BK, those of w are f16.
#let THREADS = SUBGROUP_COUNT * SUBGROUP
#let WEIGHTS = UNITS * GATES
#let COLUMNS = TILE_UNITS * GATES
#let LINE = BK / 8
#let LD = LINE + 1
#let OUT = COLUMNS / 4 + 1
#let A_LOADS = TILE_ROWS * LINE / THREADS
#let LOADS = A_LOADS + COLUMNS * LINE / THREADS
#let TEAMS = TILE_UNITS / UNITS
#let LEFT = "subgroup_matrix_left<f16, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<f16, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
alias Products = array<f32, {{WEIGHTS}}>;
var<workgroup> tile: array<vec4<u32>, {{max((TILE_ROWS + COLUMNS) * LD, SUBGROUP_COUNT * TILE_ROWS * OUT)}}>;

#if PEAKS
// The power of two below the peak of a sequence.
fn power_of(direction: u32, row: u32) -> i32 {
  return clamp(i32(peak_word(p.peak_off + p.peak_last + direction * p.batch + row) >> 23u) - 127i, -112i, 128i);
}
fn a_words(i: u32, factor: f32) -> vec4<u32> {
  let a = {{A}}_at4(i) * factor;
  let b = {{A}}_at4(i + 4u) * factor;
  return vec4<u32>(bitcast<u32>(vec2<f16>(a.xy)), bitcast<u32>(vec2<f16>(a.zw)), bitcast<u32>(vec2<f16>(b.xy)), bitcast<u32>(vec2<f16>(b.zw)));
}
#endif

fn run(n: u32, t: u32, sg: u32) {
  let direction = n / (p.row_groups * p.unit_groups);
  if (direction >= p.directions) { return; }
  let row0 = n % p.row_groups * {{TILE_ROWS}}u;
  let unit0 = n / p.row_groups % p.unit_groups * {{TILE_UNITS}}u;
#for i in 0..LOADS
  let line{{i}} = (t + {{i * THREADS}}u) / {{LINE}}u;
#if i < A_LOADS
  let base{{i}} = p.{{A}}_off + p.a_first + direction * p.a_direction + min(row0 + line{{i}}, p.batch - 1u) * p.a_row + t % {{LINE}}u * 8u;
#else
  let j{{i}} = line{{i}} - {{TILE_ROWS}}u;
  let base{{i}} = p.w_off + direction * p.w_direction + t % {{LINE}}u * 8u
      + (min(unit0 + j{{i}} % {{TILE_UNITS}}u, p.hidden - 1u) + j{{i}} / {{TILE_UNITS}}u * p.hidden) * p.w_row;
#endif
#if PEAKS && i < A_LOADS
  let factor{{i}} = bitcast<f32>(u32(141i - power_of(direction, min(row0 + line{{i}}, p.batch - 1u))) << 23u);
  var r{{i}} = a_words(base{{i}}, factor{{i}});
#else
  var r{{i}} = {{i < A_LOADS ? A : "w"}}_words4(base{{i}} / 2u);
#endif
#endfor
#for i in 0..TILE_ROWS / MM
#for j in 0..COLUMNS / MN
  var c{{i}}_{{j}} = {{SUMS}}();
#endfor
#endfor
  for (var k = 0u; k < p.depth; k += {{BK}}u) {
    workgroupBarrier();
#for i in 0..LOADS
    tile[line{{i}} * {{LD}}u + t % {{LINE}}u] = r{{i}};
#endfor
    workgroupBarrier();
    if (k + {{BK}}u < p.depth) {
#for i in 0..LOADS
      r{{i}} = {{PEAKS && i < A_LOADS ? "a_words(base" + i + " + k + " + BK + "u, factor" + i + ")" : (i < A_LOADS ? A : "w") + "_words4((base" + i + " + k + " + BK + "u) / 2u)"}};
#endfor
    }
#for step in 0..BK / MK / SUBGROUP_COUNT
    let at{{step}} = (sg + {{step * SUBGROUP_COUNT}}u) * {{MK / 8}}u;
#for i in 0..TILE_ROWS / MM
    let a{{step}}_{{i}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&tile, {{i * MM * LD}}u + at{{step}}, {{LD}}u);
#endfor
#for j in 0..COLUMNS / MN
    let b{{step}}_{{j}} = subgroupMatrixLoad<{{RIGHT}}, col_major>(&tile, {{(TILE_ROWS + j * MN) * LD}}u + at{{step}}, {{LD}}u);
#for i in 0..TILE_ROWS / MM
    c{{i}}_{{j}} = subgroupMatrixMultiplyAccumulate(a{{step}}_{{i}}, b{{step}}_{{j}}, c{{i}}_{{j}});
#endfor
#endfor
#endfor
  }
  workgroupBarrier();
#for i in 0..TILE_ROWS / MM
#for j in 0..COLUMNS / MN
  subgroupMatrixStore<row_major>(&tile, (sg * {{TILE_ROWS}}u + {{i * MM}}u) * {{OUT}}u + {{j * MN / 4}}u, c{{i}}_{{j}}, {{OUT}}u);
#endfor
#endfor
  workgroupBarrier();
  for (var i = t; i < {{TILE_ROWS * TEAMS}}u; i += {{THREADS}}u) {
    let own = i / {{TEAMS}}u;
    let row = row0 + own;
    let unit = i % {{TEAMS}}u * {{UNITS}}u;
    if (row < p.batch && unit0 + unit < p.hidden) {
      var v: Products;
#if PEAKS
      let back = bitcast<f32>(u32(113i + power_of(direction, row)) << 23u);
#endif
#for u in 0..UNITS
#for g in 0..GATES
      {
        let place = unit + {{g * TILE_UNITS + u}}u;
        var sum = 0.0;
#for s in 0..SUBGROUP_COUNT
        sum += bitcast<f32>(tile[({{s * TILE_ROWS}}u + own) * {{OUT}}u + place / 4u][place % 4u]);
#endfor
        v[{{u * GATES + g}}] = sum{{PEAKS ? " * back" : ""}};
      }
#endfor
#endfor
      finish(direction, row, unit0 + unit, v);
    }
  }
}
