// What the package's page shows runs in Node as it is written there, with the package and the binding where npm puts them.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { model } from '../../peers/onnx.js';
import { nodeGpu } from '../../tests/node_gpu.mjs';
import { pieces } from '../../tests/readme.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url)), work = `${root}build/web/readme`, { exit } = process, { log } = console;
const here = process.cwd();
const expected = {
  '@weft/core': ['5,11,11,25', 'f32[2,2] [[8, 12], [8, 12]]'],
  'Where it runs': ['41,42'],
  Training: ['\n0.', '64,28,28'],
  'Language models': ['.'],
  'ONNX models': ['1,2'],
};
const lines = [];

before(async () => {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(`${work}/node_modules/@weft`, { recursive: true });
  symlinkSync(`${root}build/web/npm`, `${work}/node_modules/@weft/core`);
  symlinkSync(`${process.env.WEFT_NODE_MODULES}/webgpu`, `${work}/node_modules/webgpu`);
  copyFileSync(`${root}models/english.gguf`, `${work}/english.gguf`);
  writeFileSync(`${work}/model.onnx`, model('Relu', [[1, 2]], [1, 2]));
  // What a page has: the pieces for Node alone bring their own.
  Object.defineProperty(globalThis.navigator, 'gpu', { value: await nodeGpu(), configurable: true });
  process.chdir(work);
  process.exit = () => undefined;
  console.log = (...values) => lines.push(values.map(String).join(' '));
});
after(() => {
  process.exit = exit;
  console.log = log;
  process.chdir(here);
});

for (const [i, { section, code }] of pieces('js').entries()) {
  test(`${section}: piece ${i + 1}`, async () => {
    lines.length = 0;
    writeFileSync(`${work}/piece${i}.mjs`, code);
    await import(`${work}/piece${i}.mjs`);
    const said = lines.join('\n');
    assert.ok((expected[section] ?? []).some(text => said.includes(text)), `it wrote:\n${said}`);
  });
}
