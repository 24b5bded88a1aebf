// Convolutions of whole numbers as products: weights are a, of the channels of a group, and windows of an image b. K goes over the
// elements of a window, and for each of them over channels, four at a time.
var<private> a_base: u32;
var<private> b_base: u32;
var<private> y_base: u32;
var<private> first_channel: u32;
var<private> outside: u32;  // four zero points of x

fn start(batch: u32) {
  let part = batch % p.parts;
  let image = batch / p.parts;
  a_base = p.a_off + part * p.w_part;
  b_base = p.b_off + image * p.x_image + part * p.x_part;
  y_base = p.y_off + image * p.y_image + part * p.y_part;
  first_channel = part * p.m;
#if ZERO_B
  outside = ((u32(zb_at(p.zb_off)) & 0xffu) * 0x01010101u) ^ {{FLIP_B ? "0x80808080u" : "0u"}};
#else
  outside = {{FLIP_B ? "0x80808080u" : "0u"}};
#endif
}

#for which in 0..2
#let S = which == 0 ? "a" : "b"
// `count` neighbouring channels, their highest bits turned where FLIP_A or FLIP_B says so; 0 behind them.
fn {{S}}_bytes(at: u32, count: u32) -> u32 {
#if (which == 0 ? WORDS_A : WORDS_B)
  return ({{S}}_word(at / 4u) ^ {{(which == 0 ? FLIP_A : FLIP_B) ? "0x80808080u" : "0u"}}) & (0xffffffffu >> (32u - 8u * count));
#else
  var word = 0u;
  for (var i = 0u; i < count; i++) {
    let byte = (u32({{S}}_at(at + i * p.{{which == 0 ? "w" : "x"}}_channel)) & 0xffu) ^ {{(which == 0 ? FLIP_A : FLIP_B) ? "0x80u" : "0u"}};
    word |= byte << (8u * i);
  }
  return word;
#endif
}
#endfor

fn a_four(row: u32, four: u32) -> u32 {
  let tap = four / p.channel_fours;
  let c = four % p.channel_fours * 4u;
  return a_bytes(a_base + row * p.w_row + c * p.w_channel + tap / (p.kernel_1 * p.kernel_2) * p.w_0 +
                 tap / p.kernel_2 % p.kernel_1 * p.w_1 + tap % p.kernel_2 * p.w_2, min(p.channels - c, 4u));
}

fn b_four(column: u32, four: u32) -> u32 {
  let tap = four / p.channel_fours;
  let c = four % p.channel_fours * 4u;
  let count = min(p.channels - c, 4u);
  // Places before the image go round to numbers that are behind it.
  let i0 = column / (p.windows_1 * p.windows_2) * p.stride_0 + tap / (p.kernel_1 * p.kernel_2) * p.dilation_0 - p.pad_0;
  let i1 = column / p.windows_2 % p.windows_1 * p.stride_1 + tap / p.kernel_2 % p.kernel_1 * p.dilation_1 - p.pad_1;
  let i2 = column % p.windows_2 * p.stride_2 + tap % p.kernel_2 * p.dilation_2 - p.pad_2;
  if (i0 >= p.extent_0 || i1 >= p.extent_1 || i2 >= p.extent_2) { return outside & (0xffffffffu >> (32u - 8u * count)); }
  return b_bytes(b_base + c * p.x_channel + i0 * p.x_0 + i1 * p.x_1 + i2 * p.x_2, count);
}

fn y_place(row: u32, column: u32) -> u32 {
  return y_base + row * p.y_row + column / (p.windows_1 * p.windows_2) * p.y_0 + column / p.windows_2 % p.windows_1 * p.y_1 +
         column % p.windows_2 * p.y_2;
}
