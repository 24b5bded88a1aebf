// What kernels over rows share (row_kernel.hpp plans them). SIZE invocations hold SIZE / LANES rows; lane l of a row keeps
// chunks l, l + LANES, … (CHUNKS of them, CHUNK elements each) in registers. With ACROSS neighbouring invocations are
// neighbouring rows, otherwise neighbouring lanes of one row. Past the end of a row or behind the last row, indices
// are clamped: such values are loaded twice, masked out and never stored, so that every invocation reaches every
// barrier and all loads are in flight together.
#let ROWS = SIZE / LANES
#let HALVES = CHUNK == 8 ? 2 : 1
#let WIDTH = min(CHUNK, 4)
#if WIDTH == 1
alias Vec = f32;
fn vec_sum(v: Vec) -> f32 { return v; }
fn vec_max(v: Vec) -> f32 { return v; }
#elif WIDTH == 2
alias Vec = vec2<f32>;
fn vec_sum(v: Vec) -> f32 { return v.x + v.y; }
fn vec_max(v: Vec) -> f32 { return max(v.x, v.y); }
#else
alias Vec = vec4<f32>;
fn vec_sum(v: Vec) -> f32 { return (v.x + v.y) + (v.z + v.w); }
fn vec_max(v: Vec) -> f32 { return max(max(v.x, v.y), max(v.z, v.w)); }
#endif
// Written out, since the compiler in Firefox takes an array of Vec for another type than an array of what Vec stands for.
alias Chunk = array<{{WIDTH == 1 ? "f32" : "vec" + WIDTH + "<f32>"}}, {{HALVES}}>;

// Which row of its workgroup, and which lane of that row, an invocation is.
#if ROWS == 1
fn row_of(invocation: u32) -> u32 { return 0u; }
fn lane_of(invocation: u32) -> u32 { return invocation; }
#else
fn row_of(invocation: u32) -> u32 { return invocation {{ACROSS ? "%" : "/"}} {{ACROSS ? ROWS : LANES}}u; }
fn lane_of(invocation: u32) -> u32 { return invocation {{ACROSS ? "/" : "%"}} {{ACROSS ? ROWS : LANES}}u; }
#endif
