// The head of a step: which units and sequences a group of LANES invocations has, and the product of the states A of ROWS
// sequences with WEIGHTS rows of w, so many columns at a time: LANES invocations add up their shares through workgroup memory.
// Includers define finish(direction, row, unit, v), which gets the products of one sequence with UNITS neighbouring units,
// GATES for each.
// Tile: WORKGROUP / LANES groups. Workgroup memory: with LANES > 1 at most 12 KiB.
#let WEIGHTS = UNITS * GATES
#let GROUPS = WORKGROUP / LANES
alias Products = array<f32, {{WEIGHTS}}>;

struct Place { direction: u32, row: u32, unit: u32, live: bool }

// The first sequence and unit of a group. Sequences come first, so that neighbouring groups read the same weights.
fn place_of(n: u32) -> Place {
  let m = n / p.row_groups;
  let direction = m / p.unit_groups;
  return Place(min(direction, p.directions - 1u), (n % p.row_groups) * {{ROWS}}u, (m % p.unit_groups) * {{UNITS}}u,
               direction < p.directions);
}

#if OWN && LANES > 1
var<workgroup> shares: array<f32, {{WORKGROUP * WEIGHTS}}>;
var<workgroup> products: array<f32, {{GROUPS * ROWS * WEIGHTS}}>;
#endif

fn run(n0: u32, lane: u32) {
  let place = place_of(n0 + lane / {{LANES}}u);
#if OWN
#for r in 0..ROWS
  let a{{r}} = p.{{A}}_off + p.a_first + place.direction * p.a_direction + min(place.row + {{r}}u, p.batch - 1u) * p.a_row;
#endfor
#for j in 0..WEIGHTS
  let w{{j}} = p.w_off + place.direction * p.w_direction
      + (min(place.unit + {{j / GATES}}u, p.hidden - 1u) + {{j % GATES}}u * p.hidden) * p.w_row;
#for r in 0..ROWS
  var s{{j}}_{{r}} = 0.0;
#endfor
#endfor
  for (var k = lane % {{LANES}}u * {{VEC}}u; k < p.depth; k += {{LANES * VEC}}u) {
#for r in 0..ROWS
    let x{{r}} = {{A}}_at{{VEC == 4 ? "4" : ""}}(a{{r}} + k);
#endfor
#for j in 0..WEIGHTS
    {
      let y = w_at{{VEC == 4 ? "4" : ""}}(w{{j}} + k);
#for r in 0..ROWS
      s{{j}}_{{r}} += {{VEC == 4 ? "dot(y, x" + r + ")" : "y * x" + r}};
#endfor
    }
#endfor
  }
#endif
#if OWN && LANES > 1
  let own = lane / {{LANES}}u;
#for r in 0..ROWS
#for j in 0..WEIGHTS
  shares[lane * {{WEIGHTS}}u + {{j}}u] = s{{j}}_{{r}};
#endfor
  workgroupBarrier();
  for (var j = lane % {{LANES}}u; j < {{WEIGHTS}}u; j += {{LANES}}u) {
    var sum = 0.0;
    for (var i = 0u; i < {{LANES}}u; i++) { sum += shares[(own * {{LANES}}u + i) * {{WEIGHTS}}u + j]; }
    products[(own * {{ROWS}}u + {{r}}u) * {{WEIGHTS}}u + j] = sum;
  }
  workgroupBarrier();
#endfor
  for (var i = lane; i < {{GROUPS * ROWS}}u; i += {{WORKGROUP}}u) {
    let there = place_of(n0 + i / {{ROWS}}u);
    let row = there.row + i % {{ROWS}}u;
    if (there.live & (row < p.batch)) {
      var v: Products;
      for (var j = 0u; j < {{WEIGHTS}}u; j++) { v[j] = products[i * {{WEIGHTS}}u + j]; }
      finish(there.direction, row, there.unit, v);
    }
  }
#else
  if (!place.live) { return; }
#for r in 0..ROWS
  if (place.row + {{r}}u < p.batch) {
#let LIST = ""
#for j in 0..WEIGHTS
#let LIST = LIST + (j > 0 ? ", " : "") + (OWN ? "s" + j + "_" + r : "0.0")
#endfor
    finish(place.direction, place.row + {{r}}u, place.unit, Products({{LIST}}));
  }
#endfor
#endif
}
