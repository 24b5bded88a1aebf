// Reads from (MODE "read") or writes to ("write") the residual streams of tokens, see hyper.hpp.
// Tile: 256 invocations, an element of a token's width each, which goes through all streams. No workgroup memory.
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let n = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (n >= p.count) { return; }
  let token = n / p.width;
  let i = n - token * p.width;
  let y = p.y_off + token * p.y_t + i * p.y_i;
#if MODE == "read"
  var sum = 0.0;
  for (var s = 0u; s < p.streams; s++) {
    let x = x_at(p.x_off + token * p.x_t + s * p.x_s + i * p.x_i);
    let w = weights_at(p.weights_off + token * p.weights_t + s * p.weights_s{{GATED ? " + i * p.weights_i" : ""}});
    sum += x * {{GATED ? "(1.0 / (1.0 + exp(-w)))" : "w"}};
  }
  y_put(y, sum * p.scale);
#else
  let x = x_at(p.x_off + token * p.x_t + i * p.x_i);
  let r = p.residual_off + token * p.residual_t + i * p.residual_i;
  for (var to = 0u; to < p.streams; to++) {
    var sum = x * share_at(p.share_off + token * p.share_t + to * p.share_s);
#if MIXED
    for (var s = 0u; s < p.streams; s++) {
      sum += residual_at(r + s * p.residual_s) * mix_at(p.mix_off + token * p.mix_t + s * p.mix_from + to * p.mix_to);
    }
#else
    sum += residual_at(r + to * p.residual_s);
#endif
    y_put(y + to * p.y_s, sum);
  }
#endif
}
