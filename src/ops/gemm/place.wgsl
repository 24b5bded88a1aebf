// Where the matrices of a workgroup's batch start in their bindings, and the part of K that it sums. The kernel that adds
// up parts of K (REDUCE) has no b.
#let REDUCE = defined(IS_REDUCE)
struct Place {
  a: u32,
  b: u32,
  c: u32,
  bias: u32,
  a_scale: u32,
  b_scale: u32,
  k_begin: u32,
  k_end: u32,
}

// `number` counts batches, and within a batch the parts of K.
fn place(number: u32) -> Place {
  var at = Place(p.a_off, {{REDUCE ? "0u" : "p.b_off"}}, p.c_off, {{BIAS == "none" ? "0u" : "p.bias_off"}},
                 {{A_SCALE == "none" ? "0u" : "p.a_scale_off"}}, {{B_SCALE == "none" ? "0u" : "p.b_scale_off"}}, 0u, p.k);
  var rest = number;
#if SPLIT
  let part = rest % p.splits;
  rest /= p.splits;
  at.k_begin = part * p.k_split;
  at.k_end = min(p.k, at.k_begin + p.k_split);
  at.c += part * p.c_split;
#endif
#if BATCHED
#for back in 0..3
#let d = 2 - back
#if d == 0
  let i{{d}} = rest;
#else
  let i{{d}} = rest % p.batch_{{d}};
  rest /= p.batch_{{d}};
#endif
  at.a += i{{d}} * p.a_batch_{{d}};
#if !REDUCE
  at.b += i{{d}} * p.b_batch_{{d}};
#endif
  at.c += i{{d}} * p.c_batch_{{d}};
  at.bias += i{{d}} * p.bias_{{d}};
  at.a_scale += i{{d}} * p.a_scale_{{d}};
  at.b_scale += i{{d}} * p.b_scale_{{d}};
#endfor
#endif
  return at;
}

// Tiles in bands of `band` tile rows, column by column within a band: workgroups that run at the same time then
// share rows of a and columns of b in the cache. Returns (tile row, tile column).
fn banded(group: vec3<u32>, groups: vec3<u32>, band: u32) -> vec2<u32> {
  let number = group.y * groups.x + group.x;
  let first = number / (band * groups.x) * band;
  let rest = number % (band * groups.x);
  let height = min(band, groups.y - first);
  return vec2<u32>(first + rest % height, rest / height);
}
