// Writes a GGUF model of the shape of an 8B one with random q4_0 weights: random_model.mjs FILE [LAYERS [WORDS]]. With all 32 layers it has
// 4.7 GB; WORDS is the size of its vocabulary. What it says means nothing; how long it takes is that of a trained one.
import { closeSync, openSync, writeSync } from 'node:fs';

const [path, layerText = '32', wordText = '128256'] = process.argv.slice(2);
const layers = Number(layerText), words = Number(wordText), width = 4096, hidden = 14336, heads = 32, keyHeads = 8, headSize = width / heads;
const alignment = 32, f32 = 0, q4_0 = 2;

const parts = [];
let values = 0;
const u32 = value => parts.push(Buffer.from(new Uint32Array([value]).buffer));
const u64 = value => parts.push(Buffer.from(new BigUint64Array([BigInt(value)]).buffer));
const text = value => {
  const bytes = Buffer.from(value);
  u64(bytes.length);
  parts.push(bytes);
};
const put = (name, type, write) => {
  text(name);
  u32(type);
  write();
  ++values;
};
const number = (name, value) => put(name, 4, () => u32(value));
const real = (name, value) => put(name, 6, () => parts.push(Buffer.from(new Float32Array([value]).buffer)));
const list = (name, type, items, write) => put(name, 9, () => {
  u32(type);
  u64(items.length);
  items.forEach(write);
});

put('general.architecture', 8, () => text('llama'));
put('general.name', 8, () => text('random'));
number('general.file_type', 2);
number('llama.block_count', layers);
number('llama.context_length', 8192);
number('llama.embedding_length', width);
number('llama.feed_forward_length', hidden);
number('llama.attention.head_count', heads);
number('llama.attention.head_count_kv', keyHeads);
number('llama.rope.dimension_count', headSize);
number('llama.vocab_size', words);
real('llama.attention.layer_norm_rms_epsilon', 1e-5);
real('llama.rope.freq_base', 500000);
put('tokenizer.ggml.model', 8, () => text('llama'));
put('tokenizer.ggml.pre', 8, () => text('default'));
const tokens = ['<unk>', '<s>', '</s>', ...Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)];
while (tokens.length < words) tokens.push(`\u2581t${tokens.length}`);
list('tokenizer.ggml.tokens', 8, tokens, text);
list('tokenizer.ggml.scores', 6, tokens, (_, i) => parts.push(Buffer.from(new Float32Array([-i]).buffer)));
list('tokenizer.ggml.token_type', 5, tokens, (_, i) => u32(i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1));
number('tokenizer.ggml.bos_token_id', 1);
number('tokenizer.ggml.eos_token_id', 2);

const tensors = [];
let end = 0;
const tensor = (name, type, ...extents) => {
  const bytes = extents.reduce((product, extent) => product * extent, 1) / (type === q4_0 ? 32 : 1) * (type === q4_0 ? 18 : 4);
  tensors.push({ name, type, extents, offset: end, bytes });
  end = Math.ceil((end + bytes) / alignment) * alignment;
};
tensor('token_embd.weight', q4_0, width, words);
tensor('output_norm.weight', f32, width);
tensor('output.weight', q4_0, width, words);
for (let i = 0; i < layers; ++i) {
  const blk = `blk.${i}.`;
  tensor(`${blk}attn_norm.weight`, f32, width);
  tensor(`${blk}attn_q.weight`, q4_0, width, width);
  tensor(`${blk}attn_k.weight`, q4_0, width, keyHeads * headSize);
  tensor(`${blk}attn_v.weight`, q4_0, width, keyHeads * headSize);
  tensor(`${blk}attn_output.weight`, q4_0, width, width);
  tensor(`${blk}ffn_norm.weight`, f32, width);
  tensor(`${blk}ffn_gate.weight`, q4_0, width, hidden);
  tensor(`${blk}ffn_up.weight`, q4_0, width, hidden);
  tensor(`${blk}ffn_down.weight`, q4_0, hidden, width);
}
const metadata = parts.splice(0);
for (const { name, type, extents, offset } of tensors) {
  text(name);
  u32(extents.length);
  extents.forEach(u64);
  u32(type);
  u64(offset);
}
const infos = parts.splice(0);
parts.push(Buffer.from('GGUF'));
u32(3);
u64(tensors.length);
u64(values);
const header = Buffer.concat([...parts, ...metadata, ...infos]);

// A pool of blocks, written again and again from other places: a generator for every weight would take minutes.
const pool = Buffer.alloc(18 * 65536), ones = Buffer.from(new Float32Array(width).fill(1).buffer);
let state = 1;
const random = () => (state = Math.imul(state, 1664525) + 1013904223 >>> 0);
for (let at = 0; at < pool.length; at += 18) {
  pool.writeUInt16LE(0x1c00 + (random() >>> 24), at);  // about 0.004
  for (let i = 2; i < 18; ++i) pool[at + i] = random() >>> 16;
}
const file = openSync(path, 'w');
let at = 0;
const write = bytes => {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done, bytes.length - done, at + done);
  at += bytes.length;
};
write(header);
const data = Math.ceil(header.length / alignment) * alignment;
for (const { type, offset, bytes } of tensors) {
  write(Buffer.alloc(data + offset - at));
  if (type === f32) write(ones);
  else for (let left = bytes; left > 0; left -= pool.length) write(left < pool.length ? pool.subarray(0, left) : pool);
}
closeSync(file);
console.log(`${path}: ${at} bytes`);
