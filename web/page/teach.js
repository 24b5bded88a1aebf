// "Teach it": trains the built-in model on a text, in a worker, and hands the result to the chat or saves it.
import { choose } from './chat.js';
import { drawLoss } from './plot.js';
import { Lesson } from './weft/llm/index.js';

const byId = id => document.getElementById(id);

export function startTeaching() {
  const [start, chat, save, text, status, file, canvas] = ['teach-start', 'teach-chat', 'teach-save', 'teach-text', 'teach-status', 'teach-file', 'teach-loss'].map(byId);
  let running = false, bytes, losses = [];
  const plot = () => drawLoss(canvas, losses, { top: 6, steps: Number(byId('teach-steps').value) });
  plot();
  start.disabled = false;

  const teach = async () => {
    status.textContent = 'Loading the built-in model …';
    const lesson = await Lesson.open(new URL('./english.gguf', import.meta.url), text.value, {
      steps: Number(byId('teach-steps').value), rate: Number(byId('teach-rate').value), batch: Number(byId('teach-batch').value),
      context: Number(byId('teach-context').value), snapshot: Math.min(10, Math.max(2, Math.floor(Number(byId('teach-steps').value) / 10))), cache: false,
    });
    globalThis.weftLesson = lesson;  // for the curious, in the browser's console
    const { parameters, tokens } = lesson.info;
    let begin = performance.now(), recoveries = 0;
    losses = [];
    status.textContent = `${(parameters / 1e6).toFixed(1)} million parameters, ${tokens} tokens of text.`;
    for await (const { step, loss, recovered } of lesson.steps()) {
      if (recovered) {
        ++recoveries;
        losses.length = step;
      } else losses.push(loss);
      const milliseconds = performance.now() - begin;
      begin = performance.now();
      plot();
      status.textContent = `Step ${step} of ${lesson.info.steps}: loss ${losses.at(-1)?.toFixed(3) ?? '–'}, ${(milliseconds / 1000).toFixed(1)} s a step.${recoveries ? ` The GPU was taken away ${recoveries === 1 ? 'once' : `${recoveries} times`}; it went on from its last snapshot.` : ''}`;
      Object.assign(document.documentElement.dataset, { taught: step, taughtLoss: losses.at(-1) ?? '', recoveries });
      if (!running) break;
    }
    bytes = await lesson.save();
    await lesson.close();
    save.href = URL.createObjectURL(new Blob([bytes]));
    save.hidden = chat.hidden = false;
  };
  start.addEventListener('click', async () => {
    if (running) {
      running = false;
      return;
    }
    running = true;
    start.textContent = 'Stop';
    try {
      await teach();
    } catch (error) {
      status.textContent = error.message;
    }
    running = false;
    start.textContent = 'Teach';
  });
  chat.addEventListener('click', () => {
    choose(new File([bytes], 'the taught model'));
    byId('tab-chat').click();
  });
  file.addEventListener('change', () => take(file.files[0]));
}

/** Takes a file as the text to learn. */
export async function take(file) {
  if (file) byId('teach-text').value = await file.text();
}
