// What happens to sums on their way to memory: c = f(alpha·a_scale·b_scale·sum + beta·c + bias). Assumes C_VEC only where c steps by
// 1 along n and is aligned to four elements; otherwise 16-bit words of c may be shared and are stored atomically.
#let DOMAIN = "f32"
#include "map/functions.wgsl"
#include "gemm/spread.wgsl" with NAME="bias" MODE=BIAS
#include "gemm/spread.wgsl" with NAME="a_scale" MODE=A_SCALE
#include "gemm/spread.wgsl" with NAME="b_scale" MODE=B_SCALE

// Stores columns n … n+3 of row m (m < M, n < N); columns past N are left out (N_TAIL where there may be some).
fn emit4(at: Place, m: u32, n: u32, sum: vec4<f32>) {
#if C_VEC
{{N_TAIL ? "  if (n + 4u > p.n) { emit_some(at, m, n, sum, p.n - n); return; }" : ""}}
  let i = at.c + m * p.c_m + n * p.c_n;
  var v = sum * p.alpha;
{{A_SCALE != "none" ? "  v *= a_scale_four(at.a_scale, m, n);" : ""}}
{{B_SCALE != "none" ? "  v *= b_scale_four(at.b_scale, m, n);" : ""}}
#if BETA
  v += p.beta * c_at4(i);
#endif
{{BIAS != "none" ? "  v += bias_four(at.bias, m, n);" : ""}}
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
{{A_SCALE != "none" ? "  v *= a_scale_one(at.a_scale, m, n);" : ""}}
{{B_SCALE != "none" ? "  v *= b_scale_one(at.b_scale, m, n);" : ""}}
{{BIAS != "none" ? "  v += bias_one(at.bias, m, n);" : ""}}
#if BETA
  v += p.beta * c_at(i);
#endif
  c_put(i, f(V(v), V(), V()).x);
}
