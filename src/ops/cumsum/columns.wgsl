// Running sums along sequences that lie side by side: each invocation goes along CHUNK neighbouring sequences.
// Tile: 256 invocations, one per chunk of sequences and segment; 8 elements in flight each. No workgroup memory.
// MODE "sums" writes the total of each segment, "scan" the running sums on top of p.sums where CARRIED.
alias T = {{DOMAIN}};
#include "cumsum/join.wgsl"
#let PAIR = CHUNK == 2
#let JOIN = PAIR ? "join2" : "join1"
alias V = {{PAIR ? "vec2<T>" : "T"}};
#let INNER = KEPT_RANK - 1

struct Kept { x: u32, y: u32 }

// Chunk `n` of the kept dimensions; the innermost one counts chunks.
fn kept_place(n: u32) -> Kept {
  var rest = n;
  var at = Kept(p.x_off, {{MODE == "scan" ? "p.y_off" : "0u"}});
#for back in 0..KEPT_RANK
#let d = KEPT_RANK - 1 - back
#if d == 0
  let c{{d}} = rest;
#else
  let q{{d}} = rest / p.kept_shape_{{d}};
  let c{{d}} = rest - q{{d}} * p.kept_shape_{{d}};
  rest = q{{d}};
#endif
  at.x += c{{d}} * {{d == INNER ? CHUNK : 1}}u * p.kept_x_{{d}};
  at.y += c{{d}} * {{d == INNER ? CHUNK : 1}}u * p.kept_y_{{d}};
#endfor
  return at;
}

fn place_of(i: u32) -> u32 { return {{REVERSE ? "p.count - 1u - i" : "i"}} - p.first_element; }

fn load(base: u32, i: u32) -> V {
  let at = base + place_of(i) * p.scan_x;
#if PAIR
  return V(T(x_at(at)), T(x_at(at + 1u)));
#else
  return T(x_at(at));
#endif
}

#if MODE == "scan"
fn store(base: u32, i: u32, v: V) {
  let at = base + place_of(i) * p.scan_y;
#if PAIR
  y_put2(at, vec2<y_t>(v));
#else
  y_put(at, y_t(v));
#endif
}
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let n = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (n >= p.rows * p.segments) { return; }
  let row = n % p.rows;
  let segment = p.first_segment + n / p.rows;
  let at = kept_place(row);
  let begin = segment * p.span;
  let end = min(begin + p.span, p.count);
  let sum_at = {{MODE == "sums" || CARRIED ? "p.sums_off + row * " + CHUNK + "u * p.sum_row + segment * p.sum_segment" : "0u"}};
  var sum = V(neutral());
#if CARRIED
#if PAIR
  sum = V(sums_at(sum_at), sums_at(sum_at + p.sum_row));
#else
  sum = sums_at(sum_at);
#endif
#endif
  var i = begin;
  for (; i + 7u < end; i += 8u) {
#for k in 0..8
    let v{{k}} = load(at.x, i + {{k}}u);
#endfor
#for k in 0..8
#if MODE == "scan" && EXCLUSIVE
    store(at.y, i + {{k}}u, sum);
#endif
    sum = {{JOIN}}(sum, v{{k}});
#if MODE == "scan" && !EXCLUSIVE
    store(at.y, i + {{k}}u, sum);
#endif
#endfor
  }
  for (; i < end; i++) {
    let v = load(at.x, i);
#if MODE == "scan" && EXCLUSIVE
    store(at.y, i, sum);
#endif
    sum = {{JOIN}}(sum, v);
#if MODE == "scan" && !EXCLUSIVE
    store(at.y, i, sum);
#endif
  }
#if MODE == "sums"
#if PAIR
  sums_put(sum_at, sum.x);
  sums_put(sum_at + p.sum_row, sum.y);
#else
  sums_put(sum_at, sum);
#endif
#endif
}
