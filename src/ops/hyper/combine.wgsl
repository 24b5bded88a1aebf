// The mixing matrix of a token, see CombineArgs of hyper.hpp.
// Tile: WORKGROUP invocations, a token each; the 4 x 4 matrix stays in registers, a vector per row. No workgroup memory.
fn column_factors(m: array<vec4<f32>, 4>) -> vec4<f32> {
  return vec4<f32>(1.0) / (vec4<f32>(p.eps) + m[0] + m[1] + m[2] + m[3]);
}

fn sum(v: vec4<f32>) -> f32 { return (v.x + v.y) + (v.z + v.w); }

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let token = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (token >= p.tokens) { return; }
  let scale = scale_at(p.scale_off + 2u * p.scale_i);
  let start = p.mixes_off + token * p.mixes_t;
  var m: array<vec4<f32>, 4>;
#for from in 0..4
  {
    var v: vec4<f32>;
#for to in 0..4
    v[{{to}}] = mixes_at(start + {{8 + from * 4 + to}}u * p.mixes_i) * scale + base_at(p.base_off + {{8 + from * 4 + to}}u * p.base_i);
#endfor
    let e = exp(v - max(max(v.x, v.y), max(v.z, v.w)));
    m[{{from}}] = e / sum(e) + p.eps;
  }
#endfor
  let first = column_factors(m);
#for from in 0..4
  m[{{from}}] *= first;
#endfor
  for (var i = 1u; i < p.iterations; i++) {
#for from in 0..4
    m[{{from}}] *= 1.0 / (p.eps + sum(m[{{from}}]));
#endfor
    let factors = column_factors(m);
#for from in 0..4
    m[{{from}}] *= factors;
#endfor
  }
  let y = p.y_off + token * p.y_t;
#for from in 0..4
#for to in 0..4
  y_put(y + {{from}}u * p.y_from + {{to}}u * p.y_to, m[{{from}}][{{to}}]);
#endfor
#endfor
}
