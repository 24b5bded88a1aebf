// A convolution in two dimensions as one matrix product, on subgroup matrices of f16 with sums in f32: y[n, m, pixel] = bias[m] +
// Σ w[m, tap, c] · x[n, row + tap row, column + tap column, c]. The windows are never stored: x has channels innermost and a border
// (pad.wgsl), so that a step of BK along k is BK neighbours in memory of one tap. With FLIP taps go the other way.
// Tile: SM x SN subgroups, BM output channels x BN pixels of all images, in steps of BK; see gemm/matrix.wgsl, which this follows.
// Workgroup memory: a tile of w and one of x, rows padded by 16 bytes; strips of the results later.
// Assumes: subgroups of SUBGROUP invocations, numbered subgroup by subgroup; channels are a multiple of BK, pixels of 4.
#let THREADS = SM * SN * SUBGROUP
#let WM = BM / SM
#let WN = BN / SN
#let TM = WM / MM
#let TN = WN / MN
#let ROW = BK / 8
#let LD = ROW + 1
#let A_SIZE = BM * LD
#let STRIP_ROW = WN / 4 + 1
#let STRIP = MM * STRIP_ROW
#let TAPS = KERNEL_H * KERNEL_W
#let LEFT = "subgroup_matrix_left<f16, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<f16, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
var<workgroup> tile: array<vec4<u32>, {{max((BM + BN) * LD, SM * SN * STRIP)}}>;

// Row `line` of a tile, for the stores of eight invocations to meet different banks: see gemm/operand.wgsl.
fn spread(line: u32) -> u32 {
#if ROW == 4
  return (line & ~7u) | ((line & 1u) << 2u) | ((line >> 1u) & 3u);
#elif ROW == 2
  return (line & ~7u) | ((line & 3u) << 1u) | ((line >> 2u) & 1u);
#else
  return line;
#endif
}

// Where the first tap of pixel n of all images starts.
fn window_of(n: u32) -> u32 {
  let image = n / p.pixels;
  let pixel = n - image * p.pixels;
  let row = pixel / p.out_w;
  return ((image * p.padded_h + row * p.stride_h) * p.padded_w + (pixel - row * p.out_w) * p.stride_w) * p.channels;
}

// Hands a strip of MM rows, which the matrices of this subgroup were stored to, to memory.
fn flush(m0: u32, n0: u32, strip: u32, lane: u32) {
  for (var q = lane; q < {{MM * WN / 4}}u; q += {{SUBGROUP}}u) {
    let m = m0 + q / {{WN / 4}}u;
    let n = n0 + q % {{WN / 4}}u * 4u;
    if (m < p.m && n < p.n) {
      let image = n / p.pixels;
      let v = bitcast<vec4<f32>>(tile[strip + q / {{WN / 4}}u * {{STRIP_ROW}}u + q % {{WN / 4}}u]);
      y_put4(p.y_off + image * p.y_image + m * p.y_channel + n - image * p.pixels, v{{BIAS ? " + bias_at(p.bias_off + m * p.bias_step)" : ""}});
    }
  }
}

@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32,
        @builtin(subgroup_id) sg: u32, @builtin(subgroup_invocation_id) lane: u32) {
  let m0 = group.y * {{BM}}u;
  let n0 = group.x * {{BN}}u;
  let sub_m = sg % {{SM}}u;
  let sub_n = sg / {{SM}}u;
  let strip = sg * {{STRIP}}u;
#for i in 0..TM
#for j in 0..TN
  var c{{i}}_{{j}} = {{SUMS}}();
#endfor
#endfor
#for i in 0..BM * BK / 8 / THREADS
  let a_row{{i}} = spread((t + {{i * THREADS}}u) / {{ROW}}u);
  let a_slot{{i}} = a_row{{i}} * {{LD}}u + t % {{ROW}}u;
  let a_base{{i}} = p.w_off + min(m0 + a_row{{i}}, p.m - 1u) * p.k + t % {{ROW}}u * 8u;
  var a{{i}} = vec4<u32>();
#endfor
#for i in 0..BN * BK / 8 / THREADS
  let b_row{{i}} = spread((t + {{i * THREADS}}u) / {{ROW}}u);
  let b_slot{{i}} = {{A_SIZE}}u + b_row{{i}} * {{LD}}u + t % {{ROW}}u;
  let b_base{{i}} = p.x_off + window_of(min(n0 + b_row{{i}}, p.n - 1u)) + t % {{ROW}}u * 8u;
  var b{{i}} = vec4<u32>();
#endfor
  // The tap and the channel that are fetched next.
  var tap = 0u;
  var channel = 0u;
  for (var k = 0u; k < p.k + {{BK}}u; k += {{BK}}u) {
    if (k > 0u) {
      workgroupBarrier();
#for i in 0..BM * BK / 8 / THREADS
      tile[a_slot{{i}}] = a{{i}};
#endfor
#for i in 0..BN * BK / 8 / THREADS
      tile[b_slot{{i}}] = b{{i}};
#endfor
      workgroupBarrier();
    }
    if (k < p.k) {
      let w_at = {{FLIP ? "(" + (TAPS - 1) + "u - tap)" : "tap"}} * p.channels + channel;
      let start = tap / {{KERNEL_W}}u * p.step_h + tap % {{KERNEL_W}}u * p.step_w + channel;
#for i in 0..BM * BK / 8 / THREADS
      a{{i}} = w_words4((a_base{{i}} + w_at) / 2u);
#endfor
#for i in 0..BN * BK / 8 / THREADS
      b{{i}} = x_words4((b_base{{i}} + start) / 2u);
#endfor
      channel += {{BK}}u;
      if (channel == p.channels) {
        channel = 0u;
        tap++;
      }
    }
    if (k > 0u) {
#for step in 0..BK / MK
#for i in 0..TM
      let a{{step}}_{{i}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&tile, (sub_m * {{WM}}u + {{i * MM}}u) * {{LD}}u + {{step * MK / 8}}u, {{LD}}u);
#endfor
#for j in 0..TN
      let b{{step}}_{{j}} = subgroupMatrixLoad<{{RIGHT}}, col_major>(&tile, {{A_SIZE}}u + (sub_n * {{WN}}u + {{j * MN}}u) * {{LD}}u + {{step * MK / 8}}u, {{LD}}u);
#for i in 0..TM
      c{{i}}_{{j}} = subgroupMatrixMultiplyAccumulate(a{{step}}_{{i}}, b{{step}}_{{j}}, c{{i}}_{{j}});
#endfor
#endfor
#endfor
    }
  }
#for i in 0..TM
  workgroupBarrier();
#for j in 0..TN
  subgroupMatrixStore<row_major>(&tile, strip + {{j * MN / 4}}u, c{{i}}_{{j}}, {{STRIP_ROW}}u);
#endfor
  workgroupBarrier();
  flush(m0 + sub_m * {{WM}}u + {{i * MM}}u, n0 + sub_n * {{WN}}u, strip, lane);
#endfor
}
