// A server for folders, on localhost only.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const types = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json', '.css': 'text/css', '.svg': 'image/svg+xml', '.gguf': 'application/octet-stream' };

/** Serves folders on localhost: { '/': folder, '/prefix/': folder }. */
export async function serve(folders, port = 0) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    const prefix = Object.keys(folders).filter(key => path.startsWith(key)).sort((a, b) => b.length - a.length)[0];
    let file = prefix && join(folders[prefix], normalize(`/${path.slice(prefix.length)}`));
    try {
      if (file && statSync(file).isDirectory()) file = join(file, 'index.html');
      const { size, mtimeMs, mtime } = statSync(file);
      const etag = `"${size.toString(16)}-${Math.floor(1000 * mtimeMs).toString(16)}"`, wanted = request.headers['if-range'] ?? etag;
      const from = wanted === etag ? Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0) : 0;
      const headers = {
        'content-type': types[extname(file)] ?? 'application/octet-stream', 'content-length': size - from, 'cache-control': 'no-cache', etag, 'last-modified': mtime.toUTCString(),
      };
      if (from >= size && from > 0) {
        response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
        return;
      }
      response.writeHead(from > 0 ? 206 : 200, from > 0 ? { ...headers, 'content-range': `bytes ${from}-${size - 1}/${size}` } : headers);
      createReadStream(file, { start: from }).pipe(response);
    } catch {
      response.writeHead(404).end('not found');
    }
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => {
    server.closeAllConnections();
    return new Promise(resolve => server.close(resolve));
  } };
}
