// Runs tests/device, compiled to WebAssembly, in a worker of a page in Firefox, which playwright-core cannot drive as Debian builds it:
// run_device_tests_firefox.mjs FOLDER_OF_DEVICE_TESTS [GoogleTest options…]. The page tells this server what it sees.
//   env/debian --packages firefox-esr node web/tests/run_device_tests_firefox.mjs build/web/web --gtest_filter=Op_map.*
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [folder, ...options] = process.argv.slice(2);
const report = options.find(option => option.startsWith('--gtest_output=json:'))?.slice('--gtest_output=json:'.length);
const args = options.map(option => option.startsWith('--gtest_output=json:') ? '--gtest_output=json:/report.json' : option);
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(WEFT|GTEST)_/.test(name)));
const types = { '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
const here = dirname(fileURLToPath(import.meta.url));
const page = `<!doctype html><script type="module">
const tell = data => fetch('/tell', { method: 'POST', body: JSON.stringify(data) });
addEventListener('error', event => tell({ code: 1, error: event.message }));
const worker = new Worker('/device_tests_worker.mjs', { type: 'module' });
let last = Promise.resolve();
worker.onmessage = ({ data }) => { last = last.then(() => tell(data)); };
worker.onerror = event => tell({ code: 1, error: event.message ?? 'the worker failed' });
worker.postMessage(${JSON.stringify({ args, env })});
</script>`;

const profile = mkdtempSync(join(tmpdir(), 'weft-firefox-'));
writeFileSync(join(profile, 'user.js'), ['dom.webgpu.enabled', 'dom.webgpu.workers.enabled', 'gfx.webgpu.ignore-blocklist', 'javascript.options.wasm_js_promise_integration']
  .map(name => `user_pref("${name}", true);\n`).join('') + 'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n');
let firefox;
function end({ code, report: text, error }) {
  if (report && text) writeFileSync(report, text);
  if (error) console.error(error);
  firefox.once('exit', () => {
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    process.exit(code);
  });
  firefox.kill();
}
const server = createServer((request, response) => {
  if (request.url === '/tell') {
    const parts = [];
    request.on('data', part => parts.push(part)).on('end', () => {
      response.end();
      const data = JSON.parse(Buffer.concat(parts).toString());
      if (data.line !== undefined) console.log(data.line);
      else end(data);
    });
    return;
  }
  try {
    const { pathname } = new URL(request.url, 'http://localhost');
    const file = pathname.startsWith('/program/') ? join(folder, pathname.slice('/program/'.length)) : join(here, pathname);
    const content = pathname === '/' ? page : readFileSync(file);
    response.writeHead(200, { 'content-type': pathname === '/' ? 'text/html' : types[extname(file)] ?? 'application/octet-stream' });
    response.end(content);
  } catch {
    response.writeHead(404).end();
  }
}).listen(0, '127.0.0.1', () => {
  firefox = spawn('firefox-esr', ['--headless', '--no-remote', '--profile', profile, `http://127.0.0.1:${server.address().port}/`],
    { stdio: 'ignore', env: { ...process.env, HOME: profile, LP_NUM_THREADS: '1' } });
  firefox.once('error', error => {
    console.error(`Firefox cannot be started: ${error.message}`);
    process.exit(1);
  });
});
