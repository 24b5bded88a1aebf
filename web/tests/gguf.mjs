// GGUF files that are made up: a header, and tensors whose bytes are computed when somebody reads them, so that a file of any size
// costs nothing.
const alignment = 32;
const elements = { f32: 1, f16: 1, q4_0: 32, q8_0: 32 }, blockBytes = { f32: 4, f16: 2, q4_0: 18, q8_0: 34 }, numbers = { f32: 0, f16: 1, q4_0: 2, q8_0: 8 };
const poolBlocks = 4093;

const u32 = value => Buffer.from(new Uint32Array([value]).buffer);
const f32 = value => Buffer.from(new Float32Array([value]).buffer);
const u64 = value => Buffer.from(new BigUint64Array([BigInt(value)]).buffer);
const text = value => {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
};
// Types of values by number, and how each is written.
const kinds = { u32: [4, u32], i32: [5, value => u32(value >>> 0)], f32: [6, f32], bool: [7, value => Buffer.from([Number(value)])], text: [8, text] };

/** A value of a header: [name, "u32" | "i32" | "f32" | "bool" | "text", value or list of values]. */
function valueBytes([name, kind, value]) {
  const [type, write] = kinds[kind];
  if (!Array.isArray(value)) return Buffer.concat([text(name), u32(type), write(value)]);
  return Buffer.concat([text(name), u32(9), u32(type), u64(value.length), ...value.map(write)]);
}

/** Some blocks of small random numbers, the same in every run. */
function pool(type, scale) {
  const each = blockBytes[type], bytes = Buffer.alloc(each * poolBlocks);
  let state = 1;
  const random = () => (state = Math.imul(state, 1664525) + 1013904223 >>> 0) / 2 ** 32;
  const half = value => {  // What is too small for a normal number becomes 0.
    const exponent = Math.floor(Math.log2(Math.abs(value)));
    return exponent < -14 ? 0 : (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | Math.floor((Math.abs(value) / 2 ** exponent - 1) * 1024);
  };
  for (let at = 0; at < bytes.length; at += each) {
    if (type === 'f32') bytes.writeFloatLE(scale * (2 * random() - 1), at);
    else if (type === 'f16') bytes.writeUInt16LE(half(scale * (2 * random() - 1)), at);
    else {
      bytes.writeUInt16LE(half(scale * (0.5 + random()) / (type === 'q4_0' ? 8 : 127)), at);
      for (let i = 2; i < each; ++i) bytes[at + i] = random() * 256;
    }
  }
  return bytes;
}

/**
 * A file as { size, read(position, length) } with these values and tensors: { name, type, extents, fill }, where `fill` is a number,
 * or else small random numbers are there; `zeros` rows at the beginning are 0.
 */
export function gguf(values, tensors, scale = 0.08) {
  const pools = new Map(), placed = [];
  let end = 0;
  tensors.forEach(({ name, type, extents, fill, zeros = 0 }, i) => {
    const bytes = extents.reduce((product, extent) => product * extent, 1) / elements[type] * blockBytes[type];
    const row = extents[0] / elements[type] * blockBytes[type];
    let content;
    if (fill !== undefined) content = f32(fill);
    else {
      if (!pools.has(type)) pools.set(type, pool(type, scale));
      content = pools.get(type);
    }
    placed.push({ name, type, extents, offset: end, bytes, content, shift: fill === undefined ? (i * 997 % poolBlocks) * blockBytes[type] : 0, empty: zeros * row });
    end = Math.ceil((end + bytes) / alignment) * alignment;
  });
  const infos = placed.map(({ name, type, extents, offset }) => Buffer.concat([text(name), u32(extents.length), ...extents.map(u64), u32(numbers[type]), u64(offset)]));
  const front = Buffer.concat([Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(values.length), ...values.map(valueBytes), ...infos]);
  const header = Buffer.concat([front, Buffer.alloc((alignment - front.length % alignment) % alignment)]);
  const fillFrom = (out, outAt, { content, shift, empty }, from, length) => {
    for (let done = 0; done < length;) {
      const at = from + done;
      if (at < empty) {
        done += Math.min(length - done, empty - at);
        continue;
      }
      const place = (at + shift) % content.length, count = Math.min(length - done, content.length - place);
      content.copy(out, outAt + done, place, place + count);
      done += count;
    }
  };
  return {
    size: header.length + end,
    headerBytes: header.length,
    tensors: placed,
    read(position, length) {
      const out = Buffer.alloc(Math.max(0, Math.min(length, header.length + end - position))), to = position + out.length;
      if (position < header.length) header.copy(out, 0, position, Math.min(header.length, to));
      for (const one of placed) {
        const begin = header.length + one.offset, first = Math.max(position, begin), last = Math.min(to, begin + one.bytes);
        if (last > first) fillFrom(out, first - position, one, first - begin, last - first);
      }
      return out;
    },
  };
}

const bytePieces = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`);

/** A vocabulary of pieces with scores: bytes, marks of a conversation, and made-up words. */
export function pieces(words) {
  const marks = ['<|im_start|>', '<|im_end|>'], tokens = ['<unk>', '<s>', '</s>', ...bytePieces, ...marks];
  while (tokens.length < words) tokens.push(`\u2581t${tokens.length}`);
  const types = tokens.map((_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : i < 261 ? 3 : 1));
  return { hidden: 261, values: [
    ['tokenizer.ggml.model', 'text', 'llama'], ['tokenizer.ggml.pre', 'text', 'default'], ['tokenizer.ggml.tokens', 'text', tokens],
    ['tokenizer.ggml.scores', 'f32', tokens.map((_, i) => -i)], ['tokenizer.ggml.token_type', 'i32', types],
    ['tokenizer.ggml.bos_token_id', 'u32', 1], ['tokenizer.ggml.eos_token_id', 'u32', 260], ['tokenizer.ggml.add_bos_token', 'bool', false],
  ] };
}

/** A vocabulary of merges: every byte as a letter, and some pairs. */
export function merges(words) {
  const letters = [];
  for (let byte = 0, next = 256; byte < 256; ++byte) {
    const plain = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    letters.push(String.fromCodePoint(plain ? byte : next++));
  }
  const space = letters[32], pairs = [[space, 't'], ['h', 'e'], [`${space}t`, 'he'], ['i', 'n'], [space, 'a']];
  const tokens = [...letters, ...pairs.map(pair => pair.join('')), '<|endoftext|>'], hidden = tokens.length;
  while (tokens.length < words) tokens.push(`${space}t${tokens.length}`);
  return { hidden, values: [
    ['tokenizer.ggml.model', 'text', 'gpt2'], ['tokenizer.ggml.pre', 'text', 'gpt-2'], ['tokenizer.ggml.tokens', 'text', tokens],
    ['tokenizer.ggml.merges', 'text', pairs.map(pair => pair.join(' '))], ['tokenizer.ggml.token_type', 'i32', tokens.map((_, i) => (i === hidden - 1 ? 3 : 1))],
    ['tokenizer.ggml.bos_token_id', 'u32', hidden - 1], ['tokenizer.ggml.eos_token_id', 'u32', hidden - 1],
  ] };
}

/** What a model of this architecture has, less its vocabulary and layers. */
export const hyper = (architecture, { layers, width, hidden, heads, keyHeads = heads, context = 512 }) => [
  ['general.architecture', 'text', architecture], ['general.name', 'text', `made-up ${architecture}`], [`${architecture}.block_count`, 'u32', layers],
  [`${architecture}.context_length`, 'u32', context], [`${architecture}.embedding_length`, 'u32', width], [`${architecture}.feed_forward_length`, 'u32', hidden],
  [`${architecture}.attention.head_count`, 'u32', heads], [`${architecture}.attention.head_count_kv`, 'u32', keyHeads],
];

const valueSizes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

/** The tensors of a file, or of a part of one, as its header tells: names and places of their bytes. */
export function tensorsOf(file) {
  const head = Buffer.from(file.read(0, Math.min(file.size, 1 << 20)));
  let at = 8, alignedTo = alignment;
  const word = () => head.readUInt32LE((at += 4) - 4), long = () => Number(head.readBigUInt64LE((at += 8) - 8));
  const string = () => {
    const length = long();
    return head.toString('utf8', at, at += length);
  };
  const skip = type => {
    if (type === 8) string();
    else if (type === 9) for (let of = word(), count = long(); count > 0; --count) skip(of);
    else at += valueSizes[type];
  };
  const count = long(), values = long();
  for (let i = 0; i < values; ++i) {
    const name = string(), type = word();
    if (name === 'general.alignment') alignedTo = head.readUInt32LE(at);
    skip(type);
  }
  const found = Array.from({ length: count }, () => {
    const name = string(), rank = word();
    at += 8 * rank + 4;
    return { name, offset: long() };
  });
  const data = Math.ceil(at / alignedTo) * alignedTo;
  return found.map(({ name, offset }) => ({ name, position: data + offset }));
}
