// One operand of matrix.wgsl on its way to workgroup memory, in three parts: PART "place" says where this invocation
// reads and writes, "fetch" reads the tile at K into registers, "store" writes them behind STAGE_AT. NAME, ORIGIN and
// EXTENT (of the dimension that is not k), BX (its tile), DIR, LD, OFFSET (in the stage).
// TURNED: memory runs across k but the tile along it; an invocation moves blocks of 8 x 8 and transposes them.
#if TURNED
#let BLOCKS = BX / 8 * (BK / 8)
#let PER = (BLOCKS + THREADS - 1) / THREADS
#let LOADS = PER * 8
#else
#let ROW = (DIR == "k" ? BK : BX) / 8
#let LOADS = BX * BK / 8 / THREADS
#endif
#if PART == "place"
#if TURNED
#for b in 0..PER
  let {{NAME}}_kb{{b}} = (t + {{b * THREADS}}u) % {{BK / 8}}u;
  let {{NAME}}_xb{{b}} = (t + {{b * THREADS}}u) / {{BK / 8}}u;
  let {{NAME}}_slot{{b}} = {{OFFSET}}u + {{NAME}}_xb{{b}} * {{8 * LD}}u + {{NAME}}_kb{{b}};
  let {{NAME}}_x{{b}} = min({{ORIGIN}} + {{NAME}}_xb{{b}} * 8u, ({{EXTENT}} - 1u) / 8u * 8u);
  let {{NAME}}_base{{b}} = at.{{NAME}} + {{NAME}}_x{{b}} * p.{{NAME}}_x;
  let {{NAME}}_k{{b}} = {{NAME}}_kb{{b}} * 8u;
#endfor
#else
#for i in 0..LOADS
#let LINE = "((t + {{i * THREADS}}u) / {{ROW}}u)"
#if DIR == "k" && ROW == 4 && LD % 2 == 1
  // Eight invocations store two rows at once: rows four apart meet different memory banks, neighbours would not.
  let {{NAME}}_row{{i}} = ({{LINE}} & ~7u) | (({{LINE}} & 1u) << 2u) | (({{LINE}} >> 1u) & 3u);
#elif DIR == "k" && ROW == 2 && LD % 2 == 1
  // The same for four rows at once: every second row.
  let {{NAME}}_row{{i}} = ({{LINE}} & ~7u) | (({{LINE}} & 3u) << 1u) | (({{LINE}} >> 2u) & 1u);
#else
  let {{NAME}}_row{{i}} = {{LINE}};
#endif
  let {{NAME}}_col{{i}} = (t + {{i * THREADS}}u) % {{ROW}}u;
  let {{NAME}}_slot{{i}} = {{OFFSET}}u + {{NAME}}_row{{i}} * {{LD}}u + {{NAME}}_col{{i}};
#if DIR == "k"
  let {{NAME}}_k{{i}} = {{NAME}}_col{{i}} * 8u;
  let {{NAME}}_x{{i}} = min({{ORIGIN}} + {{NAME}}_row{{i}}, {{EXTENT}} - 1u);
#else
  let {{NAME}}_k{{i}} = {{NAME}}_row{{i}};
  let {{NAME}}_x{{i}} = min({{ORIGIN}} + {{NAME}}_col{{i}} * 8u, ({{EXTENT}} - 1u) / 8u * 8u);
#endif
  let {{NAME}}_base{{i}} = at.{{NAME}} + {{NAME}}_x{{i}} * p.{{NAME}}_x;
#endfor
#endif
#for i in 0..LOADS
  var r{{NAME}}{{i}} = vec4<u32>();
#endfor
#elif PART == "fetch"
#if TURNED
#for b in 0..PER
      if (t + {{b * THREADS}}u < {{BLOCKS}}u) {
#for r in 0..8
        r{{NAME}}{{b * 8 + r}} = {{NAME}}_halves({{NAME}}_base{{b}}, {{EXTENT}} - 1u - {{NAME}}_x{{b}}, {{K}} + {{NAME}}_k{{b}} + {{r}}u, at.k_end);
#endfor
      }
#endfor
#else
#for i in 0..LOADS
      r{{NAME}}{{i}} = {{NAME}}_halves({{NAME}}_base{{i}}, {{EXTENT}} - 1u - {{NAME}}_x{{i}}, {{K}} + {{NAME}}_k{{i}}, at.k_end);
#endfor
#endif
#else
#if TURNED
#for b in 0..PER
      if (t + {{b * THREADS}}u < {{BLOCKS}}u) {
#for j in 0..8
        tile[{{STAGE_AT}}u + {{NAME}}_slot{{b}} + {{j * LD}}u] = vec4<u32>({{""}}
#for w in 0..4
#let LOW = "r{{NAME}}{{b * 8 + w * 2}}[{{j / 2}}]"
#let HIGH = "r{{NAME}}{{b * 8 + w * 2 + 1}}[{{j / 2}}]"
          {{j % 2 == 0 ? "({{LOW}} & 0xffffu) | ({{HIGH}} << 16u)" : "({{LOW}} >> 16u) | ({{HIGH}} & 0xffff0000u)"}},
#endfor
        );
#endfor
      }
#endfor
#else
#for i in 0..LOADS
      tile[{{STAGE_AT}}u + {{NAME}}_slot{{i}}] = r{{NAME}}{{i}};
#endfor
#endif
#endif
