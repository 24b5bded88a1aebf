import { LanguageModel } from '/weft/llm/index.js';

export async function load(file) {
  const model = await LanguageModel.load(file);
  return {
    where: 'GPU', close: () => model.close(),
    say: async (prompt, tokens) => (await model.completions.create({ prompt, max_tokens: tokens, temperature: 0 })).choices[0].text,
  };
}
