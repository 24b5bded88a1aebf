  // A stage of a pass: butterflies of RADIX elements, of which DONE each are results of earlier stages. FROM and TO say where
  // elements come from and go: "values" in workgroup memory, "memory", "chirp" (memory, multiplied by chirps), or "product"
  // (multiplied by the kernel of the convolution, and exchanged for the way back).
  {
#let COUNT = LENGTH / RADIX
#let ALL = COUNT * TOGETHER
#let EXACT = ALL % SIZE == 0
// Neighbouring invocations take what lies side by side in memory: elements of one transform, or several transforms.
#let ACROSS = (FROM == "memory" && MODE != "whole") || (TO == "memory" && MODE == "later")
#for i in 0..(ALL + SIZE - 1) / SIZE
    let n{{i}} = {{EXACT ? "" : "min("}}lane + {{i * SIZE}}u{{EXACT ? "" : ", " + (ALL - 1) + "u)"}};
    let t{{i}} = n{{i}} {{ACROSS ? "%" : "/"}} {{ACROSS ? TOGETHER : COUNT}}u;
    let b{{i}} = n{{i}} {{ACROSS ? "/" : "%"}} {{ACROSS ? TOGETHER : COUNT}}u;
#if FROM == "memory" || TO == "memory"
    let j{{i}} = min(first + t{{i}}, p.total - 1u);
#if MODE == "whole"
    let start{{i}} = j{{i}} * {{LENGTH}}u;
#else
    let row{{i}} = j{{i}} / p.count;
    let column{{i}} = j{{i}} - row{{i}} * p.count;
    let start{{i}} = row{{i}} * p.count * {{LENGTH}}u;
#endif
#if MODE == "later"
    let k{{i}} = column{{i}} % p.done;
#endif
#elif FROM == "chirp" || TO == "chirp"
    let start{{i}} = min(first + t{{i}}, p.total - 1u) * p.n;
#endif

#for r in 0..RADIX
#if FROM == "values"
    var v{{i}}_{{r}} = values[place(t{{i}}, b{{i}} + {{r * COUNT}}u)];
#elif FROM == "chirp"
    let e{{i}}_{{r}} = min(b{{i}} + {{r * COUNT}}u, p.n - 1u);
    var v{{i}}_{{r}} = times(sided(bitcast<vec2<f32>>(x_words2(p.x_off + (start{{i}} + e{{i}}_{{r}}) * 2u))), chirp(e{{i}}_{{r}}));
    v{{i}}_{{r}} = select(vec2<f32>(0.0), v{{i}}_{{r}}, b{{i}} + {{r * COUNT}}u < p.n);
#elif MODE == "whole"
    var v{{i}}_{{r}} = sided(bitcast<vec2<f32>>(x_words2(p.x_off + (start{{i}} + b{{i}} + {{r * COUNT}}u) * 2u)));
#else
    var v{{i}}_{{r}} = sided(bitcast<vec2<f32>>(x_words2(p.x_off + (start{{i}} + column{{i}} + (b{{i}} + {{r * COUNT}}u) * p.count) * 2u)));
#endif
#endfor

    // Factors are powers of one that is computed, each the product of two about half as high.
#if FROM == "memory" && MODE == "later"
    let part{{i}} = 1.0 / f32(p.done * {{LENGTH}}u);
    let w{{i}}_1 = back(f32(k{{i}} * {{COUNT}}u) * part{{i}});
    let w{{i}}_0 = back(f32(k{{i}} * b{{i}}) * part{{i}});
#elif DONE > 1
    let w{{i}}_1 = back(f32(b{{i}} % {{DONE}}u) * (1.0 / {{DONE * RADIX}}.0));
#endif
#if (FROM == "memory" && MODE == "later") || DONE > 1
#for r in 1..RADIX
#if r > 1
    let w{{i}}_{{r}} = times(w{{i}}_{{r / 2}}, w{{i}}_{{r - r / 2}});
#endif
    v{{i}}_{{r}} = times(v{{i}}_{{r}}, w{{i}}_{{r}});
#endfor
#endif
#if FROM == "memory" && MODE == "later"
#for r in 0..RADIX
    v{{i}}_{{r}} = times(v{{i}}_{{r}}, w{{i}}_0);
#endfor
#endif

#if RADIX % 2 == 0
    // Halves, quarters, …: results lie in the order of reversed bits.
#let HALF = RADIX / 2
#for level in 0..4
#if HALF > 0
#for pair in 0..RADIX / 2
#let K = pair % HALF
#let A = (pair / HALF) * 2 * HALF + K
    let d{{i}}_{{level}}_{{pair}} = v{{i}}_{{A}} - v{{i}}_{{A + HALF}};
    v{{i}}_{{A}} += v{{i}}_{{A + HALF}};
#if K == 0
    v{{i}}_{{A + HALF}} = d{{i}}_{{level}}_{{pair}};
#elif K * 2 == HALF
    v{{i}}_{{A + HALF}} = vec2<f32>(d{{i}}_{{level}}_{{pair}}.y, -d{{i}}_{{level}}_{{pair}}.x);
#else
    v{{i}}_{{A + HALF}} = times(d{{i}}_{{level}}_{{pair}}, vec2<f32>(cos(3.141592653589793 * {{K}}.0 / {{HALF}}.0), -sin(3.141592653589793 * {{K}}.0 / {{HALF}}.0)));
#endif
#endfor
#let HALF = HALF / 2
#endif
#endfor
#for q in 0..RADIX
    let s{{i}}_{{q}} = v{{i}}_{{(q % 2) * (RADIX / 2) + (q / 2 % 2) * (RADIX / 4) + (q / 4 % 2) * (RADIX / 8) + (q / 8 % 2) * (RADIX / 16)}};
#endfor
#else
    // Elements r and RADIX - r have factors that are conjugates, and so have results q and RADIX - q.
#let PAIRS = RADIX / 2 + 1
    var s{{i}}_0 = v{{i}}_0;
#for r in 1..PAIRS
    let sum{{i}}_{{r}} = v{{i}}_{{r}} + v{{i}}_{{RADIX - r}};
    let gap{{i}}_{{r}} = v{{i}}_{{r}} - v{{i}}_{{RADIX - r}};
    s{{i}}_0 += sum{{i}}_{{r}};
#endfor
#for q in 1..PAIRS
    var even{{i}}_{{q}} = v{{i}}_0;
    var odd{{i}}_{{q}} = vec2<f32>(0.0);
#for r in 1..PAIRS
    even{{i}}_{{q}} += sum{{i}}_{{r}} * cos(6.283185307179586 * {{r * q % RADIX}}.0 / {{RADIX}}.0);
    odd{{i}}_{{q}} += gap{{i}}_{{r}} * sin(6.283185307179586 * {{r * q % RADIX}}.0 / {{RADIX}}.0);
#endfor
    let s{{i}}_{{q}} = even{{i}}_{{q}} + vec2<f32>(odd{{i}}_{{q}}.y, -odd{{i}}_{{q}}.x);
    let s{{i}}_{{RADIX - q}} = even{{i}}_{{q}} - vec2<f32>(odd{{i}}_{{q}}.y, -odd{{i}}_{{q}}.x);
#endfor
#endif
#endfor

#if FROM == "values" && (TO == "values" || TO == "product")
    workgroupBarrier();
#endif
#for i in 0..(ALL + SIZE - 1) / SIZE
    if ({{EXACT ? "true" : "lane + " + i * SIZE + "u < " + ALL + "u"}}{{TO == "memory" || TO == "chirp" ? " && first + t" + i + " < p.total" : ""}}) {
#if TO == "memory" && MODE == "later"
      let to = p.y_off + (start{{i}} + (column{{i}} - k{{i}}) * {{LENGTH}}u + k{{i}} + b{{i}} * p.done) * 2u;
#elif TO == "memory"
      let to = p.y_off + (start{{i}} + {{MODE == "whole" ? "" : "column" + i + " * " + LENGTH + "u + "}}b{{i}}) * 2u;
#else
      // Of the results before this stage, DONE stay side by side.
      let to = {{DONE == 1 ? "b" + i + " * " + RADIX + "u" : "(b" + i + " / " + DONE + "u) * " + DONE * RADIX + "u + b" + i + " % " + DONE + "u"}};
#endif
#for q in 0..RADIX
#if TO == "memory"
      y_put_words2(to + {{q * COUNT}}u{{MODE == "later" ? " * p.done" : ""}} * 2u, bitcast<vec2<u32>>(sided(s{{i}}_{{q}}) * p.scale));
#elif TO == "values"
      values[place(t{{i}}, to + {{q * DONE}}u)] = s{{i}}_{{q}};
#elif TO == "product"
      values[place(t{{i}}, to + {{q * DONE}}u)] = times(s{{i}}_{{q}}, bitcast<vec2<f32>>(b_words2(p.b_off + (to + {{q * DONE}}u) * 2u))).yx;
#else
      if (to + {{q * DONE}}u < p.n) {
        y_put_words2(p.y_off + (start{{i}} + to + {{q * DONE}}u) * 2u,
                     bitcast<vec2<u32>>(sided(times(s{{i}}_{{q}}.yx, chirp(to + {{q * DONE}}u))) * p.scale));
      }
#endif
#endfor
    }
#endfor
#if TO == "values" || TO == "product"
    workgroupBarrier();
#endif
  }
