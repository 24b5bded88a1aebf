// Runs web/peers in Chromium, one library after the other, and prints a table: run.mjs FOLDER_OF_PACKAGES [LIBRARY…]
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { launch, serve } from '../tests/chromium.mjs';
import { computed } from '../tests/processes.mjs';

const [packages, ...chosen] = process.argv.slice(2);
const root = fileURLToPath(new URL('../../', import.meta.url));
const libraries = { weft: `${root}build/web/npm`, ort: `${packages}/onnxruntime-web`, tfjs: `${packages}/@tensorflow/tfjs-backend-webgpu`, jax: `${packages}/@jax-js/jax` };
const server = await serve({ '/': `${root}web/peers`, '/weft/': `${root}build/web/npm/dist`, '/packages/': packages });
const rows = [];
try {
  for (const library of chosen.length ? chosen : Object.keys(libraries)) {
    const browser = await launch();
    const page = await browser.newPage();
    page.on('pageerror', error => console.error(String(error)));
    await page.exposeFunction('computed', () => Object.values(computed()).reduce((sum, seconds) => sum + seconds, 0));
    const open = async () => {
      await page.goto(`${server.url}/?library=${library}`);
      await page.waitForFunction(() => globalThis.results, undefined, { timeout: 400_000 });
      return page.evaluate(() => globalThis.results);
    };
    try {
      await open();  // The second time the browser has the files.
      rows.push({ ...await open(), version: JSON.parse(readFileSync(`${libraries[library]}/package.json`, 'utf8')).version });
    } catch (error) {
      rows.push({ library, works: {}, error: String(error.message).split('\n')[0], version: '' });
    }
    await browser.close();
  }
} finally {
  server.close();
}
const cell = one => (one === undefined ? '–' : one.error ? one.error : `${one.milliseconds.toFixed(1)} ms (${one.processor.toFixed(0)})`);
const names = [...new Set(rows.flatMap(({ works }) => Object.keys(works)))];
console.log(`load ${loadavg()[0].toFixed(1)}, ${new Date().toISOString().slice(0, 10)}; in brackets: milliseconds of all processors, browser included`);
console.log(`| | ${rows.map(({ library, version }) => `${library} ${version}`).join(' | ')} |\n|---|${rows.map(() => '---').join('|')}|`);
console.log(`| page to first result | ${rows.map(({ first, error }) => error ?? `${first.toFixed(0)} ms`).join(' | ')} |`);
for (const name of names) console.log(`| ${name} | ${rows.map(({ works }) => cell(works[name])).join(' | ')} |`);
console.error(JSON.stringify(rows));
