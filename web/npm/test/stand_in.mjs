// Stands for the program of language models (weft-llm.mjs) where a test is about what JavaScript does with it: its "model" continues
// a text with letters that follow from the text alone, reads the whole file, and knows devices that are lost and memory that ends.
import { register } from 'node:module';

register(`data:text/javascript,${encodeURIComponent(`export async function resolve(specifier, context, next) {
  return specifier.endsWith('/weft-llm.mjs') ? { url: ${JSON.stringify(new URL('./stand_in_program.mjs', import.meta.url).href)}, shortCircuit: true } : next(specifier, context);
}`)}`);
