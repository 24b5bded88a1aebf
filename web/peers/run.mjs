// Runs web/peers in Chromium, one library after the other, and prints two tables: run.mjs FOLDER_OF_PACKAGES [LIBRARY…]. The second is of
// language models: `llm` is Weft's, and both run the built-in model.
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { launch, serve } from '../tests/chromium.mjs';
import { computed } from '../tests/processes.mjs';

const [packages, ...chosen] = process.argv.slice(2);
const root = fileURLToPath(new URL('../../', import.meta.url));
const libraries = { weft: `${root}build/web/npm`, ort: `${packages}/onnxruntime-web`, tfjs: `${packages}/@tensorflow/tfjs-backend-webgpu`, jax: `${packages}/@jax-js/jax` };
const speakers = { llm: `${root}build/web/npm`, wllama: `${packages}/@wllama/wllama` };
const server = await serve({ '/': `${root}web/peers`, '/weft/': `${root}build/web/npm/dist`, '/packages/': packages, '/models/': `${root}models` });
const version = folder => JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')).version;

/** What a page of one library has measured. The second time it is opened the browser has the files. */
async function measured(library, address, folder) {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    page.on('pageerror', error => console.error(String(error)));
    await page.exposeFunction('computed', () => Object.values(computed()).reduce((sum, seconds) => sum + seconds, 0));
    const open = async () => {
      await page.goto(`${server.url}/${address}?library=${library}`);
      await page.waitForFunction(() => globalThis.results, undefined, { timeout: 400_000 });
      return page.evaluate(() => globalThis.results);
    };
    await open();
    return { ...await open(), version: version(folder) };
  } catch (error) {
    return { library, works: {}, error: String(error.message).split('\n')[0], version: '' };
  } finally {
    await browser.close();
  }
}

const rows = [], talks = [];
try {
  for (const [library, folder] of Object.entries(libraries)) {
    if (!chosen.length || chosen.includes(library)) rows.push(await measured(library, '', folder));
  }
  for (const [library, folder] of Object.entries(speakers)) {
    if (!chosen.length || chosen.includes(library)) talks.push(await measured(library, 'talk.html', folder));
  }
} finally {
  server.close();
}
const load = `load ${loadavg()[0].toFixed(1)}, ${new Date().toISOString().slice(0, 10)}`;
const print = (title, found, lines) => {
  if (!found.length) return;
  console.log(`${load}; ${title}`);
  console.log(`| | ${found.map(({ library, version: number }) => `${library} ${number}`).join(' | ')} |\n|---|${found.map(() => '---').join('|')}|`);
  for (const [name, cell] of lines) console.log(`| ${name} | ${found.map(one => one.error ?? cell(one)).join(' | ')} |`);
};
const cell = one => (one === undefined ? '–' : one.error ? one.error : `${one.milliseconds.toFixed(1)} ms (${one.processor.toFixed(0)})`);
const names = [...new Set(rows.flatMap(({ works }) => Object.keys(works)))];
print('in brackets: milliseconds of all processors, browser included', rows, [
  ['page to first result', ({ first }) => `${first.toFixed(0)} ms`], ...names.map(name => [name, ({ works }) => cell(works[name])]),
]);
const seconds = ({ clock, processor }) => `${clock.toFixed(2)} s (${processor.toFixed(2)})`;
print('the built-in model, greedy, after one that warms up; in brackets: seconds of all processors, browser included', talks, [
  ['where it runs', ({ where }) => where], ['page and model', ({ works }) => seconds(works.load)], ['first token', ({ works }) => seconds(works.first)],
  ['64 tokens', ({ works }) => seconds(works.many)], ['its first words', ({ text }) => text.trim().split(/\s+/).slice(0, 6).join(' ')],
]);
console.error(JSON.stringify([...rows, ...talks]));
