#include <utility>

#include "base/format.hpp"
#include "ops/attention/cases.hpp"

namespace weft::ops::attention {

std::vector<Case> bench_cases() {
  std::vector<Case> out;
  const auto add = [&](const std::string& label, Setup setup) {
    setup.bench = true;
    out.push_back(make_case("bench_attention_" + label, std::move(setup)));
  };
  const auto by = [](Setup setup, std::string_view kernel) {
    setup.kernel = kernel;
    return setup;
  };
  const Setup prefill =
      make_setup({.heads = 32, .queries = 1024, .keys = 1024, .size = 128}, DType::f16);
  Setup causal = make_setup({.heads = 32, .queries = 4096, .keys = 4096, .size = 128}, DType::f16);
  causal.rules.causal = true;
  add("32x1024x128_f16", prefill);
  add("32x1024x128_f16_tile", by(prefill, "tile"));
  add("causal_32x4096x128_f16", causal);
  // What llama.cpp asks for: q in f32, an explicit mask, heads in groups.
  Setup prompt = make_setup({.heads = 32, .queries = 512, .keys = 512, .size = 128, .key_heads = 8},
                            DType::f16);
  prompt.q.dtype = prompt.y.dtype = DType::f32;
  add_mask(prompt, DType::f16, 1, 1);
  add("prompt_32x512x128_f16", prompt);
  // The same behind 8192 tokens, with the mask of a prompt there: nearly all of it is 0.
  Setup deep = make_setup({.heads = 32, .queries = 512, .keys = 8704, .size = 128, .key_heads = 8},
                          DType::f16);
  deep.q.dtype = deep.y.dtype = DType::f32;
  add_mask(deep, DType::f16, 1, 1);
  deep.mask.fill = Fill::uniform;
  deep.mask.low = deep.mask.high = 0;
  add("prompt_32x512_of_8704x128_f16", deep);
  for (const std::uint64_t keys : {512U, 4096U, 8192U, 16384U, 32768U}) {
    Setup decode = make_setup({.heads = 32, .keys = keys, .size = 128, .key_heads = 8}, DType::f16);
    decode.q.dtype = decode.y.dtype = DType::f32;
    if (keys == 8192 || keys == 16384) {  // As llama.cpp asks for it.
      add_mask(decode, DType::f16, 1, 1);
      decode.mask.fill = Fill::uniform;
      decode.mask.low = decode.mask.high = 0;
      decode.k.order = decode.v.order = {0, 2, 1, 3};
    }
    add(formatted("decode_32x{}x128_f16", keys), decode);
    if (keys == 4096) add("decode_32x4096x128_f16_tile", by(decode, "tile"));
  }
  for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
    Setup gpt2 =
        make_setup({.batch = 8, .heads = 12, .queries = 1024, .keys = 1024, .size = 64}, type);
    gpt2.rules.causal = true;
    add(formatted("gpt2_8x12x1024x64_{}", name(type)), gpt2);
    out.push_back(make_backward_bench(
        formatted("bench_attention_gpt2_8x12x1024x64_with_backward_{}", name(type)), gpt2));
  }
  return out;
}

}  // namespace weft::ops::attention
