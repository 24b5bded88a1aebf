// Matrices of whole numbers, by batches: where they begin (start), four numbers of them at a time, and where results go. The
// highest bits of numbers are turned where whoever includes this says so (FLIP_A, FLIP_B).
var<private> a_base: u32;
var<private> b_base: u32;
var<private> y_base: u32;
var<private> first_channel: u32;

fn start(batch: u32) {
  var rest = batch;
  a_base = p.a_off;
  b_base = p.b_off;
  y_base = p.y_off;
  first_channel = 0u;
#for back in 0..RANK
#let d = RANK - 1 - back
  {
    let at = rest % p.batch_{{d}};
    rest /= p.batch_{{d}};
    a_base += at * p.a_{{d}};
    b_base += at * p.b_{{d}};
    y_base += at * p.y_{{d}};
  }
#endfor
}

#for which in 0..2
#let S = which == 0 ? "a" : "b"
// Four neighbours along K of a row of a (or a column of b), 0 past the end.
fn {{S}}_four(along: u32, four: u32) -> u32 {
  let k = four * 4u;
  let at = {{S}}_base + along * p.{{S}}_{{which == 0 ? "row" : "column"}};
#if (which == 0 ? WORDS_A : WORDS_B)
  let word = {{S}}_word((at + k) / 4u) ^ {{(which == 0 ? FLIP_A : FLIP_B) ? "0x80808080u" : "0u"}};
  return word & (0xffffffffu >> (32u - 8u * min(p.k - k, 4u)));
#else
  var word = 0u;
  for (var i = 0u; i < min(p.k - k, 4u); i++) {
    let byte = (u32({{S}}_at(at + (k + i) * p.{{S}}_k)) & 0xffu) ^ {{(which == 0 ? FLIP_A : FLIP_B) ? "0x80u" : "0u"}};
    word |= byte << (8u * i);
  }
  return word;
#endif
}
#endfor

fn y_place(row: u32, column: u32) -> u32 { return y_base + row * p.y_row + column * p.y_column; }
