// Rows of operand NAME on their way to workgroup memory: PART "fetch" reads them into registers r<i>, "store" writes them to
// `tile`. AT: where row 0 lies; LAST: the last valid row; ROW: groups of 8 halves in a row of the tile; ROWS of them.
#let LOADS = ROWS * ROW / THREADS
#for i in 0..LOADS
#let N = "(t + {{i * THREADS}}u)"
#if PART == "fetch"
    {{REG}}{{i}} = {{NAME}}_halves({{AT}} + min({{N}} / {{ROW}}u, {{LAST}}) * p.{{NAME}}_t, {{N}} % {{ROW}}u * 8u);
#elif PART == "declare"
  var {{REG}}{{i}} = vec4<u32>();
#else
    tile[{{N}} / {{ROW}}u * {{ROW + 1}}u + {{N}} % {{ROW}}u] = {{REG}}{{i}};
#endif
#endfor
