import { WeftError } from "../error.js";
import { isAddress, nodeModule, pathOf } from "../node.js";

/** Where a file comes from: its address (in Node a path too), or its bytes. */
export type FileSource = string | URL | Uint8Array | ArrayBuffer | Blob;

interface Files {
  readFile(path: string | URL): Promise<Uint8Array>;
}

/** The bytes of a file. */
export async function bytesOf(source: FileSource): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer());
  const address = String(source), path = pathOf(source);
  try {
    const files = path === undefined ? undefined : await nodeModule<Files>("node:fs/promises");
    if (files && path !== undefined) return await files.readFile(path);
    const response = await fetch(address);
    if (!response.ok) throw new Error(`the server says ${response.status} ${response.statusText}`.trimEnd());
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw new WeftError("io", `${address} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** The address of a file beside another one; undefined where that has none. */
export function beside(source: FileSource, location: string): string | undefined {
  if (typeof source !== "string" && !(source instanceof URL)) return undefined;
  const address = String(source);
  if (isAddress(address)) return /^(?:blob|data):/i.test(address) ? undefined : new URL(location, address).href;
  return address.replace(/[^/]*$/, "") + location;
}

/** The fields of a message that have bytes, by number. Ends where the bytes make no sense: the engine says what is wrong with them. */
function* parts(bytes: Uint8Array): Generator<[number, Uint8Array]> {
  let at = 0;
  const varint = (): number => {
    let value = 0, scale = 1;
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined || scale > 2 ** 63) return NaN;
      value += (byte & 127) * scale;
      scale *= 128;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint(), kind = key % 8;
    if (kind === 2) {
      const size = varint();
      if (!(at + size <= bytes.length)) return;
      yield [Math.floor(key / 8), bytes.subarray(at, at + size)];
      at += size;
    } else if (kind === 0) varint();
    else if (kind === 1) at += 8;
    else if (kind === 5) at += 4;
    else return;
  }
}

// Numbers of fields that hold what may hold tensors, and those of a tensor that lies in another file.
const MODEL = { graph: 7, functions: 25 }, GRAPH = { node: 1, tensor: 5 }, FUNCTION = { node: 7 };
const NODE = { attribute: 5 }, ATTRIBUTE = { tensor: 5, graph: 6, tensors: 10, graphs: 11 }, TENSOR = { external: 13 }, ENTRY = { key: 1, value: 2 };

/** The names of the files beside a model in which weights lie. */
export function externalFiles(model: Uint8Array): Set<string> {
  const found = new Set<string>(), text = new TextDecoder();
  const inTensor = (tensor: Uint8Array): void => {
    for (const [field, entry] of parts(tensor)) {
      if (field !== TENSOR.external) continue;
      const values = new Map(parts(entry));
      if (text.decode(values.get(ENTRY.key)) === "location") found.add(text.decode(values.get(ENTRY.value)));
    }
  };
  const inNode = (node: Uint8Array): void => {
    for (const [field, attribute] of parts(node)) {
      if (field !== NODE.attribute) continue;
      for (const [number, value] of parts(attribute)) {
        if (number === ATTRIBUTE.tensor || number === ATTRIBUTE.tensors) inTensor(value);
        if (number === ATTRIBUTE.graph || number === ATTRIBUTE.graphs) inGraph(value);
      }
    }
  };
  const inGraph = (graph: Uint8Array): void => {
    for (const [field, value] of parts(graph)) {
      if (field === GRAPH.tensor) inTensor(value);
      if (field === GRAPH.node) inNode(value);
    }
  };
  for (const [field, value] of parts(model)) {
    if (field === MODEL.graph) inGraph(value);
    if (field !== MODEL.functions) continue;
    for (const [number, node] of parts(value)) if (number === FUNCTION.node) inNode(node);
  }
  return found;
}
