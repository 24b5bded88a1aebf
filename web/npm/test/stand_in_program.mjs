// The program that stand_in.mjs puts in the place of weft-llm.mjs.

/** What tests may look at and set: the programs that were started, and what they refuse. */
export const world = { programs: [], bytes: undefined, losses: 0 };

const tick = () => new Promise(resolve => setTimeout(resolve, slow ? 5 : 0));
const slow = typeof window === 'undefined' && typeof process === 'undefined';  // In a worker of a page somebody looks at it.
const letters = 'etaoin shrdlu';

/** The letter that follows a text. */
export const follows = text => {
  let hash = 7;
  for (const letter of text) hash = (Math.imul(hash, 31) + letter.codePointAt(0)) >>> 0;
  return letters[(hash >>> 3) % letters.length];
};

export default async function make(settings) {
  const heap = new Uint8Array(1 << 20), files = new Map();
  let top = 8, lost = false, stopped = false, open = false, lesson;
  const device = {
    get gone() { return lost; },
    destroy() {
      if (lost) return;
      lost = true;
      setTimeout(() => told({ message: 'taken away for a test', reason: 'destroyed' }), 5);  // Browsers tell a moment later.
    },
  };
  let told;
  device.lost = new Promise(resolve => { told = resolve; });
  const give = answer => {
    const bytes = new TextEncoder().encode(`${JSON.stringify(answer)}\0`), at = 1 << 19;
    heap.set(bytes, at);
    return at;
  };
  const asked = pointer => JSON.parse(new TextDecoder().decode(heap.subarray(pointer, heap.indexOf(0, pointer))));
  const isLost = () => lost && give({ error: 'the device is lost', code: 'device_lost' });
  const short = bytes => world.bytes !== undefined && bytes > world.bytes && give({ error: `${bytes} bytes could not be allocated`, code: 'out_of_memory' });
  const opened = () => {
    settings.onDevice(device);
    if (world.losses > 0) {
      --world.losses;
      device.destroy();
    }
  };
  const exports = {
    malloc(bytes) {
      const at = top;
      top = (top + bytes) % (1 << 18) + 8;
      heap[at] = 0;
      return bytes < 1 << 18 ? (at + bytes < 1 << 19 ? at : 8) : 0;
    },
    free() {},
    weft_llm_stop() { stopped = true; },
    async weft_llm_open(pointer) {
      const { path } = asked(pointer), node = files.get(path), to = new Int8Array(64);
      if (node.usedBytes === 0) return give({ error: 'an empty file', code: 'invalid_argument' });
      opened();
      for (let at = 0; at < node.usedBytes; at += to.length) {
        node.stream_ops.read(undefined, to, 0, to.length, at);
        settings.onProgress?.(at / node.usedBytes);
        if (at % 1024 === 0) await tick();
      }
      open = true;
      return short(node.usedBytes) || isLost() || give({ description: 'a stand-in', chat: true });
    },
    async weft_llm_generate(pointer) {
      const { prompt = '', messages = [], begun = '', max_tokens: most = 512 } = asked(pointer);
      const start = prompt + messages.map(({ role, content }) => `${role}: ${content}\n`).join('') + begun;
      let text = start, tokens = 0;
      stopped = false;
      while (tokens < most && !stopped) {
        await tick();
        if (lost) {
          await device.lost;
          settings.onPiece?.(new TextEncoder().encode('#'));  // What comes of a lost device is nothing that anybody should see.
          return isLost();
        }
        const letter = follows(text);
        text += letter;
        ++tokens;
        settings.onPiece?.(new TextEncoder().encode(letter));
      }
      return isLost() || give({ prompt_tokens: start.length, cached_tokens: 0, shifts: 0, completion_tokens: tokens, prompt_seconds: 1, generation_seconds: 1, stopped, length: tokens >= most });
    },
    async weft_llm_embed(pointer) {
      const { input } = asked(pointer);
      await tick();
      return short(input.join('').length) || isLost() || give({ vectors: input.map(text => [text.length, 1]), tokens: input.length });
    },
    async weft_llm_close() {
      files.set('/trace.json', new TextEncoder().encode('{}'));
      return give({});
    },
    async weft_teach_open() {
      if (files.get('/model.gguf').length === 0) return give({ error: 'an empty file', code: 'invalid_argument' });
      opened();
      await tick();
      lesson = { step: 0, kept: 0 };
      return short(1000) || isLost() || give({ parameters: 1, tokens: 1, windows: 1, steps: 9, device: 'a stand-in' });
    },
    async weft_teach_step() {
      await tick();
      return short(1000) || isLost() || give({ step: ++lesson.step, loss: 1 });
    },
    async weft_teach_save() {
      files.set('/taught.gguf', new TextEncoder().encode('GGUF'));
      return short(1000) || isLost() || give({});
    },
    async weft_teach_close() { return give({}); },
  };
  const module = {
    wasmExports: exports, HEAPU8: heap, ENV: {},
    FS: {
      create(path) {
        const node = { usedBytes: 0, stream_ops: {} };
        files.set(path, node);
        return node;
      },
      writeFile: (path, bytes) => files.set(path, bytes), readFile: path => files.get(path), unlink: path => files.delete(path),
    },
  };
  for (const work of settings.preRun ?? []) work(module);
  world.programs.push({ device, closed: () => !open });
  return module;
}
