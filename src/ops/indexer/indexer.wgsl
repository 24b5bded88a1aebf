// Scores of 64 keys for one token of a stream, see indexer.hpp.
// Tile: 256 invocations as 16 x 16, each with 4 heads x 4 keys in registers; 64 heads at a time, 16 elements of q and k
// at a time through workgroup memory (12 KiB in all), where they lie with heads and keys innermost.
// Assumes: the elements of q and k that a product adds up are contiguous.
var<workgroup> q_tile: array<array<f32, 64>, 16>;
var<workgroup> k_tile: array<array<f32, 64>, 16>;
var<workgroup> scores: array<vec4<f32>, 256>;

@compute @workgroup_size(256)
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
  // Invocations load 4 neighbouring elements of one head and one key each, ...
  let line = lane / 4u;
  let part = (lane % 4u) * 4u;
  let key = min(first_key + line, p.keys - 1u);
  // ... and compute heads 4 y … of the 64 with keys 4 x ….
  let x = (lane % 16u) * 4u;
  let y = (lane / 16u) * 4u;
  var score = vec4<f32>(0.0);
  for (var first_head = 0u; first_head < p.heads; first_head += 64u) {
    let head = min(first_head + line, p.heads - 1u);
#for h in 0..4
    var dot{{h}} = vec4<f32>(0.0);
#endfor
    for (var d = 0u; d < p.size; d += 16u) {
      for (var c = part; c < part + 4u; c++) {
        let inside = d + c < p.size;
        let at = min(d + c, p.size - 1u);
        q_tile[c][line] = select(0.0, q_at(q_start + head * p.q_h + at), inside);
        k_tile[c][line] = select(0.0, k_at(k_start + key * p.k_n + at), inside);
      }
      workgroupBarrier();
      for (var c = 0u; c < 16u; c++) {
        let k4 = vec4<f32>(k_tile[c][x], k_tile[c][x + 1u], k_tile[c][x + 2u], k_tile[c][x + 3u]);
#for h in 0..4
        dot{{h}} += q_tile[c][y + {{h}}u] * k4;
#endfor
      }
      workgroupBarrier();
    }
#for h in 0..4
    if (first_head + y + {{h}}u < p.heads) {
      score += max(dot{{h}}, vec4<f32>(0.0)) * weights_at(w_start + (first_head + y + {{h}}u) * p.weights_h);
    }
#endfor
  }
  scores[lane] = score;
  workgroupBarrier();
  if (lane >= 64u || first_key + lane >= p.keys) { return; }
  var sum = 0.0;
  for (var i = 0u; i < 16u; i++) { sum += scores[i * 16u + lane / 4u][lane % 4u]; }
#if MASKED
  sum += mask_at(p.mask_off + ((p.first_stream + stream) % p.mask_streams) * p.mask_s + token * p.mask_t + (first_key + lane) * p.mask_n);
#endif
  y_put(p.y_off + stream * p.y_s + token * p.y_t + (first_key + lane) * p.y_n, sum);
}
