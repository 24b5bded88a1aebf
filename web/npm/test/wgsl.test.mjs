// Shaders lose their comments, indentation and most spaces on their way into a page, and nothing else.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = code => execFileSync('python3', ['-c', `import sys\nsys.path.insert(0, 'cmake')\nsys.dont_write_bytecode = True\nfrom write_embedded_wgsl import *\n${code}`], { cwd: root, encoding: 'utf8' });

test('spaces that say something stay', () => {
  const text = '  let a = b - -c;  // why\n#if A == B && !C\nx[ i ] = {{A ? "1" : "-"}} {{NAME}}( y, &z ) / *p;\nfor (var i = 0u; i < n; i++) { s += i; }\n#endif\n\n  a = {{N}};  // end';
  assert.equal(run(`print(bare(${JSON.stringify(text)}))`), 'let a=b- -c;\n#if A == B && !C\nx[i]={{A?"1":"-"}} {{NAME}}(y,&z)/ *p;for(var i=0u;i<n;i++){s+=i;}\n#endif\na={{N}};\n');
});

test('a text that would say something else is noticed', () => {
  for (const [text, bared] of [['a - -b', 'a--b'], ['a / *p', 'a/*p'], ['let x = y', 'letx=y'], ['a < = b', 'a<=b'], ['one\ntwo', 'onetwo'], ['a;\n#if b\nc', 'a;#if b\nc'], ['#if a\nb', '#if a b']]) {
    assert.equal(run(`print(same(${JSON.stringify(text)}, ${JSON.stringify(bared)}))`), 'False\n', bared);
  }
});

test('every shader is made of the same words and signs, in a fifth less', () => {
  const [whole, bared] = run(`texts = [(path.read_text(), checked(path)) for path in sorted(Path('src/ops').rglob('*.wgsl'))]\nprint(*(sum(map(len, side)) for side in zip(*texts)))`).split(' ').map(Number);
  assert.ok(whole > 100_000 && bared < 0.8 * whole, `${whole} letters became ${bared}`);
});
