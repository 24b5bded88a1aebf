// "Check this browser": a sample of the test cases of all operations in a worker, and a small benchmark, both as JSON.
import { benchmark } from './bench.js';

const byId = id => document.getElementById(id);

/** How often in a row the browser may take the GPU away. */
const mostLosses = 3;

/** What a run ends with whose GPU was taken away. */
class Lost extends Error {}

/** Runs the test program with GoogleTest options in a worker; `onLine` gets what it prints. */
function program(options, onLine) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./tests/device_tests_worker.mjs', import.meta.url), { type: 'module' });
    globalThis.weftCheck = { loseForTest: () => worker.postMessage({ lose: true }) };  // for the curious, in the browser's console
    worker.onmessage = ({ data }) => {
      if (data.line !== undefined) return onLine(data.line);
      if (data.lost !== undefined) {
        worker.terminate();
        return reject(new Lost(data.lost));
      }
      // Browsers tell of a lost GPU a moment after the calls that failed.
      return setTimeout(() => {
        worker.terminate();
        if (data.error) reject(new Error(data.error));
        else resolve(data.code);
      }, 300);
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

async function verdicts(count, onProgress, onLost) {
  let names = sample(await listCases(), count);
  const found = new Map(), failures = [], all = names.length;
  let done = 0, text = [], held = [];  // A lost GPU makes cases fail: failures count once a later case has passed, or at the end.
  const settle = () => held.splice(0).forEach(count => count());
  const take = (name, passed, said) => {
    const [suite] = name.split('.'), row = found.get(suite) ?? { passed: 0, failed: 0 };
    found.set(suite, row);
    row[passed ? 'passed' : 'failed'] += 1;
    if (!passed) failures.push({ case: name, text: said });
    names = names.filter(one => one !== name);
    onProgress(++done / all, name);
  };
  for (let losses = 0; names.length > 0;) {
    const before = names.length;
    try {
      await program([`--gtest_filter=${names.join(':')}`, '--gtest_color=no'], line => {
        if (line.startsWith('[ RUN')) text = [];
        text.push(line);
        const end = /^\[ +(OK|FAILED|SKIPPED) +\] (\S+) \(\d+ ms\)/.exec(line);
        if (!end || !names.includes(end[2])) return;
        const [name, passed, said] = [end[2], end[1] !== 'FAILED', text.join('\n')];
        held.push(() => take(name, passed, said));
        if (passed) settle();
      });
      settle();
      if (names.length === before) throw new Error(`the test program ended without a word about ${names.length} cases`);
    } catch (error) {
      if (!(error instanceof Lost) || ++losses > mostLosses) throw error;
      held = [];
      onLost(error.message);
    }
  }
  return { operations: Object.fromEntries(found), failures, cases: all };
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

const again = lost => (lost ? ` The GPU was taken away ${lost === 1 ? 'once' : `${lost} times`} meanwhile.` : '');

export function startCheck(device) {
  let taken = 0;
  device.addEventListener('lost', () => { ++taken; });
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
    let lost = 0;
    const found = await verdicts(count, (share, name) => {
      progress.value = share;
      status.textContent = `${name.replace('Op_', '').replace('.', ': ')}`;
    }, reason => {
      ++lost;
      status.textContent = `The GPU was taken away (${reason}); what is left is checked on a new one …`;
    });
    results.verdicts = found;
    fill(byId('verdicts'), Object.entries(found.operations).map(([name, { passed, failed }]) => [name.slice(3), String(passed), { text: String(failed), bad: failed > 0 }]));
    const bad = found.failures.length;
    byId('failures').hidden = bad === 0;
    byId('failures').textContent = found.failures.map(failure => `${failure.case}\n${failure.text}`).join('\n\n');
    status.textContent = `${found.cases - bad} of ${found.cases} cases came out right, in ${((performance.now() - begin) / 1000).toFixed(0)} s.${again(lost)}`;
    document.documentElement.dataset.checked = `${found.cases - bad}/${found.cases}`;
  }, 'The check could not run'));
  bench.addEventListener('click', () => busy(async () => {
    let lost = 0;
    for (;;) {
      const before = taken;
      try {
        results.benchmark = await benchmark(device, name => { status.textContent = `Measuring ${name} …`; });
        break;
      } catch (error) {
        // The page may hear of a lost GPU a moment after the call that failed.
        for (let i = 0; i < 100 && taken === before; ++i) await new Promise(resolve => setTimeout(resolve, 10));
        if (taken === before || ++lost > mostLosses) throw error;
        status.textContent = 'The GPU was taken away; it is measured again from the beginning …';
        if (device.lost) await new Promise(resolve => device.addEventListener('recovered', resolve, { once: true }));
      }
    }
    fill(byId('times'), results.benchmark.map(({ name, milliseconds, rate }) => [name, `${milliseconds.toPrecision(3)} ms`, rate]));
    status.textContent = `Measured: the best of several runs of each.${again(lost)}`;
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
