// "Where the time goes": a few tokens of the model with every kernel measured, as a table and as a trace for Perfetto.
import { current } from './chat.js';
import { LanguageModel } from './weft/llm/index.js';

const byId = id => document.getElementById(id);

export function startTimes() {
  const [button, status, table, save] = ['time-start', 'time-status', 'time-table', 'time-save'].map(byId);
  button.disabled = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    status.textContent = 'Loading the model once more, to measure it …';
    try {
      const { source, name, cache } = current();
      const model = await LanguageModel.load(source, { profile: true, cache });
      status.textContent = 'Measuring …';
      const { usage } = await model.completions.create({ prompt: 'The captain', max_tokens: 16, temperature: 0 });
      const profile = await model.profile();
      table.textContent = profile.table;
      table.hidden = false;
      save.href = URL.createObjectURL(new Blob([profile.trace], { type: 'application/json' }));
      save.hidden = false;
      status.textContent = `${name}: ${usage.prompt_tokens} tokens read and ${usage.completion_tokens} written, with every kernel measured, which makes it slower.`;
      document.documentElement.dataset.profiled = String(profile.table.length);
    } catch (error) {
      status.textContent = error.message;
    }
    button.disabled = false;
  });
}
