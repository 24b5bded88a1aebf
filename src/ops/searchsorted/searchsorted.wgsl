// y[…, j]: how many elements of an ascending row lie below a value (RIGHT: not above it), by bisection.
// MORE: the row goes on from a part whose count y has.
// Tile: 256 invocations, one per value. No workgroup memory.
#if DOMAIN == "i64"
alias T = vec2<u32>;  // low and high word
#else
alias T = {{DOMAIN}};
#endif

fn goes_behind(element: T, value: T) -> bool {
#if DOMAIN == "i64"
  let high = bitcast<i32>(element.y) < bitcast<i32>(value.y);
  return high | ((element.y == value.y) & (element.x {{RIGHT ? "<=" : "<"}} value.x));
#elif DOMAIN == "f32"
  // NaN belongs behind everything. Its bits are looked at, because compilers may take it that there is none.
  let none = (bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u;
  let end = (bitcast<u32>(element) & 0x7fffffffu) > 0x7f800000u;  // where the numbers end
#if RIGHT
  return none | (!end & (element <= value));
#else
  return !end & (none | (element < value));
#endif
#else
  return element {{RIGHT ? "<=" : "<"}} value;
#endif
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
  let j = g % p.columns;
  var row = g / p.columns;
  var sorted_at_row = p.sorted_off;
  var value_at_row = p.values_off;
  var y_at_row = p.y_off;
#for d in 0..RANK
  let place{{d}} = row % p.rows_{{RANK - 1 - d}};
  row = row / p.rows_{{RANK - 1 - d}};
  sorted_at_row += place{{d}} * p.sorted_row_{{RANK - 1 - d}};
  value_at_row += place{{d}} * p.values_row_{{RANK - 1 - d}};
  y_at_row += place{{d}} * p.y_row_{{RANK - 1 - d}};
#endfor
#if DOMAIN == "i64"
  let value = values_words2((value_at_row + j * p.values_step) * 2u);
#else
  let value = T(values_at(value_at_row + j * p.values_step));
#endif
  var low = 0u;
  var high = p.length;
  while (low < high) {
    let middle = (low + high) / 2u;
    let place = sorted_at_row + middle * p.sorted_step;
#if DOMAIN == "i64"
    let element = sorted_words2(place * 2u);
#else
    let element = T(sorted_at(place));
#endif
    if (goes_behind(element, value)) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
#if MORE
  low += u32(y_at(y_at_row + j * p.y_step));
#endif
  y_put(y_at_row + j * p.y_step, i32(low));
}
