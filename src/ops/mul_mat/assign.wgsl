// Sorts the rows of x by the matrix that the ids name. One workgroup; workgroup memory: a counter for each of BUCKETS, the
// last of which takes ids that are no matrix.
// `order` gets the numbers of the rows, those of one matrix together; `tiles` three numbers for each tile of at most
// {{WIDTH}} of them: the bucket, the first row in `order` and how many. Tiles that are not needed have none.
// Rows of one matrix come in any order, which no result depends on.
var<workgroup> counts: array<atomic<u32>, {{BUCKETS}}>;
var<workgroup> tile_count: u32;

fn bucket_of(row: u32) -> u32 {
  let token = row / p.used;
  let id = ids_at(p.ids_off + token * p.ids_token + (row - token * p.used) * p.ids_slot);
  return select({{BUCKETS - 1}}u, bitcast<u32>(id), id >= 0i && bitcast<u32>(id) < {{BUCKETS - 1}}u);
}

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32) {
  for (var i = lane; i < {{BUCKETS}}u; i += 256u) { atomicStore(&counts[i], 0u); }
  workgroupBarrier();
  for (var row = lane; row < p.rows; row += 256u) { atomicAdd(&counts[bucket_of(row)], 1u); }
  workgroupBarrier();
  if (lane == 0u) {
    var start = 0u;
    var tile = 0u;
    for (var i = 0u; i < {{BUCKETS}}u; i++) {
      let count = atomicLoad(&counts[i]);
      atomicStore(&counts[i], start);
      for (var done = 0u; done < count; done += {{WIDTH}}u) {
        let at = p.tiles_off + tile * 3u;
        tiles_put(at, i);
        tiles_put(at + 1u, start + done);
        tiles_put(at + 2u, min({{WIDTH}}u, count - done));
        tile++;
      }
      start += count;
    }
    tile_count = tile;
  }
  workgroupBarrier();
  for (var i = tile_count + lane; i < p.tiles; i += 256u) { tiles_put(p.tiles_off + i * 3u + 2u, 0u); }
  for (var row = lane; row < p.rows; row += 256u) {
    order_put(p.order_off + atomicAdd(&counts[bucket_of(row)], 1u), row);
  }
}
