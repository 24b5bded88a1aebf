// The tile that attention kernels without special hardware share: WORKGROUP = 64 invocations, 16 rows of their own and 64 rows at a time
// of the other side. An invocation has the 4 rows from `group_row` on, and of a block 4 rows of the other side
// (`column` + 0, 16, 32, 48) or 4 neighbouring columns of every 64.
// pool, in groups of 4 floats: 0… own rows (9 per row: 32 elements and one to spread memory banks); 144… the other side's
// rows, likewise, or 32 of them with 16 per row; 720… weights (17 per row).
// With ROLLED, loops have bounds that compilers cannot see, so that they stay loops: on software devices, compiling the
// unrolled text takes seconds. ONCE is the factor that hides a bound; sums then have room for CHUNKS chunks of 64 columns.
#let ONCE = ROLLED ? " * p.once" : ""
var<workgroup> pool: array<vec4<f32>, 992>;
alias Rows = array<vec4<f32>, 4>;
