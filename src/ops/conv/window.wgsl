// A convolution whose windows are small and known (KERNEL_H x KERNEL_W, steps of STRIDE, no dilation), or with FLIP a transposed
// one with steps of 1, which is a convolution with the weights turned around.
// Tile: 256 invocations, one per ITEMS rows of one column (of CHUNK neighbouring ones; with LAST of CHUNK neighbouring
// channels), so that rows that windows share are read once and all loads are in flight together.
// SINGLE: an element comes from one channel. WORDS: 16-bit elements are read two at a time, because pairs of x lie in words; the
// first one that a pair of outputs needs has an "even" or an "odd" column, or pairs are of channels ("last").
// No workgroup memory. Assumes: with CHUNK 2 words hold two elements that belong to one invocation.
#let OUTS = LAST ? 1 : CHUNK
#let COLUMNS = (OUTS - 1) * STRIDE + KERNEL_W
#let ROWS = (ITEMS - 1) * STRIDE + KERNEL_H
#let PAIRED = WORDS == "even" || WORDS == "odd"
#let SKIPPED = WORDS == "odd" ? 1 : 0
#if LAST && CHUNK == 2
alias V = vec2<f32>;
fn x_value(at: u32) -> V { return {{WORDS == "last" ? "x_unpack2(x_word(at / 2u))" : "V(x_at(at), x_at(at + p.x_1))"}}; }
fn w_value(at: u32) -> V { return V(w_at(at), w_at(at + p.w_channel)); }
#else
alias V = f32;
fn x_value(at: u32) -> V { return x_at(at); }
fn w_value(at: u32) -> V { return w_at(at); }
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
  let width = p.out_w / {{OUTS}}u;
  let height = (p.out_h + {{ITEMS - 1}}u) / {{ITEMS}}u;
#if LAST
  let channels = p.channels / {{CHUNK}}u;
  let rest = g / channels;
  let channel = (g - rest * channels) * {{CHUNK}}u;
#else
  let rest = g;
#endif
  let line = rest / width;
  let w = (rest - line * width) * {{OUTS}}u;
  let plane = line / height;
  let h = (line - plane * height) * {{ITEMS}}u;
#if LAST
  let n = plane;
#else
  let n = plane / p.channels;
  let channel = plane - n * p.channels;
#endif
  let group_of = channel / p.group_to;
  let x_start = p.x_off + n * p.x_0 + group_of * p.group_from * p.x_1;
#if FLIP
  let w_start = p.w_off + group_of * p.group_from * p.w_from + (channel - group_of * p.group_to) * p.w_channel;
#else
  let w_start = p.w_off + channel * p.w_channel;
#endif

  // Where columns and rows of the input lie; those outside count as 0 and read the last element instead.
  let left = i32(w * {{STRIDE}}u) - p.pad_w;
  let top = i32(h * {{STRIDE}}u) - p.pad_h;
#for j in 0..COLUMNS
  let inside{{j}} = bitcast<u32>(left + {{j}}) < p.in_w;
#if !PAIRED
  let column{{j}} = min(bitcast<u32>(left + {{j}}), p.in_w - 1u) * p.x_3;
#endif
#endfor
#if PAIRED
#for j in 0..(COLUMNS + SKIPPED + 1) / 2
  let word{{j}} = min(bitcast<u32>(left + {{2 * j - SKIPPED}}), (p.in_w - 1u) & 0xfffffffeu) / 2u;
#endfor
#endif

#for i in 0..ITEMS
#for o in 0..OUTS
  var sum{{i}}_{{o}} = V(0.0);
#endfor
#endfor
#if SINGLE
  {
    const c = 0u;
#else
  for (var c = 0u; c < p.group_from; c++) {
#endif
    let x_from = x_start + c * p.x_1;
    let w_from = w_start + c * p.w_from;
#for kh in 0..KERNEL_H
#for kw in 0..KERNEL_W
    let w{{kh}}_{{kw}} = w_value(w_from + {{FLIP ? KERNEL_H - 1 - kh : kh}}u * p.w_2 + {{FLIP ? KERNEL_W - 1 - kw : kw}}u * p.w_3);
#endfor
#endfor
#for r in 0..ROWS
    let here{{r}} = bitcast<u32>(top + {{r}}) < p.in_h;
    let row{{r}} = x_from + min(bitcast<u32>(top + {{r}}), p.in_h - 1u) * p.x_2;
#if PAIRED
#for j in 0..(COLUMNS + SKIPPED + 1) / 2
    let pair{{r}}_{{j}} = x_unpack2(x_word(row{{r}} / 2u + word{{j}}));
#endfor
#endif
#for j in 0..COLUMNS
    let x{{r}}_{{j}} = select(V(0.0), {{!PAIRED ? "x_value(row" + r + " + column" + j + ")" : "pair" + r + "_" + (j + SKIPPED) / 2 + "[" + (j + SKIPPED) % 2 + "]"}}, here{{r}} && inside{{j}});
#endfor
#for i in 0..ITEMS
#let KH = r - i * STRIDE
#if KH >= 0 && KH < KERNEL_H
#for o in 0..OUTS
#for kw in 0..KERNEL_W
    sum{{i}}_{{o}} += x{{r}}_{{o * STRIDE + kw}} * w{{KH}}_{{kw}};
#endfor
#endfor
#endif
#endfor
#endfor
  }

#if BIAS && CHUNK == 2 && LAST
  let bias = V(bias_at(p.bias_off + channel * p.bias_step), bias_at(p.bias_off + (channel + 1u) * p.bias_step));
#elif BIAS
  let bias = bias_at(p.bias_off + channel * p.bias_step);
#else
  const bias = V(0.0);
#endif
  let to = p.y_off + n * p.y_0 + channel * p.y_1 + w * p.y_3;
#for i in 0..ITEMS
  if (h + {{i}}u < p.out_h) {
#if CHUNK == 2
    y_put2(to + (h + {{i}}u) * p.y_2, vec2<f32>({{LAST ? "sum" + i + "_0 + bias" : "sum" + i + "_0 + bias, sum" + i + "_1 + bias"}}));
#else
    y_put(to + (h + {{i}}u) * p.y_2, sum{{i}}_0 + bias);
#endif
  }
#endfor
}
