// What the kernels of the backward pass share. With P = exp(logit - lse) and dP = dy·v, the gradient of a logit is
// P * (dP - delta), where delta = sum(dy * y) of the query; a soft cap multiplies it by its slope.
#include "attention/score.wgsl"
#include "attention/load.wgsl" with NAME="q" SIZE="size"
#include "attention/load.wgsl" with NAME="k" SIZE="size"
#include "attention/load.wgsl" with NAME="v" SIZE="value_size"
#include "attention/load.wgsl" with NAME="dy" SIZE="value_size"

// The slope of the soft cap at a product.
fn cap_slope(product: f32) -> f32 {
  let x = capped(product) / p.cap;
  return 1.0 - x * x;
}

// lse and delta of a query.
fn row_stats(batch: u32, head: u32, i: u32) -> vec2<f32> {
  let at = p.stats_off + ((batch * p.heads + head) * p.queries + i) * 2u;
  return vec2<f32>(stats_at(at), stats_at(at + 1u));
}
