// Runs tests/device, compiled to WebAssembly, in a worker of a page in Chromium:
// run_device_tests_chromium.mjs FOLDER_OF_DEVICE_TESTS [GoogleTest options…]
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, serve } from './chromium.mjs';

const [folder, ...options] = process.argv.slice(2);
const report = options.find(option => option.startsWith('--gtest_output=json:'))?.slice('--gtest_output=json:'.length);
const args = options.map(option => option.startsWith('--gtest_output=json:') ? '--gtest_output=json:/report.json' : option);
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(WEFT|GTEST)_/.test(name)));
const server = await serve({ '/': dirname(fileURLToPath(import.meta.url)), '/program/': folder });
const browser = await launch();
let result = { code: 1 };
try {
  const page = await browser.newPage();
  page.on('console', message => console.log(message.text()));
  page.on('pageerror', error => console.error(String(error)));
  await page.goto(`${server.url}/blank.html`);
  result = await page.evaluate(({ args, env }) => new Promise((resolve, reject) => {
    const worker = new Worker('/device_tests_worker.mjs', { type: 'module' });
    worker.onmessage = ({ data }) => data.line !== undefined ? console.log(data.line) : resolve(data);
    worker.onerror = event => reject(new Error(event.message ?? 'the worker failed'));
    worker.postMessage({ args, env });
  }), { args, env });
} finally {
  await browser.close();
  server.close();
}
if (report && result.report) writeFileSync(report, result.report);
if (result.error) console.error(result.error);
process.exit(result.code);
