// Trains a network with one hidden layer to compute the exclusive or of two bits.
import { compile, crossEntropy, Device, grad, matmul, sgd, tanh, type Tensor } from "@weft/core";

export async function train(device: Device, steps: number, print: (line: string) => void): Promise<number> {
  const x = device.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]);
  const y = device.tensor([0, 1, 1, 0], undefined, "i32");
  const wave = (rows: number, columns: number): Tensor =>
    device.tensor(Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => Math.sin(1 + 3 * i + 7 * j))));
  const weights = [
    await device.variable(wave(2, 8)), await device.variable(device.zeros([8])),
    await device.variable(wave(8, 2)), await device.variable(device.zeros([2])),
  ] as const;

  // One step: the loss, then the new values of the variables.
  using step = compile(device, (inputs, labels) => {
    const [w1, b1, w2, b2] = weights;
    const loss = crossEntropy(matmul(tanh(matmul(inputs!, w1).add(b1)), w2).add(b2), labels!);
    const gradients = grad(loss, weights);
    return [loss, ...weights.map((weight, i) => sgd(weight, gradients[i]!, undefined, { lr: 0.5 }).newWeights)];
  }, { variables: weights });

  let loss = NaN;
  for (let i = 1; i <= steps; ++i) {
    const [result] = await step.run(x, y);
    loss = await result!.item();
    if (i % 50 === 0) print(`step ${i}: loss ${loss.toFixed(4)}`);
  }
  return loss;
}
