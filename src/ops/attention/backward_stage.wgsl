// Copies COUNT rows of operand NAME to workgroup memory: AT is where row 0 lies, LAST the last valid row, ROW the groups of 8
// halves in a row.
    for (var n = t; n < {{COUNT * ROW}}u; n += {{THREADS}}u) {
      {{TILE}}[n / {{ROW}}u * {{ROW + 1}}u + n % {{ROW}}u] =
          {{NAME}}_halves({{AT}} + min(n / {{ROW}}u, {{LAST}}) * p.{{NAME}}_t, n % {{ROW}}u * 8u);
    }
