// Adds two vectors and multiplies two matrices, on the GPU of whoever opens it.
import { Device, matmul, softmax, sum } from "@weft/core";

export async function hello(device: Device, print: (line: string) => void): Promise<void> {
  const a = device.tensor([1, 2, 3, 4]);
  const b = device.full([4], 10);
  print(`a + b      = ${await a.add(b).text()}`);

  const m = device.arange(6).reshape([2, 3]);
  print(`m          = ${await m.text()}`);
  print(`m · mᵀ     = ${await matmul(m, m.transpose()).text()}`);
  print(`softmax(m) = ${await softmax(m).text()}`);
  print(`sum(m)     = ${await sum(m).item()}`);
}
