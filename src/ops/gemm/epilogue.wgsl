// What happens to sums on their way to memory: c = f(alpha·scale·sum + beta·c + bias). Assumes C_VEC only where c steps by
// 1 along n and is aligned to four elements; otherwise 16-bit words of c may be shared and are stored atomically.
#let DOMAIN = "f32"
#include "map/functions.wgsl"
#if BIAS != "none"
#include "gemm/spread.wgsl" with NAME="bias" MODE=BIAS
#endif
#if SCALE != "none"
#include "gemm/spread.wgsl" with NAME="scale" MODE=SCALE
#endif

// Stores columns n … n+3 of row m (m < M, n < N); columns past N are left out (N_TAIL where there may be some).
fn emit4(at: Place, m: u32, n: u32, sum: vec4<f32>) {
#if C_VEC
{{N_TAIL ? "  if (n + 4u > p.n) { emit_some(at, m, n, sum, p.n - n); return; }" : ""}}
  let i = at.c + m * p.c_m + n * p.c_n;
  var v = sum * p.alpha;
#if SCALE != "none"
  v *= scale_along(at.scale, m, n);
#endif
#if BETA
  v += p.beta * c_at4(i);
#endif
#if BIAS != "none"
  v += bias_along(at.bias, m, n);
#endif
  c_put4(i, f(v, V(), V()));
#else
  emit_some(at, m, n, sum, min(4u, p.n - n));
#endif
}

#if N_TAIL || !C_VEC
// Stores the first `count` of four columns one by one; a loop, because stores of shared words are long.
fn emit_some(at: Place, m: u32, n: u32, sum: vec4<f32>, count: u32) {
  var v = sum;
  for (var j = 0u; j < count; j++) {
    emit1(at, m, n + j, v.x);
    v = v.yzwx;
  }
}
#endif

// Stores column n of row m.
fn emit1(at: Place, m: u32, n: u32, sum: f32) {
  let i = at.c + m * p.c_m + n * p.c_n;
  var v = sum * p.alpha;
#if SCALE != "none"
  v *= scale_at(at.scale + m * p.scale_m + n * p.scale_n);
#endif
#if BIAS != "none"
  v += bias_at(at.bias + m * p.bias_m + n * p.bias_n);
#endif
#if BETA
  v += p.beta * c_at(i);
#endif
  c_put(i, f(V(v), V(), V()).x);
}
