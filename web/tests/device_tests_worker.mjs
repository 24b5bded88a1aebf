// The other side of run_device_tests_chromium.mjs and of the page's check. It tells when the browser takes the GPU away.
let device;
onmessage = async ({ data: { args, env, lose } }) => {
  if (lose) return device?.destroy();  // for tests: as a browser would
  const line = text => postMessage({ line: text });
  const onDevice = opened => {
    device = opened;
    void opened.lost.then(({ message, reason }) => postMessage({ lost: message || reason }));
  };
  try {
    const { default: make } = await import(new URL('./program/device_tests.mjs', import.meta.url).href);
    const module = await make({ print: line, printErr: line, noExitRuntime: true, onDevice, preRun: [starting => void Object.assign(starting.ENV, env)] });
    let code = 1;
    try {
      code = await module.callMain(args);
    } catch (error) {
      if (error?.name !== 'ExitStatus') throw error;
      code = error.status;
    }
    let report;
    try {
      report = module.FS.readFile('/report.json', { encoding: 'utf8' });
    } catch {
      report = undefined;
    }
    postMessage({ code, report });
  } catch (error) {
    postMessage({ code: 1, error: String(error?.stack ?? error) });
  }
};
