// Chromium without a window, on its software adapter, through playwright-core.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

export { serve } from '../server.mjs';

export async function launch() {
  const require = createRequire(`${process.env.WEFT_NODE_MODULES}/`);
  const playwright = await import(pathToFileURL(require.resolve('playwright-core')).href);
  return (playwright.chromium ?? playwright.default.chromium).launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    args: ['--no-sandbox', '--disable-gpu-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan'],
  });
}
