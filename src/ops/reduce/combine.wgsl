// The accumulators of a reduction: One for single values, Acc for as many as a load brings (4 or 1).
// Uses COMBINE, PRE, POST, DOMAIN, ARG, PARTIAL, CHUNK and CHAIN; see the Variant in kernels.cpp. With CHAIN > 0 the input
// is a chain over as many inputs x0 …, whose chain() was generated in front of the kernel.
#let WIDE = CHUNK >= 4
#let LOADS = CHUNK == 8 ? 2 : 1
#if CHAIN == 0
alias T = {{DOMAIN}};
#endif
#if WIDE
alias W = vec4<T>;
alias I = vec4<u32>;
const lane_numbers = vec4<u32>(0u, 1u, 2u, 3u);
#else
alias W = T;
alias I = u32;
const lane_numbers = 0u;
#endif
const no_index = 0xffffffffu;
// Extremes of floats may be NaN; of any() and all() they are 0 or 1.
#let NAN = DOMAIN == "f32" && (COMBINE == "max" || COMBINE == "min") && PRE != "nonzero"

// Comes as bits, because WGSL has no constant for infinity.
fn identity() -> T { return bitcast<T>(p.identity); }

fn prepare(v: W) -> W {
#if PRE == "square"
  return v * v;
#elif PRE == "nonzero"
#if DOMAIN == "f32"
  // By bits: NaN and numbers too small for a float unit are not 0 either.
  return select(W(0.0), W(1.0), (bitcast<I>(v) & I(0x7fffffffu)) != I(0u));
#else
  return select(W(T(0)), W(T(1)), v != W(T(0)));
#endif
#else
  return v;
#endif
}

#for wide in 0..(WIDE ? 2 : 1)
#let A = wide == 1 ? "Acc" : "One"
#let TV = wide == 1 ? "vec4<T>" : "T"
#let TI = wide == 1 ? "vec4<u32>" : "u32"
#let TB = wide == 1 ? "vec4<bool>" : "bool"
struct {{A}} {
  v: {{TV}},
#if ARG
  i: {{TI}},
#endif
}

fn make_{{A}}(v: {{TV}}, i: {{TI}}) -> {{A}} {
#if ARG
  return {{A}}(v, i);
#else
  return {{A}}(v);
#endif
}

#if DOMAIN == "f32" && NAN
// By bits: drivers may take it that there is no NaN.
fn is_nan_{{A}}(v: {{TV}}) -> {{TB}} { return (bitcast<{{TI}}>(v) & {{TI}}(0x7fffffffu)) > {{TI}}(0x7f800000u); }
#endif
fn join_{{A}}(a: {{A}}, b: {{A}}) -> {{A}} {
#if ARG && DOMAIN == "f32"
  // The lowest index among equals wins, in whatever order values are joined; NaN is further out than every number.
  let nan_a = is_nan_{{A}}(a.v);
  let nan_b = is_nan_{{A}}(b.v);
  let beyond = !nan_a & (nan_b | (b.v {{COMBINE == "max" ? ">" : "<"}} a.v));
  let same = (nan_a & nan_b) | (!nan_a & !nan_b & (b.v == a.v));
  let better = beyond | (same & (b.i < a.i));
  return {{A}}(select(a.v, b.v, better), select(a.i, b.i, better));
#elif ARG
  // The lowest index among equals wins, in whatever order values are joined.
  let better = (b.v {{COMBINE == "max" ? ">" : "<"}} a.v) | ((b.v == a.v) & (b.i < a.i));
  return {{A}}(select(a.v, b.v, better), select(a.i, b.i, better));
#elif NAN
  return {{A}}(select(select({{COMBINE}}(a.v, b.v), b.v, is_nan_{{A}}(b.v)), a.v, is_nan_{{A}}(a.v)));
#elif COMBINE == "sum"
  return {{A}}(a.v + b.v);
#elif COMBINE == "prod"
  return {{A}}(a.v * b.v);
#else
  return {{A}}({{COMBINE}}(a.v, b.v));
#endif
}
#endfor
#if !WIDE
alias Acc = One;
fn make_Acc(v: W, i: I) -> Acc { return make_One(v, i); }
fn join_Acc(a: Acc, b: Acc) -> Acc { return join_One(a, b); }
#endif

fn empty() -> Acc { return make_Acc(W(identity()), I(no_index)); }

// A single value of the lanes of an accumulator.
fn lane_of(a: Acc, j: u32) -> One {
#if WIDE && ARG
  return One(a.v[j], a.i[j]);
#elif WIDE
  return One(a.v[j]);
#else
  return a;
#endif
}

fn fold(a: Acc) -> One {
#if WIDE
  return join_One(join_One(lane_of(a, 0u), lane_of(a, 1u)), join_One(lane_of(a, 2u), lane_of(a, 3u)));
#else
  return a;
#endif
}

// Results as they are stored.
#for wide in 0..(WIDE ? 2 : 1)
#let A = wide == 1 ? "Acc" : "One"
#let TY = wide == 1 ? "vec4<y_t>" : "y_t"
fn result_{{A}}(a: {{A}}) -> {{TY}} {
#if ARG && !PARTIAL
  return {{TY}}(a.i);
#elif POST == "scale"
  return {{TY}}(a.v * p.scale);
#elif POST == "sqrt"
  return {{TY}}(sqrt(a.v));
#else
  return {{TY}}(a.v);
#endif
}
#endfor

// Where an element lies in the input, or in each input of the chain.
#if CHAIN > 0
alias At = array<u32, {{CHAIN}}>;
fn add_at(a: At, b: At) -> At {
  var sum: At;
#for k in 0..CHAIN
  sum[{{k}}] = a[{{k}}] + b[{{k}}];
#endfor
  return sum;
}
#else
alias At = u32;
fn add_at(a: At, b: At) -> At { return a + b; }
#endif

struct Kept { x: At, y: u32 }

// Where number `n` of the first `{{KEPT_RANK}}` kept dimensions lies.
fn kept_place(n: u32) -> Kept {
  var rest = n;
  var at: Kept;
#for back in 0..KEPT_USED
#let d = KEPT_USED - 1 - back
#if d == 0
  let c{{d}} = rest;
#else
  let q{{d}} = rest / p.kept_shape_{{d}};
  let c{{d}} = rest - q{{d}} * p.kept_shape_{{d}};
  rest = q{{d}};
#endif
#if CHAIN > 0
#for k in 0..CHAIN
  at.x[{{k}}] += c{{d}} * p.kept{{k}}_{{d}};
#endfor
#else
  at.x += c{{d}} * p.kept_x_{{d}};
#endif
  at.y += c{{d}} * p.kept_y_{{d}};
#endfor
  return at;
}

struct Reduced { x: At, index: u32 }

// Where number `n` of the reduced dimensions lies; its innermost dimension counts steps of STEP elements.
fn reduced_place(n: u32) -> Reduced {
  var rest = n;
  var at: Reduced;
  at.index = p.first_index;
#for back in 0..REDUCED_RANK
#let d = REDUCED_RANK - 1 - back
#if d == 0
  let c{{d}} = rest{{d == REDUCED_RANK - 1 ? " * " + STEP + "u" : ""}};
#elif d == REDUCED_RANK - 1
  let q{{d}} = rest / p.reduced_shape_{{d}};
  let c{{d}} = (rest - q{{d}} * p.reduced_shape_{{d}}) * {{STEP}}u;
  rest = q{{d}};
#else
  let q{{d}} = rest / p.reduced_shape_{{d}};
  let c{{d}} = rest - q{{d}} * p.reduced_shape_{{d}};
  rest = q{{d}};
#endif
#if CHAIN > 0
#for k in 0..CHAIN
  at.x[{{k}}] += c{{d}} * p.reduced{{k}}_{{d}};
#endfor
#else
  at.x += c{{d}} * p.reduced_x_{{d}};
#endif
#if ARG
  at.index += c{{d}} * p.reduced_index_{{d}};
#endif
#endfor
  return at;
}

#if CHAIN > 0
#for k in 0..CHAIN
#let KIND = k == 0 ? X0_KIND : k == 1 ? X1_KIND : k == 2 ? X2_KIND : k == 3 ? X3_KIND : k == 4 ? X4_KIND : X5_KIND
// Neighbours of element i, p.along{{k}} apart.
fn x{{k}}_load(i: u32) -> V {
#if KIND == "vec"
  return V(x{{k}}_at4(i));
#elif KIND == "splat"
  return V(T(x{{k}}_at(i)));
#else
  return V(T(x{{k}}_at(i)), T(x{{k}}_at(i + p.along{{k}})), T(x{{k}}_at(i + 2u * p.along{{k}})), T(x{{k}}_at(i + 3u * p.along{{k}})));
#endif
}
#endfor
#let WHOLES = ""
#let SINGLES = ""
#for k in 0..CHAIN
#let COMMA = k > 0 ? ", " : ""
#let WHOLES = WHOLES + COMMA + "x" + k + "_load(p.x" + k + "_off + i[" + k + "])"
#let SINGLES = SINGLES + COMMA + "V(T(x" + k + "_at(p.x" + k + "_off + i[" + k + "] + element * p.along" + k + ")))"
#endfor
#endif

// One value: `element` steps behind element i.
fn value_at(i: At, element: u32) -> T {
#if CHAIN > 0
  return chain({{SINGLES}}).x;
#else
  return T(x_at(p.x_off + i + element));
#endif
}

// The values of one load at element i of x, as one accumulator per four. `index` is that of the first value, and
// `index_step` leads to that of its neighbour.
fn load(i: At, index: u32, index_step: u32) -> array<Acc, {{LOADS}}> {
#if CHAIN > 0
  let at = I(index) + lane_numbers * index_step;
  return array<Acc, 1>(make_Acc(prepare({{WIDE ? "chain(" + WHOLES + ")" : "value_at(i, 0u)"}}), at));
#elif CHUNK == 8
  let both = x_at8(p.x_off + i);
#if INDEXED
  let at = xi_at8(p.xi_off + i);
#else
  let at = array<I, 2>(I(index) + lane_numbers * index_step, I(index + 4u * index_step) + lane_numbers * index_step);
#endif
  return array<Acc, 2>(make_Acc(prepare(W(both[0])), at[0]), make_Acc(prepare(W(both[1])), at[1]));
#else
#let AT = CHUNK == 4 ? "at4" : "at"
#if INDEXED
  let at = xi_{{AT}}(p.xi_off + i);
#else
  let at = I(index) + lane_numbers * index_step;
#endif
  return array<Acc, 1>(make_Acc(prepare(W(x_{{AT}}(p.x_off + i))), at));
#endif
}
