// What the kernels of this folder share: values of a row, thresholds by digits, the largest number of a workgroup.
// W is the number of invocations; SEES, that a kernel reads the elements. Workgroup memory: 2.1 KiB, and 8 bytes per invocation.
var<workgroup> counts: array<atomic<u32>, 256>;
var<workgroup> wraps: array<atomic<u32>, 256>;
var<workgroup> parts: array<f32, 16>;
var<workgroup> best: array<f32, {{W}}>;
var<workgroup> places: array<u32, {{W}}>;
var<workgroup> found: u32;
var<workgroup> left: f32;

fn order_key(v: f32) -> u32 {
  let given = bitcast<u32>(v);
  let bits = select(given, 0u, given == 0x80000000u);
  return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

fn penalized(x: f32) -> f32 { return select(x * p.penalty, x / p.penalty, x > 0.0); }

#if SEES
fn value(row: u32, j: u32) -> f32 {
#if PENALTY
  let x = w_at(p.w_off + row * p.vocabulary + j);
#else
  let x = logits_at(p.logits_off + row * p.logits_row + j * p.logits_step);
#endif
  let none = (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
  return select({{GREEDY ? "x" : "x / p.temperature"}}, bitcast<f32>(p.lowest), none);
}

// Elements that no row has: for batches that reach past its end.
fn value_if(row: u32, j: u32) -> f32 { return value(row, min(j, p.vocabulary - 1u)); }
#endif

// The largest number of all invocations, and where it came from: the first of equals.
fn largest(lane: u32, x: f32, place: u32) {
  best[lane] = x;
  places[lane] = place;
  workgroupBarrier();
  for (var half = {{W / 2}}u; half > 0u; half /= 2u) {
    if (lane < half) {
      let other = best[lane + half];
      if (other > best[lane] || (other == best[lane] && places[lane + half] < places[lane])) {
        best[lane] = other;
        places[lane] = places[lane + half];
      }
    }
    workgroupBarrier();
  }
}

#if TOP_K || TOP_P
fn size_of(bin: u32) -> f32 { return f32(atomicLoad(&wraps[bin])) * 4294967296.0 + f32(atomicLoad(&counts[bin])); }

// The digit from which on down `wanted` is reached, and in `left` what of it is still wanted there. Where sums that were
// rounded do not reach it, the lowest digit that any element has.
fn digit_of(lane: u32, wanted: f32) -> u32 {
  workgroupBarrier();
  for (var part = lane; part < 16u; part += {{W}}u) {
    var sum = 0.0;
    for (var i = 0u; i < 16u; i++) { sum += size_of(part * 16u + i); }
    parts[part] = sum;
  }
  workgroupBarrier();
  if (lane == 0u) {
    var above = 0.0;
    var part = 15u;
    var lowest = 15u;
    loop {
      if (parts[part] > 0.0) {
        lowest = part;
        if (above + parts[part] >= wanted) { break; }
      }
      if (part == 0u) { break; }
      above += parts[part];
      part -= 1u;
    }
    if (part != lowest) {
      part = lowest;
      above -= parts[part];
    }
    var bin = part * 16u + 15u;
    lowest = bin;
    loop {
      let size = size_of(bin);
      if (size > 0.0) {
        lowest = bin;
        if (above + size >= wanted) { break; }
      }
      if (bin == part * 16u) { break; }
      above += size;
      bin -= 1u;
    }
    if (bin != lowest) { above -= size_of(lowest); }
    found = lowest;
    left = wanted - above;
  }
  workgroupBarrier();
  return workgroupUniformLoad(&found);
}

fn clear(lane: u32) {
  workgroupBarrier();
  for (var bin = lane; bin < 256u; bin += {{W}}u) {
    atomicStore(&counts[bin], 0u);
    atomicStore(&wraps[bin], 0u);
  }
  workgroupBarrier();
}
#endif

#if TOP_P
fn mass_of(x: f32, most: f32) -> u32 { return u32(min(exp(x - most) * 4294967296.0 + 0.5, 4294967040.0)); }

fn add_mass(bin: u32, mass: u32) {
  let before = atomicAdd(&counts[bin], mass);
  if (before + mass < before) { atomicAdd(&wraps[bin], 1u); }
}
#endif
