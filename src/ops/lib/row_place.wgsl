// Which row (`row`, counted only where `row_live`) and which chunk of it (`first`) this invocation of a row kernel starts
// with. Stands inside main(), after `job`, the number of the workgroup; see row_tile.wgsl for the tile.
#if PHASE == "whole"
  let block = job;
#else
  let block = job / p.splits;
  let split = job - block * p.splits;
#endif
  if (block >= p.blocks) { return; }
  let wanted = block * {{ROWS}}u + row_of(invocation);
#if ROWS == 1
  const row_live = true;
  let row = wanted;
#else
  let row_live = wanted < p.rows;
  let row = min(wanted, p.rows - 1u);
#endif
  let l = lane_of(invocation);
  let first = {{PHASE == "whole" ? "" : "split * " + LANES * CHUNKS + "u + "}}l;
