// Chooses experts. Tile: a workgroup of 256 invocations per token. An expert's rank is the number of experts before it, which
// every invocation counts for its own experts: no rounds, and no barriers but those of the softmax.
// Workgroup memory: scores, keys (scores with bias) and chosen weights of up to 1024 experts, 256 partial results (13,312
// bytes). All logits of a token are read before anything is written for it.
var<workgroup> scores: array<f32, 1024>;
var<workgroup> keys: array<f32, 1024>;
var<workgroup> chosen: array<f32, 1024>;
var<workgroup> parts: array<f32, {{WORKGROUP}}>;

const lowest = -3.4028234e38;

fn max_of_all(v: f32, lane: u32) -> f32 {
  parts[lane] = v;
  workgroupBarrier();
  for (var step = {{WORKGROUP / 2}}u; step > 0u; step /= 2u) {
    if (lane < step) { parts[lane] = max(parts[lane], parts[lane + step]); }
    workgroupBarrier();
  }
  let result = parts[0];
  workgroupBarrier();
  return result;
}

fn sum_of_all(v: f32, lane: u32) -> f32 {
  parts[lane] = v;
  workgroupBarrier();
  for (var step = {{WORKGROUP / 2}}u; step > 0u; step /= 2u) {
    if (lane < step) { parts[lane] += parts[lane + step]; }
    workgroupBarrier();
  }
  let result = parts[0];
  workgroupBarrier();
  return result;
}

fn score_of(v: f32) -> f32 {
  if (p.score == 1u) { return 1.0 / (1.0 + exp(-v)); }
  if (p.score == 2u) { return sqrt(select(log(1.0 + exp(v)), v, v > 20.0)); }
  return v;
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let token = group_index(group, groups);
  if (token >= p.tokens) { return; }
  var most = lowest;
  for (var e = lane; e < p.experts; e += {{WORKGROUP}}u) {
    let v = logits_at(p.logits_off + token * p.logits_t + e * p.logits_e);
    scores[e] = score_of(v);
    most = max(most, v);
  }
  if (p.score == 0u) {
    let top = max_of_all(most, lane);
    var total = 0.0;
    for (var e = lane; e < p.experts; e += {{WORKGROUP}}u) {
      let v = exp(scores[e] - top);
      scores[e] = v;
      total += v;
    }
    let factor = 1.0 / sum_of_all(total, lane);
    for (var e = lane; e < p.experts; e += {{WORKGROUP}}u) { scores[e] *= factor; }
  }
  for (var e = lane; e < p.experts; e += {{WORKGROUP}}u) {
    let key = scores[e]{{BIAS ? " + bias_at(p.bias_off + e * p.bias_e)" : ""}};
    keys[e] = select(lowest, key, key > lowest);  // NaN comes last.
  }
  workgroupBarrier();
  for (var e = lane; e < p.experts; e += {{WORKGROUP}}u) {
    let mine = keys[e];
    var rank = 0u;
    for (var other = 0u; other < e; other++) { rank += u32(keys[other] >= mine); }
    for (var other = e + 1u; other < p.experts; other++) { rank += u32(keys[other] > mine); }
    if (rank < p.chosen) {
      chosen[rank] = scores[e];
      ids_put(p.ids_off + token * p.ids_t + rank * p.ids_k, i32(e));
    }
  }
  workgroupBarrier();
  if (p.softmax_chosen != 0u) {
    var best = lowest;
    for (var k = lane; k < p.chosen; k += {{WORKGROUP}}u) { best = max(best, chosen[k]); }
    let top = max_of_all(best, lane);
    var total = 0.0;
    for (var k = lane; k < p.chosen; k += {{WORKGROUP}}u) {
      let v = exp(chosen[k] - top);
      chosen[k] = v;
      total += v;
    }
    let factor = 1.0 / sum_of_all(total, lane);
    for (var k = lane; k < p.chosen; k += {{WORKGROUP}}u) { chosen[k] *= factor; }
  }
  var divisor = 1.0;
  if (p.normalize != 0u) {
    var total = 0.0;
    for (var k = lane; k < p.chosen; k += {{WORKGROUP}}u) { total += chosen[k]; }
    divisor = max(sum_of_all(total, lane), p.least);
  }
  for (var k = lane; k < p.chosen; k += {{WORKGROUP}}u) {
    weights_put(p.weights_off + token * p.weights_t + k * p.weights_k, chosen[k] / divisor * p.scale);
  }
}
