// Operand x of a row kernel (see lib/row_operand.wgsl) as a chain over CHAIN inputs x0 …, whose chain() was generated in
// front of the kernel. Vectors of fewer than four elements fill a V with repetitions.
#if CHAIN > 0
#include "lib/row_operand.wgsl" with NAME="x0" KIND=X0_KIND STORE=0
#endif
#if CHAIN > 1
#include "lib/row_operand.wgsl" with NAME="x1" KIND=X1_KIND STORE=0
#endif
#if CHAIN > 2
#include "lib/row_operand.wgsl" with NAME="x2" KIND=X2_KIND STORE=0
#endif
#if CHAIN > 3
#include "lib/row_operand.wgsl" with NAME="x3" KIND=X3_KIND STORE=0
#endif
#if CHAIN > 4
#include "lib/row_operand.wgsl" with NAME="x4" KIND=X4_KIND STORE=0
#endif
#if CHAIN > 5
#include "lib/row_operand.wgsl" with NAME="x5" KIND=X5_KIND STORE=0
#endif

// Where a row starts in each input.
alias Starts = array<u32, {{CHAIN}}>;

fn x_row(row: u32) -> Starts {
  var at: Starts;
#for k in 0..CHAIN
  at[{{k}}] = x{{k}}_row(row);
#endfor
  return at;
}

#if WIDTH == 4
fn full(v: Vec) -> V { return v; }
fn part(v: V) -> Vec { return v; }
#elif WIDTH == 2
fn full(v: Vec) -> V { return v.xyxy; }
fn part(v: V) -> Vec { return v.xy; }
#else
fn full(v: Vec) -> V { return V(v); }
fn part(v: V) -> Vec { return v.x; }
#endif

fn x_load(at: Starts, c: u32) -> Chunk {
#for k in 0..CHAIN
  let x{{k}} = x{{k}}_load(at[{{k}}], c);
#endfor
  var v: Chunk;
#for h in 0..HALVES
#let LIST = ""
#for k in 0..CHAIN
#let LIST = LIST + (k > 0 ? ", " : "") + "full(x" + k + "[" + h + "])"
#endfor
  v[{{h}}] = part(chain({{LIST}}));
#endfor
  return v;
}
