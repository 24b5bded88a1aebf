// What the mask does to each block of QUERIES queries and KEYS keys: 0 hides all of them, 1 changes nothing, 2 anything else. One
// workgroup of 256 invocations per block; an invocation has every 256th element, rows first.
const counts_from = -3.0e38;
var<workgroup> found: atomic<u32>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let j0 = job % p.flag_row * {{KEYS}}u;
  let i0 = job / p.flag_row % p.blocks * {{QUERIES}}u;
  let head = job / p.flag_row / p.blocks % p.mask_heads;
  let batch = job / p.flag_row / p.blocks / p.mask_heads;
  let at = p.mask_off + batch * p.mask_b + head * p.mask_h;
  var bits = 0u;
#if VEC
  for (var n = t; n < {{QUERIES * KEYS / 4}}u; n += {{WORKGROUP}}u) {
    let i = i0 + n / {{KEYS / 4}}u;
    let j = j0 + n % {{KEYS / 4}}u * 4u;
    if (i < p.queries && j < p.keys) {
      let v = mask_at4(at + i * p.mask_i + j);
      bits |= bits_of(v.x) | bits_of(v.y) | bits_of(v.z) | bits_of(v.w);
    }
  }
#else
  for (var n = t; n < {{QUERIES * KEYS}}u; n += {{WORKGROUP}}u) {
    let i = i0 + n / {{KEYS}}u;
    let j = j0 + n % {{KEYS}}u;
    if (i < p.queries && j < p.keys) { bits |= bits_of(mask_at(at + i * p.mask_i + j * p.mask_j)); }
  }
#endif
  if (bits != 0u) { atomicOr(&found, bits); }
  workgroupBarrier();
  if (t == 0u) {
    let all = atomicLoad(&found);
    flags_put(p.flags_off + job, select(select(2u, 1u, all == 1u), 0u, (all & 1u) == 0u));
  }
}

// 1: counts; 2: is not 0. Slopes may lift finite numbers above what does not count.
fn bits_of(v: f32) -> u32 {
  let hides = bitcast<u32>(v) == 0xff800000u || (p.bias == 0.0 && v < counts_from);
  return select(1u, 0u, hides) | select(2u, 0u, v == 0.0);
}
