// The built-in model with its first layers only: trainings and kernels are the same, and every step is quicker.
import { readFileSync } from 'node:fs';

const alignment = 32;
const bytesOf = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };
const texts = 8, arrays = 9;

/** The GGUF file with `layers` of its layers, as bytes. */
export function smallModel(path, layers) {
  const file = readFileSync(path);
  let at = 8;
  const number = () => Number(file.readBigUInt64LE((at += 8) - 8)), word = () => file.readUInt32LE((at += 4) - 4);
  const text = () => {
    const size = number();
    return file.toString('utf8', at, at += size);
  };
  const skip = type => {
    if (type === texts) text();
    else if (type === arrays) {
      const of = word();
      for (let count = number(); count > 0; --count) skip(of);
    } else at += bytesOf[type];
  };
  const tensors = number(), values = number(), begin = at;
  let countAt = 0;
  for (let i = 0; i < values; ++i) {
    const key = text(), type = word();
    if (key.endsWith('.block_count')) countAt = at;
    skip(type);
  }
  const metadata = Buffer.from(file.subarray(begin, at));
  metadata.writeUInt32LE(layers, countAt - begin);
  const all = [];
  for (let i = 0; i < tensors; ++i) {
    const from = at, name = text();
    const dimensions = word();
    at += 8 * dimensions + 4;
    const offset = number();
    all.push({ name, info: Buffer.from(file.subarray(from, at)), offset });
  }
  const data = Math.ceil(at / alignment) * alignment;
  const ends = [...all.map(({ offset }) => offset), file.length - data].sort((a, b) => a - b);
  const kept = all.filter(({ name }) => !(Number(/^blk\.(\d+)\./.exec(name)?.[1]) >= layers));
  const pieces = [];
  let offset = 0;
  for (const one of kept) {
    const end = ends.find(place => place > one.offset);
    pieces.push(file.subarray(data + one.offset, data + end));
    one.info.writeBigUInt64LE(BigInt(offset), one.info.length - 8);
    offset += end - one.offset;
  }
  const head = Buffer.alloc(24);
  file.copy(head, 0, 0, 8);
  head.writeBigUInt64LE(BigInt(kept.length), 8);
  head.writeBigUInt64LE(BigInt(values), 16);
  const front = Buffer.concat([head, metadata, ...kept.map(({ info }) => info)]);
  return Buffer.concat([front, Buffer.alloc((alignment - front.length % alignment) % alignment), ...pieces]);
}
