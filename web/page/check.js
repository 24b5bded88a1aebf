// "Check this browser": a sample of the test cases of all operations in a worker, and a small benchmark, both as JSON.
import { benchmark } from './bench.js';

const byId = id => document.getElementById(id);

/** Runs the test program with GoogleTest options in a worker; `onLine` gets what it prints. */
function program(options, onLine) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./tests/device_tests_worker.mjs', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => {
      if (data.line !== undefined) return onLine(data.line);
      worker.terminate();
      return data.error ? reject(new Error(data.error)) : resolve(data.code);
    };
    worker.onerror = event => reject(new Error(event.message ?? 'the worker could not be started'));
    worker.postMessage({ args: options, env: {} });
  });
}

/** The names of all cases by operation. */
async function listCases() {
  const cases = new Map();
  let suite;
  await program(['--gtest_list_tests', '--gtest_filter=Op_*'], line => {
    if (line.startsWith('Op_')) cases.set(suite = line.trim().replace(/\.$/, ''), []);
    else if (line.startsWith('  ') && suite) cases.get(suite).push(line.trim().split('  #')[0]);
  });
  return cases;
}

/** `count` cases of each operation, spread over its list. */
function sample(cases, count) {
  const names = [];
  for (const [suite, list] of cases) {
    for (let i = 0; i < Math.min(count, list.length); ++i) names.push(`${suite}.${list[Math.floor((i + 0.5) * list.length / Math.min(count, list.length))]}`);
  }
  return names;
}

async function verdicts(count, onProgress) {
  const names = sample(await listCases(), count);
  const found = new Map(), failures = [];
  let done = 0, text = [];
  await program([`--gtest_filter=${names.join(':')}`, '--gtest_color=no'], line => {
    text.push(line);
    if (line.startsWith('[ RUN')) text = [];
    const end = /^\[ {2}(?: {5}OK|FAILED {2})\] (\S+) \(\d+ ms\)/.exec(line);
    if (!end) return;
    const [suite] = end[1].split('.');
    const row = found.get(suite) ?? { passed: 0, failed: 0 };
    found.set(suite, row);
    if (line.includes('OK')) row.passed += 1;
    else {
      row.failed += 1;
      failures.push({ case: end[1], text: text.join('\n') });
    }
    onProgress(++done / names.length, end[1]);
  });
  return { operations: Object.fromEntries(found), failures, cases: names.length };
}

function fill(table, rows) {
  table.tBodies[0].replaceChildren(...rows.map(cells => {
    const row = document.createElement('tr');
    cells.forEach((cell, i) => {
      const element = document.createElement(i === 0 ? 'th' : 'td');
      if (i === 0) element.scope = 'row';
      element.textContent = cell.text ?? cell;
      if (cell.bad) element.className = 'bad';
      row.append(element);
    });
    return row;
  }));
  table.hidden = false;
}

export function startCheck(device) {
  const [check, bench, copy, status, progress] = ['check-start', 'bench-start', 'copy', 'check-status', 'check-progress'].map(byId);
  const results = { date: new Date().toISOString(), browser: navigator.userAgent, device: device.info };
  globalThis.weftResults = results;
  const busy = async (work, failed) => {
    for (const button of [check, bench]) button.disabled = true;
    try {
      await work();
      copy.disabled = false;
    } catch (error) {
      status.textContent = `${failed}: ${error.message}`;
    }
    progress.hidden = true;
    for (const button of [check, bench]) button.disabled = false;
  };
  check.disabled = bench.disabled = false;
  check.addEventListener('click', () => busy(async () => {
    progress.hidden = false;
    status.textContent = 'Loading the test program …';
    const count = Number(new URLSearchParams(location.search).get('cases') ?? 2);
    const begin = performance.now();
    const found = await verdicts(count, (share, name) => {
      progress.value = share;
      status.textContent = `${name.replace('Op_', '').replace('.', ': ')}`;
    });
    results.verdicts = found;
    fill(byId('verdicts'), Object.entries(found.operations).map(([name, { passed, failed }]) => [name.slice(3), String(passed), { text: String(failed), bad: failed > 0 }]));
    const bad = found.failures.length;
    byId('failures').hidden = bad === 0;
    byId('failures').textContent = found.failures.map(failure => `${failure.case}\n${failure.text}`).join('\n\n');
    status.textContent = `${found.cases - bad} of ${found.cases} cases came out right, in ${((performance.now() - begin) / 1000).toFixed(0)} s.`;
    document.documentElement.dataset.checked = `${found.cases - bad}/${found.cases}`;
  }, 'The check could not run'));
  bench.addEventListener('click', () => busy(async () => {
    results.benchmark = await benchmark(device, name => { status.textContent = `Measuring ${name} …`; });
    fill(byId('times'), results.benchmark.map(({ name, milliseconds, rate }) => [name, `${milliseconds.toPrecision(3)} ms`, rate]));
    status.textContent = 'Measured: the best of several runs of each.';
    document.documentElement.dataset.measured = String(results.benchmark.length);
  }, 'The benchmark could not run'));
  copy.addEventListener('click', async () => {
    const text = JSON.stringify(results, undefined, 1);
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = 'The results are on the clipboard.';
    } catch {
      byId('failures').hidden = false;
      byId('failures').textContent = text;
      status.textContent = 'This browser does not let the page use the clipboard: the results are at its end.';
    }
  });
}
