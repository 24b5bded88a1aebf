import { shown, WeftError } from "../error.js";
import { nodeModule, pathOf } from "../node.js";

/** Bytes that can be read piece by piece, at once: a model's file, which is never in memory as a whole. */
export interface Bytes {
  readonly size: number;
  read(position: number, length: number): Uint8Array;
}

/** A file of the browser's file system, or of the user's disk (showOpenFilePicker). */
export interface FileHandle {
  getFile(): Promise<File>;
}

/**
 * Where a model comes from: bytes, a File or Blob, a handle of one, a URL (in Node a path too), or an object that reads pieces at
 * once.
 */
export type ModelSource = Uint8Array | ArrayBuffer | Blob | FileHandle | URL | string | Bytes;
/** What a program reads: a URL has been loaded, a handle opened. */
export type Readable = Uint8Array | ArrayBuffer | Blob | Bytes;

/** The source as something that can be read, or sent to a worker. */
export async function readable(source: ModelSource, options: DownloadOptions): Promise<Readable> {
  if (typeof source === "string" || source instanceof URL) return (await inNode(source)) ?? download(source, options);
  if (typeof source !== "object" || source === null) {
    throw new WeftError("invalid_argument", `A model is a URL, a File or its handle, or bytes; ${shown(source)} was given.`);
  }
  return "getFile" in source ? source.getFile() : source;
}

/** Bytes, for people. */
export const sized = (bytes: number): string => (bytes < 2 ** 20 ? `${bytes} bytes` : bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MB` : `${(bytes / 2 ** 30).toFixed(1)} GB`);

/** What only workers have, and the types of pages do not know. */
declare const FileReaderSync: undefined | (new () => { readAsArrayBuffer(blob: Blob): ArrayBuffer });

function inMemory(bytes: Uint8Array): Bytes {
  return { size: bytes.byteLength, read: (position, length) => bytes.subarray(position, position + length) };
}

/** A file, read in blocks by `piece`: the parser of GGUF asks for a few bytes at a time. */
function inBlocks(size: number, piece: (from: number, to: number) => Uint8Array): Bytes {
  const block = 1 << 20;
  let kept: Uint8Array = new Uint8Array(), keptAt = 0;
  return {
    size,
    read(position, length) {
      if (length >= block) return piece(position, position + length);
      if (position < keptAt || position + length > keptAt + kept.length) {
        keptAt = position;
        kept = piece(position, Math.min(size, position + block));
      }
      return kept.subarray(position - keptAt, position - keptAt + length);
    },
  };
}

/** What is used of Node's fs. */
interface Files {
  statSync(path: string | URL): { size: number };
  openSync(path: string | URL): number;
  readSync(file: number, bytes: Uint8Array, offset: number, length: number, position: number): number;
  closeSync(file: number): void;
}

/** A file of this machine, in Node; undefined in a page, and for an address elsewhere. */
async function inNode(source: string | URL): Promise<Bytes | undefined> {
  const path = pathOf(source), files = path === undefined ? undefined : await nodeModule<Files>("node:fs");
  if (!files || path === undefined) return undefined;
  try {
    // Opened for each piece: nobody says when the last one has been read.
    return inBlocks(files.statSync(path).size, (from, to) => {
      const bytes = new Uint8Array(to - from), file = files.openSync(path);
      try {
        return bytes.subarray(0, files.readSync(file, bytes, 0, to - from, from));
      } finally {
        files.closeSync(file);
      }
    });
  } catch (error) {
    throw new WeftError("io", `${String(source)} cannot be read: ${(error as Error).message}.`);
  }
}

/** The source as bytes that can be read at once, in this thread. */
export async function open(source: Readable): Promise<Bytes> {
  if (source instanceof Uint8Array) return inMemory(source);
  if (source instanceof ArrayBuffer) return inMemory(new Uint8Array(source));
  if (!(source instanceof Blob)) return source;
  if (typeof FileReaderSync === "function") {
    const reader = new FileReaderSync();
    return inBlocks(source.size, (from, to) => new Uint8Array(reader.readAsArrayBuffer(source.slice(from, to))));
  }
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

/** What is known of a file that is being loaded, or was: kept beside it. */
interface Known {
  url: string;
  /** What tells this version of the file from others: its ETag, or else when it was changed. Without one nothing can go on. */
  version?: string;
  total?: number;
}

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

const there = (kept: FileSystemDirectoryHandle, name: string): Promise<File | undefined> =>
  kept.getFileHandle(name).then((handle) => handle.getFile(), () => undefined);
const remove = (kept: FileSystemDirectoryHandle, name: string): Promise<void> => kept.removeEntry(name).catch(() => undefined);

async function knownOf(kept: FileSystemDirectoryHandle, name: string): Promise<Known | undefined> {
  try {
    return JSON.parse(await (await there(kept, `${name}.json`))!.text()) as Known;
  } catch {
    return undefined;  // Not there, or half written.
  }
}

async function sentence(error: unknown, url: string, total: number | undefined): Promise<WeftError> {
  if (error instanceof WeftError) return error;
  const { name, message } = error as Error;
  if (name !== "QuotaExceededError") return new WeftError("io", `${url} could not be loaded: ${message}`);
  const { usage, quota } = await (navigator.storage.estimate?.() ?? Promise.resolve({})).catch((): StorageEstimate => ({}));
  const room = usage === undefined || quota === undefined ? "" : `, and of the ${sized(quota)} that this page may keep ${sized(usage)} are used`;
  return new WeftError("io", `The browser's storage has no room for ${url}: the file has ${total === undefined ? "an unknown number of bytes" : sized(total)}${room}. deleteCachedModels() makes room, and \`cache: false\` keeps the file in memory.`);
}

/** Which version of the file an answer is of. A weak ETag does not promise the same bytes. */
function versionOf({ headers }: Response): string | undefined {
  const tag = headers.get("etag");
  return tag && !tag.startsWith("W/") ? tag : headers.get("last-modified") ?? undefined;
}

/** Whether an answer with a part of a file goes on with what is there. Other hosts may hide some of these headers. */
function goesOn(response: Response, have: number, known: Known): boolean {
  const [, from, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
  const length = response.headers.get("content-length");
  const whole = total ?? (length === null ? undefined : String(have + Number(length)));
  return (from === undefined || Number(from) === have) && versionOf(response) === known.version &&
    (known.total === undefined || whole === undefined || Number(whole) === known.total);
}

/** Asks for what is left of a file, or for all of it where there is nothing yet or the file is another one now. */
async function ask(url: string, have: number, known: Known | undefined, signal: AbortSignal | undefined): Promise<{ response: Response; from: number }> {
  const plain: RequestInit = { cache: "no-store", ...(signal ? { signal } : {}) };  // It is kept here.
  if (have > 0 && known?.version !== undefined) {
    // Other hosts would have to allow If-Range, so that they are asked without it: the answer says which version it is of.
    const same = new URL(url).origin === globalThis.location?.origin;
    const response = await fetch(url, { ...plain, headers: { range: `bytes=${have}-`, ...(same ? { "if-range": known.version } : {}) } });
    if (response.status === 206 && goesOn(response, have, known)) return { response, from: have };
    if (response.status === 200) return { response, from: 0 };
    await response.body?.cancel();
  }
  return { response: await fetch(url, plain), from: 0 };
}

/**
 * Loads a file into the browser's file system and gives it from there: what is there already is not asked for again, and an
 * interrupted download goes on where it stopped, unless the file is another one now; then it begins anew. Without that file
 * system it is kept in memory.
 */
export async function download(address: URL | string, options: DownloadOptions = {}): Promise<Blob> {
  const url = new URL(String(address), globalThis.location?.href).href;
  const { signal } = options;
  const kept = options.cache === false ? undefined : await directory();
  const told: { total?: number } = {};
  try {
    if (!kept) return await intoMemory(url, options);
    const name = await digest(url), work = () => intoFolder(kept, name, url, options, told);
    // Two tabs that want the same file do not load it at the same time.
    return await (navigator.locks?.request(`${folder}/${name}`, signal ? { signal } : {}, work) ?? work());
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw await sentence(error, url, told.total);
  }
}

async function intoFolder(kept: FileSystemDirectoryHandle, name: string, url: string, { signal, onDownload }: DownloadOptions, told: { total?: number }): Promise<File> {
  const known = await knownOf(kept, name), part = await there(kept, `${name}.part`);
  const done = await there(kept, `${name}.gguf`) ?? (part && part.size === known?.total ? part : undefined);
  if (done) {
    onDownload?.(done.size, done.size);
    return done;
  }
  const { response, from } = await ask(url, part?.size ?? 0, known, signal);
  if (!response.ok || !response.body) throw new WeftError("io", `${url} answers with status ${response.status}.`);
  const length = response.headers.get("content-encoding") ? null : response.headers.get("content-length");
  const total = length === null ? undefined : from + Number(length), version = versionOf(response);
  if (total !== undefined) told.total = total;
  if (from === 0) {
    // In this order: a part is never beside what is known of another version of its file.
    await remove(kept, `${name}.part`);
    const out = await (await kept.getFileHandle(`${name}.json`, { create: true })).createWritable();
    await out.write(JSON.stringify({ url, version, total } satisfies Known));
    await out.close();
  }
  const handle = await kept.getFileHandle(`${name}.part`, { create: true });
  const out = await handle.createWritable({ keepExistingData: from > 0 });
  let got = from, failed = false;
  try {
    await out.seek(from);
    for await (const chunk of pieces(response.body)) {
      await out.write(chunk as Uint8Array<ArrayBuffer>).catch((error: unknown) => {
        failed = true;
        throw error;
      });
      got += chunk.byteLength;
      onDownload?.(got, total);
    }
  } finally {
    if (!failed) await out.close();  // Also what came before an interruption is kept. What failed is closed already.
  }
  if (total !== undefined && got !== total) throw new WeftError("io", `${url} ended after ${got} of ${total} bytes.`);
  const whole = await (handle as FileSystemFileHandle & { move?(name: string): Promise<void> }).move?.(`${name}.gguf`).then(() => true) ?? false;
  return (await there(kept, `${name}.${whole ? "gguf" : "part"}`))!;
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

/** A file that a download has left in the browser's file system. */
export interface CachedModel {
  name: string;
  bytes: number;
  /** Where it came from. */
  url?: string;
  /** Whether all of it is there. */
  complete: boolean;
}

/** The models that downloads have left in the browser's file system. */
export async function cachedModels(): Promise<CachedModel[]> {
  const kept = await directory(), found: CachedModel[] = [];
  if (!kept) return found;
  for await (const handle of (kept as unknown as { values(): AsyncIterable<FileSystemFileHandle> }).values()) {
    const [base, ending] = handle.name.split(".") as [string, string];
    if (ending !== "gguf" && ending !== "part") continue;
    const { size } = await handle.getFile(), known = await knownOf(kept, base);
    found.push({ name: handle.name, bytes: size, ...(known ? { url: known.url } : {}), complete: ending === "gguf" || size === known?.total });
  }
  return found;
}

/** Removes one of them, or all. */
export async function deleteCachedModels(name?: string): Promise<void> {
  const kept = await directory();
  for (const model of kept ? await cachedModels() : []) {
    if (name !== undefined && model.name !== name) continue;
    await kept!.removeEntry(model.name);
    await remove(kept!, model.name.replace(/\.\w+$/, ".json"));
  }
}
