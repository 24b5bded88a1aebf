// Runs tests/device, compiled to WebAssembly, in Node: run_device_tests.mjs DEVICE_TESTS.mjs [GoogleTest options…]
// WEFT_… variables go to the program. A report (--gtest_output=json:FILE) is written to the host's FILE.
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { nodeGpu } from './node_gpu.mjs';

const [program, ...options] = process.argv.slice(2);
const report = options.find(option => option.startsWith('--gtest_output=json:'))?.slice('--gtest_output=json:'.length);
const { default: make } = await import(pathToFileURL(resolve(program)).href);
const gpu = await nodeGpu();
// The program reads its environment when it starts: it has to be there before.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(WEFT|GTEST)_/.test(name)));
const module = await make({
  gpu, print: text => console.log(text), printErr: text => console.error(text), noExitRuntime: true,
  preRun: [starting => void Object.assign(starting.ENV, env)],
});
let code = 1;
try {
  code = await module.callMain(options.map(option => option.startsWith('--gtest_output=json:') ? '--gtest_output=json:/report.json' : option));
} catch (error) {
  if (error?.name !== 'ExitStatus') throw error;
  code = error.status;
}
if (report) {
  try {
    writeFileSync(report, module.FS.readFile('/report.json'));
  } catch {
    console.error('no report was written');
  }
}
process.exit(code);
