// The pieces of code on the package's page, as somebody copies them: [{ code, section }].
import { readFileSync } from 'node:fs';

export function pieces(language) {
  const text = readFileSync(new URL('../npm/README.md', import.meta.url), 'utf8'), found = [];
  let section = '';
  for (const [, heading, kind, code] of text.matchAll(/^#+ (.*)$|^```(\w*)\n([^]*?)^```$/gm)) {
    if (heading) section = heading;
    else if (kind === language) found.push({ section, code });
  }
  return found;
}
