// Copies COUNT rows of operand NAME, from row FIRST on, to workgroup memory: AT is where row 0 lies, LAST the last valid row, ROW the
// groups of 8 halves in a row, TILE_ROW those of a row of TILE.
  for (var n = t; n < {{COUNT * ROW}}u; n += {{THREADS}}u) {
    {{TILE}}[n / {{ROW}}u * {{TILE_ROW}}u + n % {{ROW}}u] =
        {{NAME}}_halves({{AT}} + min({{FIRST}}u + n / {{ROW}}u, {{LAST}}) * p.{{NAME}}_t, n % {{ROW}}u * 8u);
  }
