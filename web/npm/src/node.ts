/** Whether a text is the address of a file, and not a path. */
export function isAddress(source: string): boolean {
  return /^(?:https?|blob|data|file):/i.test(source);
}

/** A module of Node; undefined in a page. */
export async function nodeModule<T>(name: string): Promise<T | undefined> {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (!process?.versions?.node) return undefined;
  return (await import(/* @vite-ignore */ name)) as T;  // A bundler for pages must not look for it.
}

/** What names a file of this machine: a path or an address that begins with file:. Undefined for what is elsewhere. */
export function pathOf(source: string | URL): string | URL | undefined {
  const address = String(source);
  if (!isAddress(address)) return address;
  return /^file:/i.test(address) ? new URL(address) : undefined;
}
