// The causal convolution of ssm_conv.hpp. Each invocation goes along p.block tokens of one channel of one sequence;
// neighbouring invocations are neighbouring channels, which lie side by side in y.
// Tile: 256 invocations. No workgroup memory.
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let n = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (n >= p.count) { return; }
  let channel = n % p.channels;
  let block = (n / p.channels) % p.blocks;
  let sequence = n / (p.channels * p.blocks);
  let first = block * p.block;
  let last = min(first + p.block, p.tokens);
  let x = p.x_off + sequence * p.x_sequence + channel * p.x_channel;
  let y = p.y_off + sequence * p.y_sequence + channel * p.y_channel;
  let w = p.weight_off + channel * p.weight_channel;
#if TAPS <= 8
#for k in 0..TAPS
  let w{{k}} = weight_at(w + {{k}}u * p.weight_tap);
#endfor
#for k in 1..TAPS
  var v{{k}} = x_at(x + (first + {{k - 1}}u) * p.x_token);
#endfor
#endif
#if HAS_BIAS
  let bias = bias_at(p.bias_off + channel * p.bias_channel);
#endif
  for (var t = first; t < last; t++) {
    var sum = 0.0;
#if TAPS <= 8
#for k in 1..TAPS
    let v{{k - 1}}_ = v{{k}};
#endfor
    let v{{TAPS - 1}}_ = x_at(x + (t + {{TAPS - 1}}u) * p.x_token);
#for k in 0..TAPS
    sum += v{{k}}_ * w{{k}};
#endfor
#for k in 1..TAPS
    v{{k}} = v{{k}}_;
#endfor
#else
    for (var k = 0u; k < {{TAPS}}u; k++) { sum += x_at(x + (t + k) * p.x_token) * weight_at(w + k * p.weight_tap); }
#endif
#if HAS_BIAS
    sum += bias;
#endif
#if SILU
    sum /= 1.0 + exp(-sum);
#endif
    y_put(y + t * p.y_token, sum);
  }
}
