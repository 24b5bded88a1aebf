// y[s, c] = Σ weights[i] · x[places[i], c] over the places of segment s, or their mean or extremes.
// Tile: WORKGROUP invocations, one result each, neighbours along a row. No workgroup memory.
alias T = {{DOMAIN}};

fn is_nan(v: T) -> bool {
#if DOMAIN == "f32"
  return (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u;
#else
  return false;
#endif
}

fn term(i: u32, c: u32) -> T {
  let place = places_at(p.places_off + i * p.places_step);
  var v = T(0);
  if (place >= 0 && u32(place) < p.rows) { v = T(x_at(p.x_off + u32(place) * p.x_row + c * p.x_column)); }
#if WEIGHTED
  v *= T(weights_at(p.weights_off + i * p.weights_step));
#endif
  return v;
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
  let c = g % p.columns;
  let s = g / p.columns;
  let first = u32(clamp(starts_at(p.starts_off + s * p.starts_step), 0, i32(p.count)));
  let end = u32(clamp(starts_at(p.starts_off + (s + 1u) * p.starts_step), 0, i32(p.count)));
  var y = T(0);
  if (first < end) {
    y = term(first, c);
    for (var i = first + 1u; i < end; i++) {
      let v = term(i, c);
#if FUNCTION == "max"
      if (!is_nan(y) && (is_nan(v) || v > y)) { y = v; }
#elif FUNCTION == "min"
      if (!is_nan(y) && (is_nan(v) || v < y)) { y = v; }
#else
      y += v;
#endif
    }
#if FUNCTION == "mean"
    y /= T(end - first);
#endif
  }
  y_put(p.y_off + s * p.y_row + c * p.y_column, y);
}
