// Scores of 64 keys for one token of a stream, see indexer.hpp.
// Tile: 16 x 16 places of 4 heads x 4 keys in registers, EACH of them for an invocation; 64 heads at a time, 16 elements of q and k
// at a time through workgroup memory (12 KiB in all), where they lie with heads and keys innermost.
// Assumes: the elements of q and k that a product adds up are contiguous.
var<workgroup> q_tile: array<array<f32, 64>, 16>;
var<workgroup> k_tile: array<array<f32, 64>, 16>;
var<workgroup> scores: array<vec4<f32>, 256>;

#let EACH = 256 / WORKGROUP
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let first_key = (job % p.tiles) * 64u;
  let token = (job / p.tiles) % p.tokens;
  let stream = job / (p.tiles * p.tokens);
  let q_start = p.q_off + stream * p.q_s + token * p.q_t;
  let k_start = p.k_off + stream * p.k_s;
  let w_start = p.weights_off + stream * p.weights_s + token * p.weights_t;
#for e in 0..EACH
  // 4 neighbouring elements of one head and one key are loaded for each place, ...
  let place{{e}} = lane + {{e * WORKGROUP}}u;
  let line{{e}} = place{{e}} / 4u;
  let part{{e}} = (place{{e}} % 4u) * 4u;
  let key{{e}} = min(first_key + line{{e}}, p.keys - 1u);
  // ... and heads 4 y … of the 64 computed with keys 4 x ….
  let x{{e}} = (place{{e}} % 16u) * 4u;
  let y{{e}} = (place{{e}} / 16u) * 4u;
  var score{{e}} = vec4<f32>(0.0);
#endfor
  for (var first_head = 0u; first_head < p.heads; first_head += 64u) {
#for e in 0..EACH
    let head{{e}} = min(first_head + line{{e}}, p.heads - 1u);
#for h in 0..4
    var dot{{e}}_{{h}} = vec4<f32>(0.0);
#endfor
#endfor
    for (var d = 0u; d < p.size; d += 16u) {
#for e in 0..EACH
      for (var c = part{{e}}; c < part{{e}} + 4u; c++) {
        let inside = d + c < p.size;
        let at = min(d + c, p.size - 1u);
        q_tile[c][line{{e}}] = select(0.0, q_at(q_start + head{{e}} * p.q_h + at), inside);
        k_tile[c][line{{e}}] = select(0.0, k_at(k_start + key{{e}} * p.k_n + at), inside);
      }
#endfor
      workgroupBarrier();
      for (var c = 0u; c < 16u; c++) {
#for e in 0..EACH
        let k{{e}} = vec4<f32>(k_tile[c][x{{e}}], k_tile[c][x{{e}} + 1u], k_tile[c][x{{e}} + 2u], k_tile[c][x{{e}} + 3u]);
#for h in 0..4
        dot{{e}}_{{h}} += q_tile[c][y{{e}} + {{h}}u] * k{{e}};
#endfor
#endfor
      }
      workgroupBarrier();
    }
#for e in 0..EACH
#for h in 0..4
    if (first_head + y{{e}} + {{h}}u < p.heads) {
      score{{e}} += max(dot{{e}}_{{h}}, vec4<f32>(0.0)) * weights_at(w_start + (first_head + y{{e}} + {{h}}u) * p.weights_h);
    }
#endfor
#endfor
  }
#for e in 0..EACH
  scores[place{{e}}] = score{{e}};
#endfor
  workgroupBarrier();
  if (lane >= 64u || first_key + lane >= p.keys) { return; }
  var sum = 0.0;
  for (var i = 0u; i < 16u; i++) { sum += scores[i * 16u + lane / 4u][lane % 4u]; }
#if MASKED
  sum += mask_at(p.mask_off + ((p.first_stream + stream) % p.mask_streams) * p.mask_s + token * p.mask_t + (first_key + lane) * p.mask_n);
#endif
  y_put(p.y_off + stream * p.y_s + token * p.y_t + (first_key + lane) * p.y_n, sum);
}
