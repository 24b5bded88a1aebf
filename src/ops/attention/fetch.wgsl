// Rows of operand NAME on their way to workgroup memory: PART "declare" and "fetch" read them into registers REG<i>, "store" writes
// them to TILE, whose rows have TILE_ROW groups of PER elements. ROW: groups of 8 halves of a row; ROWS of them. AT: where row 0
// lies; LAST: the last valid row; or FROM: the number of a block of BK keys. TILE_AT: the element of TILE from which
// on the rows go, if not 0.
#let ONTO = defined(TILE_AT) ? "{{TILE_AT}}u + " : ""
#if PART == "fetch" && defined(FROM)
#let ROW0 = "({{FROM}} * {{BK}}u)"
#let AT = "{{NAME}}_at0 + {{ROW0}} * p.{{NAME}}_t"
#let LAST = "(p.keys - 1u - {{ROW0}})"
#endif
#for i in 0..(ROWS * ROW + THREADS - 1) / THREADS
#let N = "(t + {{i * THREADS}}u)"
#let IF = (i + 1) * THREADS > ROWS * ROW ? "if ({{N}} < {{ROWS * ROW}}u) " : ""
#if PART == "fetch"
    {{REG}}{{i}} = {{NAME}}_halves({{AT}} + min({{N}} / {{ROW}}u, {{LAST}}) * p.{{NAME}}_t, {{N}} % {{ROW}}u * 8u);
#elif PART == "declare"
  var {{REG}}{{i}} = vec4<u32>();
#else
#if PER == 4
    {{IF}}{
      let at_tile = {{ONTO}}{{N}} / {{ROW}}u * {{TILE_ROW}}u + {{N}} % {{ROW}}u * 2u;
      let v = {{REG}}{{i}};
      {{TILE}}[at_tile] = bitcast<vec4<u32>>(vec4<f32>(unpack2x16float(v.x), unpack2x16float(v.y)));
      {{TILE}}[at_tile + 1u] = bitcast<vec4<u32>>(vec4<f32>(unpack2x16float(v.z), unpack2x16float(v.w)));
    }
#else
    {{IF}}{ {{TILE}}[{{ONTO}}{{N}} / {{ROW}}u * {{TILE_ROW}}u + {{N}} % {{ROW}}u] = {{REG}}{{i}}; }
#endif
#endif
#endfor
