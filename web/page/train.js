// Two spirals, a small network, and one compiled step per batch: the loss curve and what the network says are drawn live.
import { drawLoss } from './plot.js';
import { compile, crossEntropy, nn, optim, softmax, tanh } from './weft/index.js';

const perArm = 96, hidden = 32, side = 48;

/** Numbers in [0, 1) that are the same in every run. */
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), seed | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Points [n, 2] of two interleaved spirals, and which one each belongs to. */
export function spirals(seed = 1) {
  const next = random(seed), points = [], labels = [];
  for (let i = 0; i < perArm; ++i) {
    for (const arm of [0, 1]) {
      const t = (i + 0.5) / perArm, angle = 3.2 * Math.PI * t + arm * Math.PI, radius = 0.08 + 0.86 * t;
      points.push([radius * Math.cos(angle) + 0.02 * (next() - 0.5), radius * Math.sin(angle) + 0.02 * (next() - 0.5)]);
      labels.push(arm);
    }
  }
  return { points, labels };
}

/** The network, a compiled step of its training, and what it says about points. */
export async function network(device, points, labels, seed = 7) {
  const init = new nn.Init(device, seed);
  const model = new nn.Sequential(x => x.mul(3), new nn.Linear(init, 2, hidden), tanh, new nn.Linear(init, hidden, hidden), tanh, new nn.Linear(init, hidden, 2));
  const optimizer = await optim.AdamW.of(model);
  const step = new optim.TrainingStep(optimizer, (x, y) => crossEntropy(model.forward(x), y));
  const says = compile(device, x => softmax(model.forward(x)));
  const x = device.tensor(points), y = device.tensor(labels, undefined, 'i32');
  await x.keep();
  await y.keep();
  let steps = 0, kept = 0;
  return {
    async step() {
      const loss = await step.run(0.01, x, y);
      ++steps;
      return loss;
    },
    /** Where the training goes on from when the GPU is taken away. */
    async snapshot() {
      await step.snapshot();
      kept = steps;
    },
    back() { steps = kept; },
    async says(places) {
      const [result] = await says.run(places);
      const data = await result.data();
      result.dispose();
      return data;
    },
    get steps() { return steps; },
    dispose() {
      for (const one of [model, optimizer, step, says, x, y]) one.dispose();
    },
  };
}

function drawPlane(canvas, shares, points, labels) {
  const draw = canvas.getContext('2d'), { width, height } = canvas, cell = width / side;
  for (let i = 0; i < side * side; ++i) {
    const share = shares ? shares[2 * i + 1] : 0.5, sure = Math.abs(2 * share - 1);
    draw.fillStyle = `hsl(${share < 0.5 ? 225 : 26} ${85 * sure}% ${88 - 18 * sure}%)`;
    draw.fillRect((i % side) * cell, Math.floor(i / side) * cell, cell + 1, cell + 1);
  }
  points.forEach(([x, y], i) => {
    draw.fillStyle = labels[i] ? '#a13d00' : '#1b3fae';
    draw.beginPath();
    draw.arc((x + 1) / 2 * width, (y + 1) / 2 * height, 4, 0, 2 * Math.PI);
    draw.fill();
  });
}

export function startTraining(device) {
  const [start, reset, status] = ['train-start', 'train-reset', 'train-status'].map(id => document.getElementById(id));
  const { points, labels } = spirals();
  const places = Array.from({ length: side * side }, (_, i) => [((i % side) + 0.5) / side * 2 - 1, (Math.floor(i / side) + 0.5) / side * 2 - 1]);
  const plane = device.tensor(places), kept = plane.keep();
  let net, losses = [], running = false, recoveries = 0, taken = 0;
  device.addEventListener('lost', () => { ++taken; });
  const canvases = { loss: document.getElementById('loss'), spirals: document.getElementById('spirals') };
  const clear = () => {
    net?.dispose();
    net = undefined;
    losses = [];
    drawLoss(canvases.loss, losses);
    drawPlane(canvases.spirals, undefined, points, labels);
    status.textContent = 'Loss: not started.';
  };
  clear();
  start.disabled = reset.disabled = false;

  /** Steps until it is told to pause. */
  const train = async () => {
    while (running && net.steps < 1500) {
      const begin = performance.now();
      losses.push(await net.step());
      const milliseconds = performance.now() - begin;
      if (net.steps % 20 === 0) await net.snapshot();
      if (net.steps % 20 === 0 || net.steps < 3) {
        drawPlane(canvases.spirals, await net.says(plane), points, labels);
        drawLoss(canvases.loss, losses);
        const back = recoveries ? ` The GPU was taken away ${recoveries === 1 ? 'once' : `${recoveries} times`}; it went on from its last snapshot.` : '';
        status.textContent = `Step ${net.steps}: loss ${losses.at(-1).toFixed(4)}, ${milliseconds.toFixed(1)} ms a step.${back}`;
        await new Promise(requestAnimationFrame);
      }
    }
  };
  start.addEventListener('click', async () => {
    if (running) {
      running = false;
      return;
    }
    running = true;
    start.textContent = 'Pause';
    try {
      await kept;
      if (!net) {
        net = await network(device, points, labels);
        await net.snapshot();
      }
      for (;;) {
        const before = taken;
        try {
          await train();
          break;
        } catch (error) {
          // The page may hear of a lost GPU a moment after the call that failed.
          for (let i = 0; i < 100 && taken === before; ++i) await new Promise(resolve => setTimeout(resolve, 10));
          if (taken === before || ++recoveries > 100) throw error;
          status.textContent = 'The GPU was taken away …';
          if (device.lost) await new Promise(resolve => device.addEventListener('recovered', resolve, { once: true }));
          net.back();
          losses.length = net.steps;
        }
      }
    } catch (error) {
      status.textContent = error.message;
    }
    running = false;
    start.textContent = 'Start';
  });
  reset.addEventListener('click', () => {
    if (!running) clear();
  });
}
