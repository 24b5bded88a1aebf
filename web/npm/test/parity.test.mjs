// Everything that the C API has is there: exported by the module, and reachable from TypeScript.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { device } from './package.mjs';

const root = new URL('../../../', import.meta.url);
const read = path => readFileSync(new URL(path, root), 'utf8');
// All but what pages do not have (NOT_IN_PAGES of web/c_api.py).
const headers = ['include/weft/c/', 'build/web/generated/include/weft/c/']
  .flatMap(folder => readdirSync(new URL(folder, root)).filter(name => !['data.h', 'nn.h', 'onnx.h', 'optim.h'].includes(name)).map(name => read(`${folder}${name}`))).join('\n');
const functions = [...headers.matchAll(/WEFT_API[^;(]*\b(weft_\w+)\(/g)].map(match => match[1]);
const scripts = [...readdirSync(new URL('web/npm/src/', root)).filter(name => name.endsWith('.ts')).map(name => read(`web/npm/src/${name}`)),
  read('build/web/generated/npm/ops.ts')].join('\n');
// What TypeScript has otherwise: names and sizes of types are its own, and one function of C stands for a convenience.
const otherwise = new Set(['weft_version', 'weft_status_name', 'weft_dtype_name', 'weft_dtype_size', 'weft_list_adapters', 'weft_array_dense',
  'weft_kernel_run', 'weft_tensor_checkpoint',
  // A lost device is an event there; and a call that must not wait could not recover it.
  'weft_device_is_lost', 'weft_device_recover_automatically',
  // Browsers end what runs for too long themselves, and tell that the device is lost.
  'weft_device_set_watchdog',
  // scope() knows the objects of TypeScript, which would still name what C has freed.
  'weft_scope_begin', 'weft_scope_keep', 'weft_scope_end',
  // There is no second thread that could bring elements to the device: Device.tensor() does it.
  'weft_upload_start', 'weft_upload_is_ready', 'weft_upload_get']);

test('every C function is exported by the module', () => {
  assert.ok(functions.length > 100);
  for (const name of functions) assert.equal(typeof device.engine.exports[name], 'function', name);
});

test('every C function is used by the TypeScript API', () => {
  const missing = functions.filter(name => !otherwise.has(name) && !new RegExp(`["'.]${name}\\b`).test(scripts));
  assert.deepEqual(missing, []);
});

test('the lists of web/generate.py name functions that exist', () => {
  assert.equal(execFileSync('python3', ['web/generate.py', '--check'], { cwd: fileURLToPath(root), encoding: 'utf8' }).trim(), '');
});

test('the list of exceptions names functions that exist', () => {
  assert.deepEqual([...otherwise].filter(name => !functions.includes(name)), []);
});
