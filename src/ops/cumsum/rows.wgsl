// Running sums along sequences whose elements lie closer together than the sequences do.
// Tile: SIZE invocations, LANES of them per sequence, 4 chunks of CHUNK elements each per block; they go through the blocks
// of their segment with a carry. Chunk c counts in the direction of the sum, so the partial chunk (if any) is the last
// one in memory. Workgroup memory: 4 KiB at most. Assumes: chunks are aligned in x and y.
// MODE "sums" writes the total of each segment, "scan" the running sums on top of p.sums where CARRIED.
alias T = {{DOMAIN}};
#include "cumsum/join.wgsl"
#if CHUNK >= 4
alias V = vec4<T>;
#else
alias V = T;
#endif
#let HALVES = CHUNK == 8 ? 2 : 1
#let ALL = LANES == WORKGROUP
#let IN_SUBGROUP = SHUFFLE && !ALL
alias Chunk = array<V, {{HALVES}}>;
#let JOIN = CHUNK == 1 ? "join1" : "join4"

fn nothing() -> Chunk { return Chunk({{HALVES == 2 ? "V(neutral()), V(neutral())" : "V(neutral())"}}); }

struct Kept { x: u32, y: u32 }

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
  at.x += c{{d}} * p.kept_x_{{d}};
  at.y += c{{d}} * p.kept_y_{{d}};
#endfor
  return at;
}

// The first element of chunk c.
fn element_of(c: u32) -> u32 { return {{REVERSE ? "(p.chunks - 1u - c)" : "c"}} * {{CHUNK}}u; }

// Turns a chunk between its order in memory and the direction of the sum.
fn turned(v: Chunk) -> Chunk {
#if !REVERSE || CHUNK == 1
  return v;
#elif CHUNK == 4
  return Chunk(v[0].wzyx);
#else
  return Chunk(v[1].wzyx, v[0].wzyx);
#endif
}

fn load(base: u32, c: u32) -> Chunk {
  let element = element_of(c);
  let at = base + (element - p.first_element) * p.scan_x;
#if CHUNK == 1
  return Chunk(T(x_at(at)));
#else
#if TAIL
  if (element + {{CHUNK}}u > p.count) {
    // Reads the last element in place of those behind it, and drops it again.
    var v = nothing();
    let last = p.count - 1u - element;
#for k in 0..(CHUNK - 1)
    v[{{k / 4}}][{{k % 4}}] = select(neutral(), T(x_at(at + min({{k}}u, last))), {{k}}u <= last);
#endfor
    return turned(v);
  }
#endif
#if CHUNK == 8
  let both = x_at8(at);
  return turned(Chunk(V(both[0]), V(both[1])));
#else
  return turned(Chunk(V(x_at4(at))));
#endif
#endif
}

#if MODE == "scan"
fn store(base: u32, c: u32, summed: Chunk) {
  let v = turned(summed);
  let element = element_of(c);
  let at = base + (element - p.first_element) * p.scan_y;
#if CHUNK == 1
  y_put(at, y_t(v[0]));
#else
#if TAIL
  if (element + {{CHUNK}}u > p.count) {
    var values = v;
    for (var k = 0u; element + k < p.count; k++) { y_put(at + k, y_t(values[k / 4u][k % 4u])); }
    return;
  }
#endif
#if CHUNK == 8
  y_put8(at, vec4<y_t>(v[0]), vec4<y_t>(v[1]));
#else
  y_put4(at, vec4<y_t>(v[0]));
#endif
#endif
}
#endif

// Running sums inside a chunk.
fn within(v: Chunk) -> Chunk {
#if CHUNK == 1
  return v;
#else
  var out = v;
#for h in 0..HALVES
#if h > 0
  out[{{h}}].x = join1(out[{{h - 1}}].w, out[{{h}}].x);
#endif
  out[{{h}}].y = join1(out[{{h}}].x, out[{{h}}].y);
  out[{{h}}].z = join1(out[{{h}}].y, out[{{h}}].z);
  out[{{h}}].w = join1(out[{{h}}].z, out[{{h}}].w);
#endfor
  return out;
#endif
}

#if EXCLUSIVE
// The same without each element itself.
fn before(v: Chunk) -> Chunk {
#if CHUNK == 1
  return nothing();
#elif CHUNK == 4
  return Chunk(V(neutral(), v[0].xyz));
#else
  return Chunk(V(neutral(), v[0].xyz), V(v[0].w, v[1].xyz));
#endif
}
#endif

fn last_of(v: Chunk) -> T { return v[{{HALVES - 1}}]{{CHUNK == 1 ? "" : ".w"}}; }

#if !IN_SUBGROUP && LANES > 1
var<workgroup> shared_sums: array<vec4<T>, {{SIZE}}>;
#endif

@compute @workgroup_size({{SIZE}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
{{SHUFFLE ? "        @builtin(subgroup_size) width: u32, @builtin(subgroup_invocation_id) place: u32," : ""}}
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
#if LANES == 1
  let number = g * {{SIZE}}u + lane;
  let segment = p.first_segment + number % p.segments;
  let row = number / p.segments;
  const me = 0u;
#else
  let segment = p.first_segment + g % p.segments;
  let row = (g / p.segments) * {{SIZE / LANES}}u + lane / {{LANES}}u;
  let me = lane % {{LANES}}u;
#endif
  let live = row < p.rows;
  let at = kept_place(min(row, p.rows - 1u));
  let begin = segment * p.span;
  let end = min(begin + p.span, p.chunks);
  var carry = neutral();
#let CARRY = LANES == 1 ? "near" : "carry"
#if LANES == 1
  // One lane goes through many blocks: the carry of the last few is one of its own, so that fewer roundings add up.
  var near = neutral();
  var blocks = 0u;
#endif
#if CARRIED
  if (live) { carry = sums_at(p.sums_off + row * p.sum_row + segment * p.sum_segment); }
#endif
  // The bounds are the same for all lanes, so that all of them meet at the barriers.
  for (var block = begin; block < end; block += {{LANES * 4}}u) {
#for r in 0..4
    let c{{r}} = block + {{r * LANES}}u + me;
    var v{{r}} = nothing();
    if (live && c{{r}} < end) { v{{r}} = load(at.x, c{{r}}); }
#endfor
#for r in 0..4
    v{{r}} = within(v{{r}});
#endfor
    // own: sums of this lane's four chunks; ahead: those of the lanes in front; total: those of all lanes.
    let own = vec4<T>(last_of(v0), last_of(v1), last_of(v2), last_of(v3));
#if LANES == 1
    let total = own;
#elif IN_SUBGROUP
    var ahead = own;
#let M = 1
#for s in 0..8
#if M < LANES
    let up{{s}} = subgroupShuffleUp(ahead, {{M}}u);
    if (me >= {{M}}u) { ahead += up{{s}}; }
#let M = M * 2
#endif
#endfor
    let total = subgroupShuffle(ahead, place | {{LANES - 1}}u);
    let shifted = subgroupShuffleUp(ahead, 1u);
    ahead = select(shifted, vec4<T>(), me == 0u);
#elif SHUFFLE
    var ahead = subgroupExclusiveAdd(own);
    workgroupBarrier();
    if (place == width - 1u) { shared_sums[lane / width] = ahead + own; }
    workgroupBarrier();
    var total = vec4<T>();
    var front = vec4<T>();
    for (var k = 0u; k < {{SIZE}}u / width; k++) {
      if (k == lane / width) { front = total; }
      total += shared_sums[k];
    }
    ahead += front;
#else
    var ahead = own;
    workgroupBarrier();
    shared_sums[lane] = ahead;
    workgroupBarrier();
#let M = 1
#for s in 0..8
#if M < LANES
    if (me >= {{M}}u) { ahead = join4(shared_sums[lane - {{M}}u], ahead); }
    workgroupBarrier();
    shared_sums[lane] = ahead;
    workgroupBarrier();
#let M = M * 2
#endif
#endfor
    let total = shared_sums[lane | {{LANES - 1}}u];
    ahead = vec4<T>(neutral());
    if (me > 0u) { ahead = shared_sums[lane - 1u]; }
#endif
#if MODE == "scan"
#for r in 0..4
    if (live && c{{r}} < end) {
      let base = {{LANES == 1 ? "join1(carry, near)" : "join1(carry, ahead[" + r + "])"}};
      var out = {{EXCLUSIVE ? "before(v" + r + ")" : "v" + r}};
#for h in 0..HALVES
      out[{{h}}] = {{JOIN}}(V(base), out[{{h}}]);
#endfor
      store(at.y, c{{r}}, out);
    }
    {{CARRY}} = join1({{CARRY}}, total[{{r}}]);
#endfor
#else
    {{CARRY}} = join1({{CARRY}}, join1(join1(total.x, total.y), join1(total.z, total.w)));
#endif
#if LANES == 1
    blocks++;
    if (blocks % 16u == 0u) {
      carry = join1(carry, near);
      near = neutral();
    }
#endif
  }
#if MODE == "sums"
  if (live && me == 0u) {
    sums_put(p.sums_off + row * p.sum_row + segment * p.sum_segment, {{LANES == 1 ? "join1(carry, near)" : "carry"}});
  }
#endif
}
