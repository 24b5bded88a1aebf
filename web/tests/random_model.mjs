// Writes a GGUF model of the shape of an 8B one with random q4_0 weights: random_model.mjs FILE [LAYERS [WORDS]]. With all 32 layers it has
// 4.7 GB; WORDS is the size of its vocabulary. What it says means nothing; how long it takes is that of a trained one.
import { closeSync, openSync, writeSync } from 'node:fs';
import { gguf, hyper, pieces } from './gguf.mjs';

const [path, layerText = '32', wordText = '128256'] = process.argv.slice(2);
const layers = Number(layerText), words = Number(wordText), width = 4096, hidden = 14336, heads = 32, keyHeads = 8, keys = width / heads * keyHeads;
const tensor = (name, ...extents) => ({ name: `${name}.weight`, type: 'q4_0', extents }), norm = name => ({ name: `${name}.weight`, type: 'f32', extents: [width], fill: 1 });
const file = gguf([
  ...hyper('llama', { layers, width, hidden, heads, keyHeads, context: 8192 }), ['general.file_type', 'u32', 2], ['llama.rope.dimension_count', 'u32', width / heads],
  ['llama.vocab_size', 'u32', words], ['llama.attention.layer_norm_rms_epsilon', 'f32', 1e-5], ['llama.rope.freq_base', 'f32', 500000], ...pieces(words).values,
], [
  tensor('token_embd', width, words), norm('output_norm'), tensor('output', width, words),
  ...Array.from({ length: layers }, (_, i) => `blk.${i}.`).flatMap(blk => [
    norm(`${blk}attn_norm`), tensor(`${blk}attn_q`, width, width), tensor(`${blk}attn_k`, width, keys), tensor(`${blk}attn_v`, width, keys), tensor(`${blk}attn_output`, width, width),
    norm(`${blk}ffn_norm`), tensor(`${blk}ffn_gate`, width, hidden), tensor(`${blk}ffn_up`, width, hidden), tensor(`${blk}ffn_down`, hidden, width),
  ]),
], 0.02);
const out = openSync(path, 'w');
for (let at = 0; at < file.size;) at += writeSync(out, file.read(at, 1 << 24));
closeSync(out);
console.log(`${path}: ${file.size} bytes`);
