// Two spirals, a small network, and one compiled step per batch: the loss curve and what the network says are drawn live.
import { adamw, compile, crossEntropy, grad, matmul, softmax, tanh } from './weft/index.js';

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

/** The network: variables and their moments, a compiled step, and what it says about points. */
export async function network(device, points, labels, seed = 7) {
  const next = random(seed);
  const normal = scale => scale * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const matrix = (rows, columns) => device.tensor(Array.from({ length: rows }, () => Array.from({ length: columns }, () => normal(1.5 / Math.sqrt(rows)))));
  const variables = [];
  const add = async initial => { variables.push(await device.variable(initial)); };
  for (const [rows, columns] of [[2, hidden], [hidden, hidden], [hidden, 2]]) {
    await add(matrix(rows, columns));
    await add(device.zeros([columns]));
  }
  const weights = variables.slice();
  for (const one of weights) for (let i = 0; i < 2; ++i) await add(device.zeros(one.shape));
  const forward = x => {
    const [w1, b1, w2, b2, w3, b3] = weights;
    const features = tanh(matmul(tanh(matmul(x.mul(3), w1).add(b1)), w2).add(b2));
    return matmul(features, w3).add(b3);
  };
  const step = compile(device, (x, y, number) => {
    const loss = crossEntropy(forward(x), y);
    const gradients = grad(loss, weights);
    const made = weights.map((weight, i) => adamw(weight, gradients[i], variables[weights.length + 2 * i], variables[weights.length + 2 * i + 1], number, { lr: 0.01 }));
    return [loss, ...made.map(one => one.newWeights), ...made.flatMap(one => [one.newM, one.newV])];
  }, { variables });
  const says = compile(device, x => softmax(forward(x)));
  const x = device.tensor(points), y = device.tensor(labels, undefined, 'i32');
  let steps = 0;
  return {
    async step() {
      ++steps;
      const number = device.tensor([steps]);
      const [loss] = await step.run(x, y, number);
      const value = await loss.item();
      loss.dispose();
      number.dispose();
      return value;
    },
    async says(places) {
      const [result] = await says.run(places);
      const data = await result.data();
      result.dispose();
      return data;
    },
    get steps() { return steps; },
    dispose() {
      for (const one of [...variables, step, says, x, y]) one.dispose();
    },
  };
}

function drawLoss(canvas, losses) {
  const draw = canvas.getContext('2d'), figure = canvas.closest('figure');
  const line = getComputedStyle(figure).borderTopColor, quiet = getComputedStyle(figure.querySelector('figcaption')).color;
  const accent = getComputedStyle(document.querySelector('[role="tab"][aria-selected="true"]')).borderBottomColor;
  const { width, height } = canvas, left = 44, bottom = 26;
  draw.clearRect(0, 0, width, height);
  draw.font = '14px system-ui';
  draw.strokeStyle = line;
  draw.fillStyle = quiet;
  const top = 0.8, steps = Math.max(200, losses.length);
  for (const value of [0, 0.2, 0.4, 0.6, 0.8]) {
    const y = 8 + (height - bottom - 8) * (1 - value / top);
    draw.beginPath();
    draw.moveTo(left, y);
    draw.lineTo(width, y);
    draw.stroke();
    draw.fillText(value.toFixed(1), 12, y + 5);
  }
  draw.fillText(`loss by step (${losses.length})`, left, height - 6);
  draw.strokeStyle = accent;
  draw.lineWidth = 2.5;
  draw.beginPath();
  losses.forEach((loss, i) => {
    const px = left + (width - left) * (i / steps), py = 8 + (height - bottom - 8) * (1 - Math.min(loss, top) / top);
    if (i === 0) draw.moveTo(px, py);
    else draw.lineTo(px, py);
  });
  draw.stroke();
  draw.lineWidth = 1;
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
  let plane = device.tensor(places), net, losses = [], running = false;
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
  start.addEventListener('click', async () => {
    if (running) {
      running = false;
      return;
    }
    running = true;
    start.textContent = 'Pause';
    try {
      net ??= await network(device, points, labels);
      while (running && net.steps < 1500) {
        const begin = performance.now();
        losses.push(await net.step());
        const milliseconds = performance.now() - begin;
        if (net.steps % 20 === 0 || net.steps < 3) {
          drawPlane(canvases.spirals, await net.says(plane), points, labels);
          drawLoss(canvases.loss, losses);
          status.textContent = `Step ${net.steps}: loss ${losses.at(-1).toFixed(4)}, ${milliseconds.toFixed(1)} ms a step.`;
          await new Promise(requestAnimationFrame);
        }
      }
    } catch (error) {
      status.textContent = error.code === 'device_lost' ? 'The GPU was taken away: press Start to begin again.' : error.message;
      if (error.code === 'device_lost') {
        net = undefined;
        losses = [];
        await new Promise(resolve => device.addEventListener('recovered', resolve, { once: true }));
        plane = device.tensor(places);
      }
    }
    running = false;
    start.textContent = 'Start';
  });
  reset.addEventListener('click', () => {
    if (!running) clear();
  });
}
