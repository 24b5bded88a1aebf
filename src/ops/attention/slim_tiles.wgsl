// Keys and values on their way to the tiles of slim.wgsl: PART "place" says where this invocation reads and writes, "declare" and "fetch"
// read block BLOCK into registers, "store" writes them. An invocation has one column of 8 halves, of rows that lie a step apart.
// The order of value_row() moves the bits of a row's number, so that what a row moves by is the sum of its parts.
#for which in 0..2
#let NAME = which == 0 ? "k" : "v"
#let ROW = which == 0 ? ROWK : ROWV
#let LINE = which == 0 ? K_ROW : V_ROW
#let STEP = THREADS / ROW
#if PART == "place"
  let {{NAME}}_own = t / {{ROW}}u;
  let {{NAME}}_first = {{NAME}}_at0 / 8u + t % {{ROW}}u;
  let {{NAME}}_step = p.{{NAME}}_t / 8u;
  let {{NAME}}_slot = {{which == 0 ? "k_own" : V_AT + "u + value_row(v_own)"}} * {{LINE}}u + t % {{ROW}}u;
#endif
#for i in 0..BK / STEP
#let J = i * STEP
#let AT = which == 0 ? J : J / MN * MN + J / 4 % LPR * (CHUNK_GROUPS * 4) + J / (4 * LPR) % CHUNK_GROUPS * 4 + J % 4
#if PART == "declare"
  var {{NAME}}r{{i}} = vec4<u32>();
#elif PART == "fetch"
    {{NAME}}r{{i}} = {{NAME == "k" ? k_BUFFER : v_BUFFER}}[{{NAME}}_first + ({{BLOCK}} * {{BK}}u + min({{NAME}}_own + {{J}}u, p.keys - 1u - {{BLOCK}} * {{BK}}u)) * {{NAME}}_step];
#elif PART == "store"
    tiles[{{NAME}}_slot + {{AT * LINE}}u] = {{NAME}}r{{i}};
#endif
#endfor
#endfor
