// y[s, c] = Σ weights[i] · x[places[i], c] over the places of segment s, or their mean or extremes.
// Tile: WORKGROUP invocations, LANES of them for each result, which take its places in turn; results are neighbours along a row.
// With PARTS a launch sees some of the places and some of the rows of x, and all but the first go on from what y has.
// Workgroup memory: 4 bytes per invocation with LANES > 1.
alias T = {{DOMAIN}};

#if LANES > 1
var<workgroup> shared_v: array<T, {{WORKGROUP}}>;
#endif

fn is_nan(v: T) -> bool {
#if DOMAIN == "f32"
  return (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u;
#else
  return false;
#endif
}

fn join(y: T, v: T) -> T {
#if FUNCTION == "max"
  return select(y, v, !is_nan(y) && (is_nan(v) || v > y));
#elif FUNCTION == "min"
  return select(y, v, !is_nan(y) && (is_nan(v) || v < y));
#else
  return y + v;
#endif
}

// Negative ones become large: no row.
fn place_of(i: u32) -> u32 { return bitcast<u32>(places_at(p.places_off + i * p.places_step)); }

fn take(y: T, place: u32, i: u32, c: u32) -> T {
  let row = place - p.first_row;
#if PARTS
  if (row >= p.rows && (place < p.all_rows || p.first_rows == 0u)) { return y; }
#endif
  var v = T(0);
  if (row < p.rows) { v = T(x_at(p.x_off + row * p.x_row + c * p.x_column)); }
#if WEIGHTED
  v *= T(weights_at(p.weights_off + i * p.weights_step));
#endif
  return join(y, v);
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP / LANES}}u + lane / {{LANES}}u;
  let part = lane % {{LANES}}u;
  let live = g < p.total;
  let c = g % p.columns;
  let s = select(0u, g / p.columns, live);
  // Places of all launches, and those of this one.
  let first = u32(clamp(starts_at(p.starts_off + s * p.starts_step), 0, i32(p.all_places)));
  let end = u32(clamp(starts_at(p.starts_off + (s + 1u) * p.starts_step), 0, i32(p.all_places)));
  let to = p.y_off + s * p.y_row + c * p.y_column;
  var y = bitcast<T>(p.neutral);
#if PARTS
  if (live && part == 0u && p.first == 0u) { y = y_at(to); }
  var i = max(first, p.first_place) - p.first_place + part;
  let last = select(0u, min(end, p.first_place + p.places) - p.first_place, live && end > p.first_place);
#else
  var i = first + part;
  let last = select(0u, end, live);
#endif
  for (; i + {{3 * LANES}}u < last; i += {{4 * LANES}}u) {
#for k in 0..4
    let place{{k}} = place_of(i + {{k * LANES}}u);
#endfor
#for k in 0..4
    y = take(y, place{{k}}, i + {{k * LANES}}u, c);
#endfor
  }
  for (; i < last; i += {{LANES}}u) { y = take(y, place_of(i), i, c); }
#if LANES > 1
  shared_v[lane] = y;
#let STEP = LANES
#for level in 0..8
#if STEP > 1
#let STEP = STEP / 2
  workgroupBarrier();
  if (part < {{STEP}}u) { shared_v[lane] = join(shared_v[lane], shared_v[lane + {{STEP}}u]); }
#endif
#endfor
  y = shared_v[lane];
#endif
  if (live && part == 0u) {
#if FUNCTION == "mean"
    if (p.last == 1u) { y /= T(end - first); }
#endif
    y_put(to, select(T(0), y, first < end));
  }
}
