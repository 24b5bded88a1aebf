// y[i…] = x[i - low…], with what lies outside of x given by MODE: "value", "replicate", "circular" or "reflect".
// With MODE "band", y[…, i, j] = x[…, i, j] where low <= j - i <= high, and a value elsewhere.
// Tile: 256 invocations, one per ITEMS times CHUNK neighbouring elements of y. No workgroup memory.
// Assumes: with CHUNK 2 the innermost extent of y is even, and pairs are whole words.
#let INNER = RANK - 1
alias T = y_t;

#if MODE == "circular"
// Without a remainder of negative numbers, which Vulkan leaves open.
fn place(i: i32, extent: i32) -> i32 {
  let r = select(i, -1 - i, i < 0) % extent;
  return select(r, extent - 1 - r, i < 0);
}
#elif MODE == "replicate"
fn place(i: i32, extent: i32) -> i32 { return clamp(i, 0, extent - 1); }
#elif MODE == "reflect"
fn place(i: i32, extent: i32) -> i32 {
  let period = max(2 * extent - 2, 1);
  let r = abs(i) % period;
  return min(r, period - r);
}
#else
fn place(i: i32, extent: i32) -> i32 { return i; }
#endif

fn one(at: array<u32, {{RANK}}>) -> T {
  var from_ = p.x_off;
#if MODE == "band"
  let away = i32(at[{{INNER}}]) - i32(at[{{INNER - 1}}]) - p.first_0;
  if (away < p.low_0 || away > p.low_1) { return bitcast<T>(p.value); }
#for d in 0..RANK
  from_ += at[{{d}}] * p.x_{{d}};
#endfor
#else
#for d in 0..RANK
  let i{{d}} = place(i32(at[{{d}}]) + p.first_{{d}} - p.low_{{d}}, p.size_{{d}});
#if MODE == "value"
  if (i{{d}} < 0 || i{{d}} >= p.size_{{d}}) { return bitcast<T>(p.value); }
#endif
  from_ += u32(i{{d}}) * p.x_{{d}};
#endfor
#endif
  return T(x_at(from_));
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
  var at: array<u32, {{RANK}}>;
  var rest = g;
  var to = p.y_off;
#for back in 0..RANK
#let d = INNER - back
#let STEP = d == INNER && CHUNK * ITEMS > 1 ? CHUNK * ITEMS : 1
#let EXTENT = STEP > 1 ? "(p.out_" + d + " / " + STEP + "u)" : "p.out_" + d
#if d == 0
  at[0] = rest{{STEP > 1 ? " * " + STEP + "u" : ""}};
#else
  let q{{d}} = rest / {{EXTENT}};
  at[{{d}}] = (rest - q{{d}} * {{EXTENT}}){{STEP > 1 ? " * " + STEP + "u" : ""}};
  rest = q{{d}};
#endif
  to += at[{{d}}] * p.y_{{d}};
#endfor
#if CHUNK == 2
  let a = one(at);
  at[{{INNER}}] += 1u;
  y_put2(to, vec2<T>(a, one(at)));
#else
  y_put(to, one(at));
#for k in 1..ITEMS
  at[{{INNER}}] += 1u;
  y_put(to + {{k}}u * p.y_{{INNER}}, one(at));
#endfor
#endif
}
