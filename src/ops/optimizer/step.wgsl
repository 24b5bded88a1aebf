// One optimizer step over dense tensors as one run of elements, all tensors in one pass.
// Tile: 256 invocations with BLOCK elements each (4, or 1 where tensors are not aligned). No workgroup memory.
#let V = BLOCK == 4 ? "vec4<f32>" : "f32"
#let AT = BLOCK == 4 ? "at4" : "at"
#let PUT = BLOCK == 4 ? "put4" : "put"
alias V = {{V}};

fn number(i: u32) -> f32 { return numbers_at(p.numbers_off + i); }

struct Step {
  w: V,
#if HAS_M
  m: V,
#endif
#if ADAM
  v: V,
#endif
}

fn next(before: Step, gradient: V) -> Step {
  var s = before;
  let rate = number(0u);
#if ADAM
  let decay = number(4u);
  let beta1 = number(1u);
  let beta2 = number(2u);
#if COUPLED
  let g = gradient + decay * s.w;
  const keep = 1.0;
#else
  let g = gradient;
  let keep = 1.0 - rate * decay;
#endif
  s.m = s.m * beta1 + g * (1.0 - beta1);
  s.v = s.v * beta2 + g * g * (1.0 - beta2);
  s.w = s.w * keep - rate * (s.m * number(5u)) / (sqrt(s.v * number(6u)) + V(number(3u)));
#else
#if COUPLED
  let slope = gradient + number(1u) * s.w;
  const keep = 1.0;
#else
  let slope = gradient;
  let keep = 1.0 - rate * number(1u);
#endif
#if HAS_M
  s.m = s.m * number(2u) + slope;
  s.w = s.w * keep - rate * s.m;
#else
  s.w = s.w * keep - rate * slope;
#endif
#endif
  return s;
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let first = (group_index(group, groups) * {{WORKGROUP}}u + lane) * {{BLOCK}}u;
  if (first >= p.count) { return; }
#if HAS_SCALE
  // All exponent bits set: infinite or NaN. Tested as bits, because compilers may assume that neither occurs.
  let bits = scale_at(p.scale_off);
  let skip = (bits & 0x7f800000u) == 0x7f800000u;
#if !HAS_WORKING
  if (skip) { return; }
#endif
  let scale = bitcast<f32>(bits);
#else
  const skip = false;
  const scale = 1.0;
#endif
#if BLOCK == 4
  if (first + 4u > p.count) {
    for (var i = first; i < p.count; i++) {
      var s: Step;
      s.w = V(w_at(p.w_off + i));
#if HAS_M
      s.m = V(m_at(p.m_off + i));
#endif
#if ADAM
      s.v = V(v_at(p.v_off + i));
#endif
      if (!skip) { s = next(s, V(scale * g_at(p.g_off + i))); }
      w_put(p.w_off + i, s.w.x);
#if HAS_M
      m_put(p.m_off + i, s.m.x);
#endif
#if ADAM
      v_put(p.v_off + i, s.v.x);
#endif
#if HAS_WORKING
      working_put(p.working_off + i, s.w.x);
#endif
    }
    return;
  }
#endif
  let g = g_{{AT}}(p.g_off + first);
  var s: Step;
  s.w = w_{{AT}}(p.w_off + first);
#if HAS_M
  s.m = m_{{AT}}(p.m_off + first);
#endif
#if ADAM
  s.v = v_{{AT}}(p.v_off + first);
#endif
  if (!skip) { s = next(s, scale * g); }
  w_{{PUT}}(p.w_off + first, s.w);
#if HAS_M
  m_{{PUT}}(p.m_off + first, s.m);
#endif
#if ADAM
  v_{{PUT}}(p.v_off + first, s.v);
#endif
#if HAS_WORKING
  working_{{PUT}}(p.working_off + first, s.w);
#endif
}
