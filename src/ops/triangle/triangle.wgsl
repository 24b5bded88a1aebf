// Forward (or, with an upper triangle, backward) substitution, one column of X per invocation.
// Tile: WORKGROUP invocations, neighbouring columns of one matrix. 16 rows are solved at a time: first the rows before them
// are subtracted from all 16 at once, with elements of A that the invocations load together, then the 16 are solved
// in registers. Workgroup memory: 1 KiB for 16 x 16 elements of A.
#let STEP = 16
var<workgroup> block: array<f32, {{STEP * STEP}}>;

// Row i in the order of the substitution.
fn row_of(i: u32) -> u32 { return select(i, p.n - 1u - i, p.upper == 1u); }

// Elements [first, first + STEP) x [column, column + STEP) of A to `block`; 0 past the end.
fn load_block(a: u32, first: u32, column: u32, lane: u32) {
  workgroupBarrier();
  for (var e = lane; e < {{STEP * STEP}}u; e += {{WORKGROUP}}u) {
    let i = first + e / {{STEP}}u;
    let j = column + e % {{STEP}}u;
    block[e] = 0.0;
    if (i < p.n && j <= i) { block[e] = a_at(a + row_of(i) * p.a_row + row_of(j) * p.a_column); }
  }
  workgroupBarrier();
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
  let tile = g % p.tiles;
  var rest = g / p.tiles;
  var a = p.a_off;
  var b = p.b_off;
  var x = p.x_off;
#for back in 0..RANK
#let d = RANK - 1 - back
  {
    let at = rest % p.batch_{{d}};
    rest /= p.batch_{{d}};
    a += at * p.a_{{d}};
    b += at * p.b_{{d}};
    x += at * p.x_{{d}};
  }
#endfor
  let wanted = tile * {{WORKGROUP}}u + lane;
  let live = wanted < p.k;
  let column = min(wanted, p.k - 1u);
  b += column * p.b_column;
  x += column * p.x_column;

  for (var first = 0u; first < p.n; first += {{STEP}}u) {
#for i in 0..STEP
    var v{{i}} = 0.0;
    if (first + {{i}}u < p.n) { v{{i}} = b_at(b + row_of(first + {{i}}u) * p.b_row); }
#endfor
    for (var done = 0u; done < first; done += {{STEP}}u) {
      load_block(a, first, done, lane);
      for (var j = 0u; j < {{STEP}}u; j++) {
        let solved = x_at(x + row_of(done + j) * p.x_row);
#for i in 0..STEP
        v{{i}} -= block[{{i * STEP}}u + j] * solved;
#endfor
      }
    }
    load_block(a, first, first, lane);
#for i in 0..STEP
#for j in 0..i
    v{{i}} -= block[{{i * STEP + j}}u] * v{{j}};
#endfor
    v{{i}} /= select(1.0, block[{{i * STEP + i}}u], first + {{i}}u < p.n);
    if (live && first + {{i}}u < p.n) { x_put(x + row_of(first + {{i}}u) * p.x_row, v{{i}}); }
#endfor
  }
}
