  // Which rows and columns of [n, c, d, h, w] invocation g makes: ITEMS rows from h on, CHUNK columns from w on.
  let width = extent.z / {{CHUNK}}u;
  let height = (extent.y + {{ITEMS - 1}}u) / {{ITEMS}}u;
  let line = g / width;
  let w = (g - line * width) * {{CHUNK}}u;
  let plane = line / height;
  let h = (line - plane * height) * {{ITEMS}}u;
  let volume = plane / extent.x;
  let d = plane - volume * extent.x;
  let n = volume / p.channels;
  let c = volume - n * p.channels;
