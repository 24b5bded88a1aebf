// The worker of a model or of a training: a Runner or a Teacher behind messages.
import type { FromWorker, ToWorker } from "./messages.js";
import { Runner } from "./runner.js";
import { Teacher } from "./teacher.js";

const post = (message: FromWorker): void => (globalThis as unknown as { postMessage(message: FromWorker): void }).postMessage(message);
let runner: Runner | undefined, teacher: Teacher | undefined;

async function answer(message: ToWorker & { id: number }): Promise<unknown> {
  const place = "wasmUrl" in message && message.wasmUrl ? { wasmUrl: message.wasmUrl } : {};
  switch (message.call) {
    case "open":
      runner = new Runner(place, message.source, message.settings, {
        onText: (text) => post({ event: "text", text }),
        onProgress: (part) => post({ event: "progress", part }),
        onLost: (reason) => post({ event: "lost", reason }),
        onRecovered: () => post({ event: "recovered" }),
      });
      return runner.open();
    case "teach":
      teacher = new Teacher(place);
      return teacher.open(message.source, message.text, message.settings);
    case "generate": return runner!.generate(message.request);
    case "embed": return runner!.embed(message.input);
    case "profile": return runner!.profile();
    case "step": return teacher!.step();
    case "save": return teacher!.save(message.type);
    case "close": return (runner ?? teacher)?.close();
  }
}

globalThis.addEventListener("message", (event) => {
  const message = (event as MessageEvent<ToWorker>).data;
  if (message.call === "stop") return runner?.stop();
  if (message.call === "loseForTest") return (runner ?? teacher)?.loseForTest();
  void answer(message).then(
    (value) => post({ id: message.id, value: value ?? null }),
    (error: Error & { code?: string }) => post({ id: message.id, error: error.message, ...(error.code ? { code: error.code } : {}) }),
  );
});
