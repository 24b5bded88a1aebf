// Access to operand NAME of a row kernel, by chunks. Included with NAME, KIND and STORE.
//   NAME_row(row)              where a row starts
//   NAME_load(start, c)        chunk c of the row that starts there
//   NAME_store(start, c, v, live, invocation)   writes it where `live` (with STORE); call it from uniform control flow
// Kinds: "vec" rows are contiguous and aligned to chunks; "step" elements lie NAME_inner apart; "group": one element
// per NAME_span elements of the row, which a chunk never straddles; "each": the same, but chunks may straddle.
// "number" is no memory: NAME_row is the number that its strides give.
fn {{NAME}}_row(row: u32) -> u32 {
  var at = p.{{NAME}}_off;
  var rest = row;
#for back in 0..OUTER
#let d = OUTER - 1 - back
#if d == 0
  at += rest * p.{{NAME}}_s{{d}};
#else
  let q{{d}} = rest / p.shape_{{d}};
  at += (rest - q{{d}} * p.shape_{{d}}) * p.{{NAME}}_s{{d}};
  rest = q{{d}};
#endif
#endfor
  return at;
}

#if STORE
fn {{NAME}}_store(start: u32, c: u32, v: Chunk, live: bool, invocation: u32) {
#if CHUNK == 1 && NARROW && PAIRS > 0
  // Two neighbouring invocations often hold both halves of a word: the one with the lower half stores both. Others
  // (at row ends and at the ends of PAIRS aligned invocations) swap their half in. No element has number `nowhere`.
  const nowhere = 0xfffffff0u;
  let at = select(nowhere, start + c * p.{{NAME}}_inner, live);
  let next = subgroupShuffleDown(v[0], 1u);
  let next_at = subgroupShuffleDown(at, 1u);
  let previous_at = subgroupShuffleUp(at, 1u);
  if (!live) { return; }
  let place = invocation % {{PAIRS}}u;
  if ((at & 1u) == 0u && place != {{PAIRS - 1}}u && next_at == at + 1u) {
    {{NAME}}_put2(at, vec2<f32>(v[0], next));
  } else if ((at & 1u) == 0u || place == 0u || previous_at + 1u != at) {
    {{NAME}}_put(at, v[0]);
  }
#else
  if (!live) { return; }
#if CHUNK == 8
  {{NAME}}_put8(start + c * 8u, v[0], v[1]);
#elif CHUNK == 4
  {{NAME}}_put4(start + c * 4u, v[0]);
#elif CHUNK == 2 && NARROW
  {{NAME}}_put2(start + c * 2u, v[0]);
#elif CHUNK == 2
  {{NAME}}_put(start + c * 2u, v[0].x);
  {{NAME}}_put(start + c * 2u + 1u, v[0].y);
#else
  {{NAME}}_put(start + c * p.{{NAME}}_inner, v[0]);
#endif
#endif
}
#elif KIND == "vec" && CHUNK == 8
fn {{NAME}}_load(start: u32, c: u32) -> Chunk { return {{NAME}}_at8(start + c * 8u); }
#elif KIND == "vec"
fn {{NAME}}_load(start: u32, c: u32) -> Chunk { return Chunk({{NAME}}_at4(start + c * 4u)); }
#elif KIND == "group"
fn {{NAME}}_load(start: u32, c: u32) -> Chunk {
  let v = Vec({{NAME}}_at(start + (p.row_first + c * {{CHUNK}}u) / p.{{NAME}}_span * p.{{NAME}}_inner));
  return Chunk(v{{HALVES == 2 ? ", v" : ""}});
}
#elif KIND != "number"
fn {{NAME}}_element(start: u32, i: u32) -> f32 {
#if KIND == "each"
  return {{NAME}}_at(start + (p.row_first + i) / p.{{NAME}}_span * p.{{NAME}}_inner);
#else
  return {{NAME}}_at(start + i * p.{{NAME}}_inner);
#endif
}
fn {{NAME}}_load(start: u32, c: u32) -> Chunk {
  let i = c * {{CHUNK}}u;
#if CHUNK == 1
  return Chunk({{NAME}}_element(start, i));
#else
  var v: Chunk;
#for k in 0..CHUNK
  v[{{k / 4}}][{{k % 4}}] = {{NAME}}_element(start, i + {{k}}u);
#endfor
  return v;
#endif
}
#endif
