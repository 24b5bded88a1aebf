// Seconds of a processor that the processes of a browser have computed: another program on the machine does not change them.
import { readdirSync, readFileSync } from 'node:fs';

const ticks = 100;  // of a second, in /proc/PID/stat

/** What those below this process have used, by kind: "gpu-process", "renderer", … */
export function computed() {
  const processes = new Map();
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
      const kind = readFileSync(`/proc/${pid}/cmdline`, 'utf8').match(/--type=([\w-]+)/)?.[1] ?? 'other';
      processes.set(Number(pid), { parent: Number(stat[1]), seconds: (Number(stat[11]) + Number(stat[12])) / ticks, kind });
    } catch { /* It has ended meanwhile. */ }
  }
  const below = pid => pid === process.pid || (processes.has(pid) && below(processes.get(pid).parent));
  const sums = {};
  for (const [pid, { parent, seconds, kind }] of processes) {
    if (pid !== process.pid && below(parent)) sums[kind] = (sums[kind] ?? 0) + seconds;
  }
  return sums;
}
