// Copies COUNT rows of operand NAME, from row FIRST on, to workgroup memory: AT is where row 0 lies, LAST the last valid row, ROW the
// groups of 8 halves in a row, TILE_ROW the groups of PER elements in a row of TILE.
  for (var n = t; n < {{COUNT * ROW}}u; n += {{THREADS}}u) {
    let v = {{NAME}}_halves({{AT}} + min({{FIRST}}u + n / {{ROW}}u, {{LAST}}) * p.{{NAME}}_t, n % {{ROW}}u * 8u);
#if PER == 4
    let at_tile = n / {{ROW}}u * {{TILE_ROW}}u + n % {{ROW}}u * 2u;
    {{TILE}}[at_tile] = bitcast<vec4<u32>>(vec4<f32>(unpack2x16float(v.x), unpack2x16float(v.y)));
    {{TILE}}[at_tile + 1u] = bitcast<vec4<u32>>(vec4<f32>(unpack2x16float(v.z), unpack2x16float(v.w)));
#else
    {{TILE}}[n / {{ROW}}u * {{TILE_ROW}}u + n % {{ROW}}u] = v;
#endif
  }
