// y[i] = Σ a[row, k] · b[columns[i], k] for the elements of a sparse matrix, whose rows are found in `starts` by bisection.
// Tile: WORKGROUP invocations, LANES for each element, which take its products in turn. With PARTS a launch sees some of the rows
// of a and b, and writes the elements that belong to them; the first one writes 0 for those that belong to none.
// Workgroup memory: 4 bytes per invocation with LANES > 1.
#if LANES > 1
var<workgroup> sums: array<f32, {{WORKGROUP}}>;
#endif

fn start_of(row: u32) -> i32 { return starts_at(p.starts_off + row * p.starts_step); }

// How many rows begin at or before an element, less one.
fn row_of(element: i32) -> u32 {
  var low = 0u;
  var high = p.starts;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (start_of(middle) <= element) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return low - 1u;  // no row where none has begun
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = group_index(group, groups) * {{WORKGROUP / LANES}}u + lane / {{LANES}}u;
  let part = lane % {{LANES}}u;
  let live = i < p.count;
  let row = row_of(i32(i + p.first_element));
  let column = bitcast<u32>(columns_at(p.columns_off + select(0u, i, live) * p.columns_step));
  let a_row = row - p.first_a;
  let b_row = column - p.first_b;
  let here = live && a_row < p.a_rows && b_row < p.b_rows;
  var sum = 0.0;
  if (here) {
    let a = p.a_off + a_row * p.a_row;
    let b = p.b_off + b_row * p.b_row;
    for (var k = part; k < p.size; k += {{LANES}}u) { sum = fma(a_at(a + k * p.a_step), b_at(b + k * p.b_step), sum); }
  }
#if LANES > 1
  sums[lane] = sum;
#let STEP = LANES
#for level in 0..8
#if STEP > 1
#let STEP = STEP / 2
  workgroupBarrier();
  if (part < {{STEP}}u) { sums[lane] += sums[lane + {{STEP}}u]; }
#endif
#endfor
  sum = sums[lane];
#endif
#if PARTS
  let nowhere = row >= p.all_a || column >= p.all_b;
  let writes = here || (nowhere && p.first == 1u);
#else
  let writes = true;
#endif
  if (live && part == 0u && writes) { y_put(p.y_off + i * p.y_step, sum); }
}
