// serve.mjs DIR PORT: shows a folder on localhost until it is interrupted.
import { serve } from './server.mjs';

const [folder, port] = process.argv.slice(2);
try {
  const { url } = await serve({ '/': folder }, Number(port));
  console.log(`weft: ${url} (Ctrl-C ends it)`);
} catch (error) {
  console.error(error.code === 'EADDRINUSE' ? `weft: port ${port} is taken; name another one with --port` : `weft: ${error.message}`);
  process.exit(1);
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
