  // The results RESULT0_0, … of an invocation at the place that place.wgsl found.
  let to = p.y_off + n * p.y_0 + c * p.y_1 + d * p.y_2 + h * p.y_3 + w * p.y_4;
#for k in 0..ITEMS
  if (h + {{k}}u < extent.y) {
#if CHUNK == 2
    y_put2(to + {{k}}u * p.y_3, vec2<f32>({{RESULT}}{{k}}_0, {{RESULT}}{{k}}_1));
#else
    y_put(to + {{k}}u * p.y_3, {{RESULT}}{{k}}_0);
#endif
  }
#endfor
