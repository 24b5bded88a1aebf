// Defines NAME_reduce(v, invocation): the values of all LANES invocations of a row merged with NAME_merge(a, b), the
// same for every lane. Included with NAME and TYPE (f32 or a vector of it). With SUBGROUP > 0, aligned groups of
// SUBGROUP invocations merge by shuffles, which holds for every subgroup size that is a multiple of it, and the rest
// goes through workgroup memory with one barrier; otherwise a tree in workgroup memory. Must be called from uniform
// control flow, and at most once per include, as nothing guards the memory afterwards.
#let GROUPS = SUBGROUP > 0 ? LANES / SUBGROUP : 1
#if SUBGROUP == 0 && LANES > 1
var<workgroup> {{NAME}}_shared: array<{{TYPE}}, {{SIZE}}>;
#elif GROUPS > 1
var<workgroup> {{NAME}}_shared: array<{{TYPE}}, {{SIZE / SUBGROUP}}>;
#endif

fn {{NAME}}_reduce(own: {{TYPE}}, invocation: u32) -> {{TYPE}} {
  var v = own;
#if SUBGROUP > 0
#let STEP = 1
#for level in 0..7
#if STEP < SUBGROUP
  v = {{NAME}}_merge(v, subgroupShuffleXor(v, {{STEP}}u));
#let STEP = STEP * 2
#endif
#endfor
#if GROUPS > 1
  if (invocation % {{SUBGROUP}}u == 0u) { {{NAME}}_shared[invocation / {{SUBGROUP}}u] = v; }
  workgroupBarrier();
  let first = row_of(invocation) * {{GROUPS}}u;
#let TOGETHER = min(GROUPS, 8)
#if GROUPS > TOGETHER
  for (var g = 0u; g < {{GROUPS}}u; g += {{TOGETHER}}u) {
#else
  {
    const g = 0u;
#endif
#for i in 0..TOGETHER
    var v{{i}} = {{NAME}}_shared[first + g + {{i}}u];
#endfor
#let HALF = TOGETHER
#for level in 0..4
#if HALF > 1
#let HALF = HALF / 2
#for i in 0..HALF
    v{{i}} = {{NAME}}_merge(v{{i}}, v{{i + HALF}});
#endfor
#endif
#endfor
#if GROUPS > TOGETHER
    if (g == 0u) { v = v0; } else { v = {{NAME}}_merge(v, v0); }
#else
    v = v0;
#endif
  }
#endif
#elif LANES > 1
  {{NAME}}_shared[invocation] = v;
  workgroupBarrier();
  for (var step = {{LANES / 2}}u; step > 0u; step /= 2u) {
    if (lane_of(invocation) < step) {
      v = {{NAME}}_merge(v, {{NAME}}_shared[invocation + step{{ACROSS ? " * " + ROWS + "u" : ""}}]);
      {{NAME}}_shared[invocation] = v;
    }
    workgroupBarrier();
  }
  v = {{NAME}}_shared[{{ACROSS ? "row_of(invocation)" : "row_of(invocation) * " + LANES + "u"}}];
#endif
  return v;
}
