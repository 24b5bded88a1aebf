// columns[n, o…, c, k…] = image[n, c, o * stride - pad + k * dilation…], 0 outside.
// A place in the columns is a position (n, od, oh, ow) and an element of the window (c, kd, kh, kw), each numbered in that
// order. One of the two is the inner one, in which chunks of CHUNK elements lie side by side in memory.
// Tile: 256 invocations, each with one chunk and up to 8 numbers of the outer kind. No workgroup memory.
// Assumes: with CHUNK > 1 the inner kind is a multiple of CHUNK and dense, and all its chunks are aligned.
#let EACH = 8
struct Place {
  columns: u32,   // steps in the columns
  image: i32,     // steps in the image from n or c
  at: vec3<i32>,  // what it adds to the place in the image
}

fn position(i: u32) -> vec4<u32> {
  let w = i % p.out_2;
  let h = (i / p.out_2) % p.out_1;
  let rest = i / (p.out_2 * p.out_1);
  return vec4<u32>(rest / p.out_0, rest % p.out_0, h, w);
}
fn element(i: u32) -> vec4<u32> {
  let w = i % p.kernel_2;
  let h = (i / p.kernel_2) % p.kernel_1;
  let rest = i / (p.kernel_2 * p.kernel_1);
  return vec4<u32>(rest / p.kernel_0, rest % p.kernel_0, h, w);
}
fn place_of_position(v: vec4<u32>) -> Place {
  let o = vec3<i32>(v.yzw);
  return Place(dot(v, vec4<u32>(p.columns_0, p.columns_1, p.columns_2, p.columns_3)), i32(v.x * p.batch_0),
               o * vec3<i32>(p.stride_0, p.stride_1, p.stride_2) - vec3<i32>(p.pad_0, p.pad_1, p.pad_2));
}
fn place_of_element(v: vec4<u32>) -> Place {
  return Place(dot(v, vec4<u32>(p.columns_4, p.columns_5, p.columns_6, p.columns_7)), i32(v.x * p.batch_1),
               vec3<i32>(v.yzw) * vec3<i32>(p.dilation_0, p.dilation_1, p.dilation_2));
}

// The next number in the order of position() or element(), without divisions.
fn next(v: vec4<u32>, extent: vec3<u32>) -> vec4<u32> {
  var out = v + vec4<u32>(0u, 0u, 0u, 1u);
  if (out.w == extent.z) { out = vec4<u32>(out.x, out.y, out.z + 1u, 0u); }
  if (out.z == extent.y) { out = vec4<u32>(out.x, out.y + 1u, 0u, out.w); }
  if (out.y == extent.x) { out = vec4<u32>(out.x + 1u, 0u, out.z, out.w); }
  return out;
}

#if INNER == "element"
fn inner_place(i: u32) -> Place { return place_of_element(element(i)); }
fn outer_first(i: u32) -> vec4<u32> { return position(i); }
fn outer_place(v: vec4<u32>) -> Place { return place_of_position(v); }
fn outer_next(v: vec4<u32>) -> vec4<u32> { return next(v, vec3<u32>(p.out_0, p.out_1, p.out_2)); }
#else
fn inner_place(i: u32) -> Place { return place_of_position(position(i)); }
fn outer_first(i: u32) -> vec4<u32> { return element(i); }
fn outer_place(v: vec4<u32>) -> Place { return place_of_element(v); }
fn outer_next(v: vec4<u32>) -> vec4<u32> { return next(v, vec3<u32>(p.kernel_0, p.kernel_1, p.kernel_2)); }
#endif

fn value(a: Place, b: Place) -> f32 {
  let at = a.at + b.at;
  if (any(at < vec3<i32>(0)) || any(at >= vec3<i32>(p.size_0, p.size_1, p.size_2))) { return 0.0; }
  let steps = at * vec3<i32>(p.step_0, p.step_1, p.step_2);
  return image_at(p.image_off + u32(a.image + b.image + steps.x + steps.y + steps.z));
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let n = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (n >= p.total) { return; }
  let chunk = n % p.inner_chunks;
  let first = (n / p.inner_chunks) * {{EACH}}u;
#for e in 0..CHUNK
  let inner{{e}} = inner_place(chunk * {{CHUNK}}u + {{e}}u);
#endfor
  var counts = outer_first(first);
  let end = min(first + {{EACH}}u, p.outer);
  for (var i = first; i < end; i++) {
    let outer = outer_place(counts);
    let to = p.columns_off + outer.columns + inner0.columns;
#if CHUNK == 8
    columns_put8(to, vec4<f32>(value(inner0, outer), value(inner1, outer), value(inner2, outer), value(inner3, outer)),
                 vec4<f32>(value(inner4, outer), value(inner5, outer), value(inner6, outer), value(inner7, outer)));
#elif CHUNK == 4
    columns_put4(to, vec4<f32>(value(inner0, outer), value(inner1, outer), value(inner2, outer), value(inner3, outer)));
#elif CHUNK == 2
    columns_put2(to, vec2<f32>(value(inner0, outer), value(inner1, outer)));
#else
    columns_put(to, value(inner0, outer));
#endif
    counts = outer_next(counts);
  }
}
