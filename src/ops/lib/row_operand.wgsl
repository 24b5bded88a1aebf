// Access to operand NAME of a row kernel, by chunks. Included with NAME, KIND and STORE.
//   NAME_row(row)              where a row starts
//   NAME_load(start, c)        chunk c of the row that starts there
//   NAME_store(start, c, v)    writes it (with STORE)
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
fn {{NAME}}_store(start: u32, c: u32, v: Chunk) {
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
