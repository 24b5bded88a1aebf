// The page's frame: tabs, the device, and what is offered once it is open.
import { Device } from './weft/index.js';
import { choose, startChat } from './chat.js';
import { startCheck } from './check.js';
import { startTeaching, take } from './teach.js';
import { startTimes } from './time.js';
import { startTraining } from './train.js';

const byId = id => document.getElementById(id);
const tabs = [...document.querySelectorAll('[role="tab"]')];

function select(tab) {
  for (const one of tabs) {
    const chosen = one === tab;
    one.setAttribute('aria-selected', String(chosen));
    one.tabIndex = chosen ? 0 : -1;
    byId(one.getAttribute('aria-controls')).hidden = !chosen;
  }
  history.replaceState(null, '', `#${tab.getAttribute('aria-controls')}`);
}

for (const [i, tab] of tabs.entries()) {
  tab.addEventListener('click', () => select(tab));
  tab.addEventListener('keydown', event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const to = step ? tabs[(i + step + tabs.length) % tabs.length] : { Home: tabs[0], End: tabs.at(-1) }[event.key];
    if (!to) return;
    event.preventDefault();
    select(to);
    to.focus();
  });
}
// A dropped model is for the chat; what is dropped on "teach it" is a text, unless its name says that it is a model.
document.addEventListener('dragover', event => {
  event.preventDefault();
  document.body.classList.add('dropping');
});
for (const name of ['dragleave', 'drop']) document.addEventListener(name, () => document.body.classList.remove('dropping'));
document.addEventListener('drop', event => {
  event.preventDefault();
  const file = event.dataTransfer.files[0];
  if (!file) return;
  const isModel = /\.gguf$/i.test(file.name), isText = file.type.startsWith('text/') || /\.(txt|md)$/i.test(file.name);
  const teaches = !isModel && (isText || byId('tab-teach').getAttribute('aria-selected') === 'true');
  select(byId(teaches ? 'tab-teach' : 'tab-chat'));
  if (teaches) take(file);
  else choose(file);
});

const wanted = tabs.find(tab => `#${tab.getAttribute('aria-controls')}` === location.hash);
if (wanted) select(wanted);

if ('serviceWorker' in navigator) navigator.serviceWorker.register('worker.js').catch(() => undefined);  // only for working offline

const opened = performance.now();
try {
  const device = await Device.open();
  const { name, vendor, architecture, driver, software, f16, subgroups } = device.info;
  const [answer] = await device.tensor([20]).add(22).data();
  const milliseconds = Math.round(performance.now() - opened);
  const label = [name || driver || `${vendor} ${architecture}`.trim() || 'a GPU without a name', software ? 'in software' : ''].filter(Boolean).join(', ');
  const show = more => {
    byId('device').textContent = `${label} · ${[f16 && '16-bit floats', subgroups && 'subgroups'].filter(Boolean).join(', ') || 'basic features'} · first result (${answer}) after ${milliseconds} ms${more}`;
  };
  show('');
  document.documentElement.dataset.ready = String(milliseconds);
  device.addEventListener('lost', async ({ detail }) => {
    show(` · the GPU was taken away (${detail}); opening it again …`);
    await device.recover();
    show(' · the GPU was taken away and is back');
  });
  globalThis.weftDevice = device;  // for the curious, in the browser's console
  startChat();
  startTimes();
  startTeaching();
  startTraining(device);
  startCheck(device);
} catch (error) {
  byId('device').textContent = error.message;
  document.documentElement.dataset.ready = 'failed';
}
