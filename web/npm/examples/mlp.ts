// Trains a network with one hidden layer to compute the exclusive or of two bits.
import { crossEntropy, Device, nn, optim, tanh } from "@weft/core";

export async function train(device: Device, steps: number, print: (line: string) => void): Promise<number> {
  const x = device.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]);
  const y = device.tensor([0, 1, 1, 0], undefined, "i32");
  const init = new nn.Init(device, 1);
  const model = new nn.Sequential(new nn.Linear(init, 2, 16), tanh, new nn.Linear(init, 16, 2));

  // One step is one compiled function: forward, backward and the optimizer.
  const adam = await optim.AdamW.of(model);
  const step = new optim.TrainingStep(adam, (inputs, labels) => crossEntropy(model.forward(inputs!), labels!));

  let loss = NaN;
  for (let i = 1; i <= steps; ++i) {
    loss = await step.run(0.05, x, y);
    if (i % 50 === 0) print(`step ${i}: loss ${loss.toFixed(4)}`);
  }
  return loss;
}
