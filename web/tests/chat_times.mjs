// Times of the built-in model on a page in Chromium: chat_times.mjs PACKAGE MODEL [warm]. Prints JSON: seconds of the clock, and
// seconds that Chromium's GPU process and its renderers computed, which another program on the machine does not change.
// PACKAGE is build/web/npm/dist; with `warm` model.warmUp() comes first.
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, serve } from './chromium.mjs';
import { computed } from './processes.mjs';

const [dist, model, warm] = process.argv.slice(2);
const server = await serve({ '/': dirname(fileURLToPath(import.meta.url)), '/weft/': dist, '/model/': dirname(model) });
const browser = await launch();
try {
  const page = await browser.newPage();
  page.on('pageerror', error => console.error(String(error)));
  await page.exposeFunction('computed', computed);
  await page.goto(`${server.url}/blank.html`);
  const times = await page.evaluate(async ({ file, warm }) => {
    const { LanguageModel } = await import('/weft/llm/index.js');
    const out = {};
    const measure = async (name, work) => {
      const before = await globalThis.computed(), begin = performance.now();
      await work();
      const seconds = (performance.now() - begin) / 1000, after = await globalThis.computed();
      out[name] = { seconds, gpu: after['gpu-process'] - before['gpu-process'], renderers: after.renderer - before.renderer };
    };
    let model, answer;
    await measure('load', async () => { model = await LanguageModel.load(`/model/${file}`, { cache: false }); });
    if (warm) await measure('warm up', () => model.warmUp());
    const ask = (prompt, tokens) => model.completions.create({ prompt, max_tokens: tokens, temperature: 0 });
    await measure('first token', () => ask('The captain', 1));
    await measure('64 tokens', async () => { answer = await ask('The ship', 64); });
    await measure('prompt of 40 tokens', () => ask('A text that is long enough to be read with the kernels for long texts, as most prompts are, and then some more words, so that there are about forty of them here.', 1));
    out.text = answer.choices[0].text;
    out.rate = answer.usage.generation_rate;
    await model.close();
    return out;
  }, { file: basename(model), warm: warm === 'warm' });
  console.log(JSON.stringify({ load_average: readFileSync('/proc/loadavg', 'utf8').split(' ')[0], ...times }, null, 1));
} finally {
  await browser.close();
  server.close();
}
