// One operand of matrix.wgsl on its way to workgroup memory, in three parts: PART "place" says where this invocation
// reads and writes, "fetch" reads the tile at K into registers, "store" writes them. NAME, ORIGIN and EXTENT (of the
// dimension that is not k), BX (its tile), DIR, LD (elements of a row in workgroup memory), OFFSET (of the tile there), PER (numbers
// of an element there; an invocation moves eight at a time).
#let ROW = (DIR == "k" ? BK : BX) / 8
#let LOADS = BX * BK / 8 / THREADS
#if PART == "place"
#for i in 0..LOADS
#let LINE = "((t + {{i * THREADS}}u) / {{ROW}}u)"
#if DIR == "k" && ROW == 4
  // Eight invocations store two rows at once: rows four apart meet different memory banks, neighbours would not.
  let {{NAME}}_row{{i}} = ({{LINE}} & ~7u) | (({{LINE}} & 1u) << 2u) | (({{LINE}} >> 1u) & 3u);
#elif DIR == "k" && ROW == 2
  // The same for four rows at once: every second row.
  let {{NAME}}_row{{i}} = ({{LINE}} & ~7u) | (({{LINE}} & 3u) << 1u) | (({{LINE}} >> 2u) & 1u);
#else
  let {{NAME}}_row{{i}} = {{LINE}};
#endif
  let {{NAME}}_col{{i}} = (t + {{i * THREADS}}u) % {{ROW}}u;
  let {{NAME}}_slot{{i}} = {{OFFSET}}u + {{NAME}}_row{{i}} * {{LD}}u + {{NAME}}_col{{i}}{{PER == 4 ? " * 2u" : ""}};
#if DIR == "k"
  let {{NAME}}_k{{i}} = {{NAME}}_col{{i}} * 8u;
  let {{NAME}}_x{{i}} = min({{ORIGIN}} + {{NAME}}_row{{i}}, {{EXTENT}} - 1u);
#else
  let {{NAME}}_k{{i}} = {{NAME}}_row{{i}};
  let {{NAME}}_x{{i}} = min({{ORIGIN}} + {{NAME}}_col{{i}} * 8u, ({{EXTENT}} - 1u) / 8u * 8u);
#endif
  let {{NAME}}_base{{i}} = at.{{NAME}} + {{NAME}}_x{{i}} * p.{{NAME}}_x;
  var r{{NAME}}{{i}} = {{LOADED}}();
#endfor
#elif PART == "fetch"
#for i in 0..LOADS
    r{{NAME}}{{i}} = {{NAME}}_{{PER == 4 ? "eights" : "halves"}}({{NAME}}_base{{i}}, {{EXTENT}} - 1u - {{NAME}}_x{{i}}, {{K}} + {{NAME}}_k{{i}}, at.k_end);
#endfor
#else
#for i in 0..LOADS
#if PER == 4
    tile[{{NAME}}_slot{{i}}] = bitcast<vec4<u32>>(r{{NAME}}{{i}}[0]);
    tile[{{NAME}}_slot{{i}} + 1u] = bitcast<vec4<u32>>(r{{NAME}}{{i}}[1]);
#else
    tile[{{NAME}}_slot{{i}}] = r{{NAME}}{{i}};
#endif
#endfor
#endif
