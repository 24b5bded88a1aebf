// Small models of several architectures, types and vocabularies, whose weights are random: what they say means nothing, but it must
// be the same wherever they run.
import { gguf, hyper, merges, pieces } from './gguf.mjs';

const width = 64, hidden = 128, words = 512, heads = 2, layers = 2;

/** As people write it for ChatML. */
export const chatTemplate = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** Tensors of a layer, in the order of the file: [name, type, extents, fill]. */
const tensors = list => list.map(([name, type, extents, more = {}]) => ({ name, type, extents, ...more }));
const each = make => Array.from({ length: layers }, (_, i) => make(`blk.${i}.`)).flat();
const one = { fill: 1 };

/** With biases of queries, keys and values, shared heads of keys, and a conversation's form. */
function qwen2(type) {
  const vocabulary = pieces(words), keys = width / 2;
  return gguf([
    ...hyper('qwen2', { layers, width, hidden, heads, keyHeads: 1 }), ['qwen2.attention.layer_norm_rms_epsilon', 'f32', 1e-6], ['qwen2.rope.freq_base', 'f32', 10000],
    ...vocabulary.values, ['tokenizer.chat_template', 'text', chatTemplate],
  ], tensors([
    ['token_embd.weight', type, [width, words]], ['output_norm.weight', 'f32', [width], one], ['output.weight', type, [width, words], { zeros: vocabulary.hidden }],
    ...each(blk => [
      [`${blk}attn_norm.weight`, 'f32', [width], one], [`${blk}attn_q.weight`, type, [width, width]], [`${blk}attn_q.bias`, 'f32', [width]],
      [`${blk}attn_k.weight`, type, [width, keys]], [`${blk}attn_k.bias`, 'f32', [keys]], [`${blk}attn_v.weight`, type, [width, keys]], [`${blk}attn_v.bias`, 'f32', [keys]],
      [`${blk}attn_output.weight`, type, [width, width]], [`${blk}ffn_norm.weight`, 'f32', [width], one], [`${blk}ffn_gate.weight`, type, [width, hidden]],
      [`${blk}ffn_up.weight`, type, [width, hidden]], [`${blk}ffn_down.weight`, type, [hidden, width]],
    ]),
  ]));
}

/** With layer norms, biases everywhere, learned positions, and a vocabulary of merges. */
function gpt2() {
  const vocabulary = merges(words), type = 'f16', context = 512;
  const pair = (name, inputs, outputs) => [[`${name}.weight`, type, [inputs, outputs]], [`${name}.bias`, 'f32', [outputs]]];
  const norm = name => [[`${name}.weight`, 'f32', [width], one], [`${name}.bias`, 'f32', [width]]];
  return gguf([...hyper('gpt2', { layers, width, hidden, heads, context }), ['gpt2.attention.layer_norm_epsilon', 'f32', 1e-5], ...vocabulary.values], tensors([
    ['token_embd.weight', type, [width, words]], ['position_embd.weight', 'f32', [width, context]], ...norm('output_norm'), ['output.weight', type, [width, words], { zeros: vocabulary.hidden }],
    ...each(blk => [
      ...norm(`${blk}attn_norm`), ...pair(`${blk}attn_qkv`, width, 3 * width), ...pair(`${blk}attn_output`, width, width), ...norm(`${blk}ffn_norm`),
      ...pair(`${blk}ffn_up`, width, hidden), ...pair(`${blk}ffn_down`, hidden, width),
    ]),
  ]));
}

/** With a window for every other layer, bounded logits, norms behind attention and MLP, and one table for words in and out. */
function gemma2() {
  const vocabulary = pieces(words), type = 'q4_0';
  return gguf([
    ...hyper('gemma2', { layers, width, hidden, heads, keyHeads: 1 }), ['gemma2.attention.layer_norm_rms_epsilon', 'f32', 1e-6], ['gemma2.attention.key_length', 'u32', 32],
    ['gemma2.attention.value_length', 'u32', 32], ['gemma2.attn_logit_softcapping', 'f32', 50], ['gemma2.final_logit_softcapping', 'f32', 30], ['gemma2.attention.sliding_window', 'u32', 16],
    ...vocabulary.values,
  ], tensors([
    ['token_embd.weight', 'f16', [width, words]], ['output_norm.weight', 'f32', [width], one],
    ...each(blk => [
      [`${blk}attn_norm.weight`, 'f32', [width], one], [`${blk}attn_q.weight`, type, [width, 64]], [`${blk}attn_k.weight`, type, [width, 32]], [`${blk}attn_v.weight`, type, [width, 32]],
      [`${blk}attn_output.weight`, type, [64, width]], [`${blk}post_attention_norm.weight`, 'f32', [width], one], [`${blk}ffn_norm.weight`, 'f32', [width], one],
      [`${blk}ffn_gate.weight`, type, [width, hidden]], [`${blk}ffn_up.weight`, type, [width, hidden]], [`${blk}ffn_down.weight`, type, [hidden, width]], [`${blk}post_ffw_norm.weight`, 'f32', [width], one],
    ]),
  ]));
}

/**
 * One layer that is used, and two for predicting further tokens, which llama.cpp reads the header of and passes over: nearly all of
 * its 6.4 GB. The table of the words comes last.
 */
export function huge() {
  const vocabulary = pieces(words), experts = 128, wide = 65536, all = 3;
  const attention = (blk, type) => [
    [`${blk}attn_norm.weight`, 'f32', [width], one], [`${blk}attn_q.weight`, type, [width, width]], [`${blk}attn_k.weight`, type, [width, width]], [`${blk}attn_v.weight`, type, [width, width]],
    [`${blk}attn_output.weight`, type, [width, width]], [`${blk}post_attention_norm.weight`, 'f32', [width], one],
  ];
  const ahead = blk => [
    ...attention(blk, 'q8_0'), [`${blk}ffn_gate_inp.weight`, 'f32', [width, experts]], [`${blk}exp_probs_b.bias`, 'f32', [experts]],
    [`${blk}ffn_gate_exps.weight`, 'f16', [width, wide, experts]], [`${blk}ffn_down_exps.weight`, 'f16', [wide, width, experts]], [`${blk}ffn_up_exps.weight`, 'f16', [width, wide, experts]],
    [`${blk}nextn.eh_proj.weight`, 'f16', [2 * width, width]], [`${blk}nextn.enorm.weight`, 'f32', [width], one], [`${blk}nextn.hnorm.weight`, 'f32', [width], one],
  ];
  const name = 'glm4moe';
  return gguf([
    ...hyper(name, { layers: all, width, hidden, heads }), [`${name}.nextn_predict_layers`, 'u32', 2], [`${name}.leading_dense_block_count`, 'u32', 1], [`${name}.expert_count`, 'u32', experts],
    [`${name}.expert_used_count`, 'u32', 2], [`${name}.expert_shared_count`, 'u32', 0], [`${name}.expert_feed_forward_length`, 'u32', wide], [`${name}.attention.layer_norm_rms_epsilon`, 'f32', 1e-6],
    [`${name}.rope.dimension_count`, 'u32', 32], [`${name}.rope.freq_base`, 'f32', 10000], ...vocabulary.values,
  ], tensors([
    ...ahead('blk.1.'), ...ahead('blk.2.'),
    ['output_norm.weight', 'f32', [width], one], ['output.weight', 'q8_0', [width, words], { zeros: vocabulary.hidden }], ...attention('blk.0.', 'q8_0'),
    ['blk.0.ffn_gate.weight', 'q8_0', [width, hidden]], ['blk.0.ffn_up.weight', 'q8_0', [width, hidden]], ['blk.0.ffn_down.weight', 'q8_0', [hidden, width]],
    ['token_embd.weight', 'q8_0', [width, words]],
  ]));
}

export const models = { 'qwen2 in q8_0': () => qwen2('q8_0'), 'qwen2 in f32': () => qwen2('f32'), 'gpt2 in f16': gpt2, 'gemma2 in q4_0': gemma2 };
