// ONNX files of one operation, written by hand: the format is protobuf, of which a few kinds of fields are enough.
const bytesOf = text => new TextEncoder().encode(text);
function varint(value) {
  const out = [];
  for (let left = BigInt(value); ; left >>= 7n) {
    if (left < 128n) return [...out, Number(left)];
    out.push(Number(left & 127n) | 128);
  }
}
const number = (field, value) => [...varint(field << 3), ...varint(value)];
const part = (field, bytes) => [...varint((field << 3) | 2), ...varint(bytes.length), ...bytes];
const text = (field, value) => part(field, bytesOf(value));

const floats = (name, shape) => [...text(1, name), ...part(2, part(1, [...number(1, 1), ...part(2, shape.flatMap(extent => part(1, number(1, extent))))]))];
const integer = (name, value) => [...text(1, name), ...number(3, value), ...number(20, 2)];

/** A model with one node of `type`, from inputs of these shapes to one output. */
export function model(type, shapes, output, attributes = {}) {
  const names = shapes.map((_, i) => `x${i}`);
  const node = [...names.flatMap(name => text(1, name)), ...text(2, 'y'), ...text(4, type), ...Object.entries(attributes).flatMap(([name, value]) => part(5, integer(name, value)))];
  const graph = [...part(1, node), ...text(2, 'g'), ...shapes.flatMap((shape, i) => part(11, floats(names[i], shape))), ...part(12, floats('y', output))];
  return Uint8Array.from([...number(1, 8), ...part(7, graph), ...part(8, [...text(1, ''), ...number(2, 17)])]);
}

/** A model that adds weights, which lie in a file of their own, to an input of their shape. */
export function modelWithWeights(shape, location) {
  const weights = [...shape.flatMap(extent => number(1, extent)), ...number(2, 1), ...text(8, 'w'),
    ...part(13, [...text(1, 'location'), ...text(2, location)]), ...number(14, 1)];
  const node = [...text(1, 'x'), ...text(1, 'w'), ...text(2, 'y'), ...text(4, 'Add')];
  const graph = [...part(1, node), ...text(2, 'g'), ...part(5, weights), ...part(11, floats('x', shape)), ...part(12, floats('y', shape))];
  return Uint8Array.from([...number(1, 8), ...part(7, graph), ...part(8, [...text(1, ''), ...number(2, 17)])]);
}
