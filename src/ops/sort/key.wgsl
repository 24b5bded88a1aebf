// Keys: u32 whose order is the order of the elements. Included by the kernels of this folder.
#let TILE = 2048
#let EACH = TILE / WORKGROUP

#if KIND == "f32"
fn order_key(v: f32) -> u32 {
  let given = bitcast<u32>(v);
  let bits = select(given, 0u, given == 0x80000000u);
  let ordered = select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
  return select(ordered, 0xffffffffu, (bits & 0x7fffffffu) > 0x7f800000u);
}
#elif KIND == "i32"
fn order_key(v: i32) -> u32 { return bitcast<u32>(v) ^ 0x80000000u; }
#elif KIND == "u32"
fn order_key(v: u32) -> u32 { return v; }
#endif

var<workgroup> shared_keys: array<u32, {{TILE}}>;

// How many of the `d` smallest elements of two sorted runs come from the first one, which wins ties. Runs lie in
// shared_keys at `a` and `b`.
fn split_shared(a: u32, a_count: u32, b: u32, b_count: u32, d: u32) -> u32 {
  var low = select(0u, d - b_count, d > b_count);
  var high = min(d, a_count);
  while (low < high) {
    let middle = (low + high) / 2u;
    if (shared_keys[a + middle] <= shared_keys[b + d - 1u - middle]) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return low;
}
