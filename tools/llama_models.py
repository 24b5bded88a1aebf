"""Small models with random weights of the architectures that Debian's test-llama-archs does not write: what their files say of them."""

WIDTH, HEADS, LAYERS, WORDS = 256, 4, 2, 128
USUAL: dict[str, object] = {
    "vocab_size": WORDS, "context_length": 512, "embedding_length": WIDTH, "features_length": WIDTH, "block_count": LAYERS,
    "feed_forward_length": 384, "attention.head_count": HEADS, "attention.head_count_kv": HEADS, "attention.layer_norm_epsilon": 1e-5,
    "attention.layer_norm_rms_epsilon": 1e-5, "attention.group_norm_epsilon": 1e-5, "attention.group_norm_groups": 8}
ENCODER = {"attention.causal": False}
EXPERTS = {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 96, "moe_every_n_layers": 2}
RWKV = {"wkv.head_size": 64, "time_mix_extra_dim": 32, "time_decay_extra_dim": 64, "rescale_every_n_layers": 0, "token_shift_count": 2,
        "attention.decay_lora_rank": 32, "attention.iclr_lora_rank": 32, "attention.value_residual_mix_lora_rank": 32, "attention.gate_lora_rank": 32}
SLIDING = {"attention.sliding_window": 32, "attention.sliding_window_pattern": 2, "rope.freq_base_swa": 10000.0}
SEVERAL = "tokenizer.ggml.token_type_count"
MORE: dict[str, dict[str, object]] = {
    "bert": ENCODER | {SEVERAL: 2},
    "modern-bert": ENCODER | SLIDING,
    "nomic-bert": ENCODER | {SEVERAL: 2},
    "nomic-bert-moe": ENCODER | EXPERTS | {SEVERAL: 1},
    "neo-bert": ENCODER,
    "jina-bert-v2": ENCODER | {SEVERAL: 2, "attention.max_alibi_bias": 8.0},
    "jina-bert-v3": ENCODER | {SEVERAL: 1},
    "eurobert": ENCODER,
    "gemma-embedding": ENCODER | SLIDING | {"attention.key_length": 64, "attention.value_length": 64},
    "llama-embed": ENCODER | {"attention.head_count_kv": 2},
    "gemma3n": SLIDING | {"block_count": 22, "embedding_length": 64, "attention.head_count": 2, "attention.head_count_kv": 1,
                          "attention.key_length": 32, "attention.value_length": 32, "embedding_length_per_layer_input": 64, "altup.num_inputs": 4,
                          "altup.active_idx": 0, "attention.shared_kv_layers": 2, "feed_forward_length": 96},
    "gemma4": SLIDING | {"block_count": 5, "embedding_length_per_layer_input": 64, "attention.shared_kv_layers": 0, "attention.key_length": 64,
                         "attention.value_length": 64, "attention.key_length_swa": 64, "attention.value_length_swa": 64,
                         "attention.sliding_window_pattern[]": [1, 1, 1, 1, 0]},
    "t5": {"attention.relative_buckets_count": 8, "attention.key_length": 64, "attention.value_length": 64, "decoder_start_token_id": 0},
    "t5encoder": {"attention.relative_buckets_count": 8, "attention.key_length": 64, "attention.value_length": 64},
    "rwkv6": RWKV, "rwkv6qwen2": RWKV | {"token_shift_count": 1, "attention.head_count_kv": 2, "-": "time_mix_first"},
    "rwkv7": RWKV, "arwkv7": RWKV | {"token_shift_count": 1},
    "bitnet": {}, "plm": {"attention.kv_lora_rank": 64, "attention.key_length": 96, "attention.value_length": 64, "rope.dimension_count": 32},
    "apertus": {"/xielu.alpha_n": 1.0, "/xielu.alpha_p": 1.0, "/xielu.beta": 1.0, "/xielu.eps": 1e-7},
    "step35": SLIDING | EXPERTS | {"leading_dense_block_count": 1, "expert_shared_feed_forward_length": 96, "attention.sliding_window_pattern[]": [0, 1],
                                   "expert_gating_func": 2, "expert_shared_count": 1},
    "deepseek2-ocr": EXPERTS | {"leading_dense_block_count": 1, "expert_shared_count": 1},
    "chameleon": {"vocab_size": 10240},
    "graniteswitch": EXPERTS | {"logit_scale": 1.0, "adapters.count": 2, "adapters.lora_rank": 8,
                               "adapters.token_ids_activate[]": [5, 77], "adapters.token_ids_substitute[]": [6, 7]},
    "wavtokenizer-dec": ENCODER | {"posnet.embedding_length": WIDTH, "posnet.block_count": 6, "block_count": 6, "convnext.embedding_length": WIDTH,
                                   "convnext.block_count": 2},
}


def word(key: str, value: object) -> str:
    """As llama_make wants it."""
    if key == "-":
        return f"-{value}"
    if isinstance(value, list):
        return f"{key}=u:{','.join(map(str, value))}"
    kind = {bool: "b", int: "u", float: "f", str: "s"}[type(value)]
    return f"{key}={kind}:{int(value) if isinstance(value, bool) else value}"


def metadata(architecture: str) -> list[str]:
    values = USUAL | MORE[architecture]
    keys = {name.lstrip("/") if name.startswith(("tokenizer", "/", "-")) else f"{architecture}.{name}": value for name, value in values.items()}
    return [word(key, value) for key, value in ({"general.architecture": architecture, "tokenizer.ggml.model": "no_vocab"} | keys).items()]
