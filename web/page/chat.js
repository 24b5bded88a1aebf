// Chat: the built-in model at once, or any GGUF file that is dropped on the page. The model runs in a worker.
import { cachedModels, deleteCachedModels, LanguageModel } from './weft/llm/index.js';

const byId = id => document.getElementById(id);
const builtin = new URL('./english.gguf', import.meta.url).href;
const builtinName = 'the built-in model';
let loading, model, name, conversation = [], answering;

const say = text => { byId('chat-status').textContent = text; };

/** A message on the page; gives the element that its text belongs to. */
function show(role, text = '') {
  const entry = document.createElement('div'), who = document.createElement('p'), body = document.createElement('p');
  entry.className = `message ${role}`;
  who.className = 'who';
  who.textContent = role === 'user' ? 'You' : name;
  body.className = 'text';
  body.textContent = text;
  entry.append(who, body);
  byId('messages').append(entry);
  byId('messages').scrollTop = byId('messages').scrollHeight;
  return body;
}

/** Adds to a text; what is read further up stays where it is. */
function write(body, piece) {
  const list = byId('messages'), atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  body.textContent += piece;
  if (atEnd) list.scrollTop = list.scrollHeight;
}

/** Loads a model in the place of the one that is there; the last one that was asked for counts. */
async function load(source, label) {
  const before = loading;
  const mine = (async () => {
    await before?.catch(() => undefined);
    await model?.close();
    model = undefined;
    name = label;
    byId('model').textContent = `Loading ${label} …`;
    const begin = performance.now();
    const opened = await LanguageModel.load(source, {
      cache: source !== builtin, contextShift: true,
      onDownload: (bytes, total) => { byId('model').textContent = `Loading ${label}: ${(bytes / 2 ** 20).toFixed(0)}${total ? ` of ${(total / 2 ** 20).toFixed(0)}` : ''} MB`; },
      onProgress: part => { byId('model').textContent = `Loading ${label}: ${Math.round(100 * part)} %`; },
    });
    opened.addEventListener('lost', ({ detail }) => say(`The GPU was taken away (${detail}); the model is being loaded again …`));
    opened.addEventListener('recovered', () => say(`The GPU was taken away and is back; ${answering ? 'the answer goes on' : 'the model is loaded again'}.`));
    model = opened;
    byId('model').textContent = `${label}: ${opened.description}. Loaded in ${((performance.now() - begin) / 1000).toFixed(1)} s.`;
    byId('chat-hint').textContent = opened.chats ? 'Ask it something.' : 'This model has not learned to answer: it goes on with what you write.';
    conversation = [];
    byId('messages').replaceChildren();
    document.documentElement.dataset.model = label;
    return opened;
  })();
  loading = mine;
  byId('chat-send').disabled = true;
  try {
    const opened = await mine;
    say('Ready.');
    // While somebody reads the page and writes: the first answer then comes as quickly as the others.
    if (new URLSearchParams(location.search).get('warm') !== 'no') {
      opened.warmUp().then(() => { document.documentElement.dataset.warm = label; }, () => undefined);
    }
  } catch (error) {
    if (loading === mine) byId('model').textContent = `${label} cannot be used: ${error.message}`;
    document.documentElement.dataset.model = 'failed';
    throw error;
  } finally {
    byId('chat-builtin').hidden = source === builtin;
    if (loading === mine) byId('chat-send').disabled = model === undefined;
  }
}

const options = () => ({ temperature: Number(byId('temperature').value), max_tokens: Number(byId('max-tokens').value) });

async function answer(text) {
  conversation.push({ role: 'user', content: text });
  show('user', text);
  const body = show('assistant', model.chats ? '' : text);
  answering = new AbortController();
  byId('chat-send').textContent = 'Stop';
  byId('messages').setAttribute('aria-busy', 'true');  // Read aloud when it is whole, not token by token.
  const begin = performance.now();
  let first, content = '';
  try {
    const request = { messages: model.chats ? conversation : [{ role: 'user', content: text }], ...options(), signal: answering.signal, stream: true };
    for await (const chunk of await model.chat.completions.create(request)) {
      const piece = chunk.choices[0].delta.content;
      if (piece) {
        first ??= performance.now() - begin;
        content += piece;
        write(body, piece);
      }
      if (chunk.usage) {
        const { completion_tokens: tokens, generation_rate: rate } = chunk.usage;
        say(`${tokens} tokens, ${rate.toFixed(1)} tokens/s, the first after ${((first ?? 0) / 1000).toFixed(2)} s.`);
        Object.assign(document.documentElement.dataset, { tokens, rate: rate.toFixed(1), first: (first ?? 0).toFixed(0) });
      }
    }
  } catch (error) {
    say(error.message);
  }
  conversation.push({ role: 'assistant', content });
  answering = undefined;
  byId('messages').setAttribute('aria-busy', 'false');
  byId('chat-send').textContent = 'Send';
}

/** What the other tabs use. */
export const current = () => ({ source: chosen, name, cache: chosen !== builtin });
let chosen = builtin;

/** Takes a file or a URL as the model. */
export function choose(source, label = source?.name) {
  if (!source) return Promise.resolve();
  chosen = source;
  return load(source, label).catch(() => undefined);
}

const labelOf = url => decodeURIComponent(new URL(url).pathname.split('/').pop()) || url;

/** The models that the browser keeps: each can be loaded and deleted. */
async function listKept() {
  const kept = await cachedModels();
  byId('kept-none').hidden = kept.length > 0;
  byId('kept').replaceChildren(...kept.map(({ name: file, bytes, url, complete }) => {
    const entry = document.createElement('li'), text = document.createElement('span');
    const label = url ? labelOf(url) : file;
    text.textContent = `${label}, ${(bytes / 2 ** 20).toFixed(1)} MB${complete ? '' : ' so far'} `;
    const button = (words, what, work) => {
      const made = document.createElement('button');
      made.type = 'button';
      made.textContent = words;
      made.setAttribute('aria-label', `${what} ${label}`);
      made.addEventListener('click', work);
      return made;
    };
    entry.append(text);
    if (url) entry.append(button(complete ? 'Load' : 'Go on', complete ? 'Load' : 'Go on with', () => choose(url, label).then(listKept)));
    entry.append(button('Delete', 'Delete', () => deleteCachedModels(file).catch(error => say(error.message)).then(listKept)));
    return entry;
  }));
}

export function startChat() {
  const form = byId('chat-form'), input = byId('chat-text');
  form.addEventListener('submit', event => {
    event.preventDefault();
    if (answering) return answering.abort();
    const text = input.value.trim();
    if (!text || !model) return undefined;
    input.value = '';
    return answer(text);
  });
  input.addEventListener('keydown', event => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!answering) form.requestSubmit();
    }
  });
  byId('chat-clear').addEventListener('click', () => {
    conversation = [];
    byId('messages').replaceChildren();
  });
  byId('chat-file').addEventListener('change', event => {
    choose(event.target.files[0]);
    event.target.value = '';  // So that the same file can be chosen once more.
  });
  byId('chat-builtin').addEventListener('click', () => {
    byId('chat-text').focus();  // The button goes away.
    choose(builtin, builtinName);
  });
  byId('url-form').addEventListener('submit', event => {
    event.preventDefault();
    const url = byId('chat-url').value.trim();
    choose(url, labelOf(url)).then(listKept);
  });
  document.addEventListener('keydown', event => {
    if (event.key === 'Escape') answering?.abort();
  });
  listKept();
  globalThis.weftChat = { get model() { return model; } };  // for the curious, in the browser's console
  load(builtin, builtinName).catch(() => undefined);
}
