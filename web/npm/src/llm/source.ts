import { WeftError } from "../error.js";

/** Bytes that can be read piece by piece, at once: a model's file, which is never in memory as a whole. */
export interface Bytes {
  readonly size: number;
  read(position: number, length: number): Uint8Array;
}

/**
 * Where a model comes from: bytes, a File or Blob, a URL, or an object that reads pieces at once (in Node, for example with
 * fs.readSync).
 */
export type ModelSource = Uint8Array | ArrayBuffer | Blob | URL | string | Bytes;

/** What only workers have, and the types of pages do not know. */
declare const FileReaderSync: undefined | (new () => { readAsArrayBuffer(blob: Blob): ArrayBuffer });

function inMemory(bytes: Uint8Array): Bytes {
  return { size: bytes.byteLength, read: (position, length) => bytes.subarray(position, position + length) };
}

/** A file, read in blocks: the parser of GGUF asks for a few bytes at a time. */
function inBlocks(blob: Blob): Bytes {
  const reader = new FileReaderSync!(), block = 1 << 20;
  let kept = new Uint8Array(), keptAt = 0;
  const piece = (from: number, to: number) => new Uint8Array(reader.readAsArrayBuffer(blob.slice(from, to)));
  return {
    size: blob.size,
    read(position, length) {
      if (length >= block) return piece(position, position + length);
      if (position < keptAt || position + length > keptAt + kept.length) {
        keptAt = position;
        kept = piece(position, Math.min(blob.size, position + block));
      }
      return kept.subarray(position - keptAt, position - keptAt + length);
    },
  };
}

/** The source as bytes that can be read at once, in this thread. */
export async function open(source: Exclude<ModelSource, URL | string>): Promise<Bytes> {
  if (source instanceof Uint8Array) return inMemory(source);
  if (source instanceof ArrayBuffer) return inMemory(new Uint8Array(source));
  if (!(source instanceof Blob)) return source;
  if (typeof FileReaderSync === "function") return inBlocks(source);
  return inMemory(new Uint8Array(await source.arrayBuffer()));  // Only workers can read pieces at once.
}

export interface DownloadOptions {
  /** Called with the bytes that are there and, where the server says it, their number in all. */
  onDownload?: (bytes: number, total: number | undefined) => void;
  signal?: AbortSignal | undefined;
  /** Where the file is kept: the browser's own file system if there is one, or nowhere. */
  cache?: boolean;
}

const folder = "weft-models";

async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(bytes.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function directory(): Promise<FileSystemDirectoryHandle | undefined> {
  try {
    const root = await navigator.storage.getDirectory();
    return await root.getDirectoryHandle(folder, { create: true });
  } catch {
    return undefined;  // A private window, Node, or a page without storage.
  }
}

function sentence(error: unknown, url: string): WeftError {
  if (error instanceof WeftError) return error;
  const { name, message } = error as Error;
  if (name === "QuotaExceededError") return new WeftError("io", `The browser's storage has no room for ${url}: ${message}`);
  return new WeftError("io", `${url} could not be loaded: ${message}`);
}

/**
 * Loads a file into the browser's file system and gives it from there: what is there already is not asked for again, and an
 * interrupted download goes on where it stopped, unless the file has another size now. Without that file system it is kept in
 * memory.
 */
export async function download(address: URL | string, options: DownloadOptions = {}): Promise<Blob> {
  const url = new URL(String(address), globalThis.location?.href).href;
  const { signal, onDownload } = options;
  const kept = options.cache === false ? undefined : await directory();
  try {
    if (!kept) return await intoMemory(url, options);
    const name = await digest(url);
    const done = await kept.getFileHandle(`${name}.gguf`).then((handle) => handle.getFile(), () => undefined);
    if (done) {
      onDownload?.(done.size, done.size);
      return done;
    }
    const part = await kept.getFileHandle(`${name}.part`, { create: true });
    let have = (await part.getFile()).size;
    const plain: RequestInit = { cache: "no-store", ...(signal ? { signal } : {}) };  // It is kept here.
    let response = await fetch(url, have ? { ...plain, headers: { range: `bytes=${have}-` } } : plain);
    if (have && response.status === 416) {  // Nothing is left; or the file is another one, then it is loaded from its beginning.
      if (response.headers.get("content-range") === `bytes */${have}`) return await part.getFile();
      have = 0;
      response = await fetch(url, plain);
    }
    if (!response.ok || !response.body) throw new WeftError("io", `${url} answers with status ${response.status}.`);
    if (response.status !== 206) have = 0;
    const length = response.headers.get("content-length");
    const total = length === null ? undefined : have + Number(length);
    const out = await part.createWritable({ keepExistingData: have > 0 });
    await out.seek(have);
    let got = have;
    try {
      for await (const chunk of pieces(response.body)) {
        await out.write(chunk as Uint8Array<ArrayBuffer>);
        got += chunk.byteLength;
        onDownload?.(got, total);
      }
    } finally {
      await out.close();  // Also what came before an interruption is kept.
    }
    if (total !== undefined && got !== total) throw new WeftError("io", `${url} ended after ${got} of ${total} bytes.`);
    const whole = await (part as FileSystemFileHandle & { move?(name: string): Promise<void> }).move?.(`${name}.gguf`).then(() => true) ?? false;
    return await (await kept.getFileHandle(`${name}.${whole ? "gguf" : "part"}`)).getFile();
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw sentence(error, url);
  }
}

async function* pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

async function intoMemory(url: string, { signal, onDownload }: DownloadOptions): Promise<Blob> {
  const response = await fetch(url, signal ? { signal } : {});
  if (!response.ok || !response.body) throw new WeftError("io", `${url} answers with status ${response.status}.`);
  const length = response.headers.get("content-length"), parts: Uint8Array<ArrayBuffer>[] = [];
  let got = 0;
  for await (const chunk of pieces(response.body)) {
    parts.push(chunk as Uint8Array<ArrayBuffer>);
    got += chunk.byteLength;
    onDownload?.(got, length === null ? undefined : Number(length));
  }
  return new Blob(parts);
}

/** The models that downloads have left in the browser's file system. */
export async function cachedModels(): Promise<{ name: string; bytes: number }[]> {
  const kept = await directory(), found: { name: string; bytes: number }[] = [];
  if (!kept) return found;
  for await (const handle of (kept as unknown as { values(): AsyncIterable<FileSystemFileHandle> }).values()) {
    found.push({ name: handle.name, bytes: (await handle.getFile()).size });
  }
  return found;
}

/** Removes one of them, or all. */
export async function deleteCachedModels(name?: string): Promise<void> {
  const kept = await directory();
  for (const model of kept ? await cachedModels() : []) {
    if (name === undefined || model.name === name) await kept!.removeEntry(model.name);
  }
}
