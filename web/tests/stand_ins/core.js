// Stands for @weft/core where a test is about the page: nothing is computed, and what would take long takes a moment.
const moment = () => new Promise(resolve => setTimeout(resolve, 5));
const tensor = () => ({ add: tensor, mul: tensor, dispose() {}, keep: moment, data: async () => [42], item: async () => 1 });

export class Device extends EventTarget {
  lost = false;
  info = { name: 'A stand-in', vendor: '', architecture: '', driver: '', software: true, f16: false, subgroups: false };
  static async open() { return new Device(); }
  gpuDevice = { destroy: () => {
    this.lost = true;
    this.dispatchEvent(new CustomEvent('lost', { detail: 'taken away for a test' }));
  } };
  tensor = tensor;
  async recover() {
    await moment();
    this.lost = false;
    this.dispatchEvent(new Event('recovered'));
  }
  async synchronize() {
    if (this.lost) throw Object.assign(new Error('the device is lost'), { code: 'device_lost' });
  }
}

export const compile = device => ({
  async run() {
    await moment();
    await device.synchronize();
    return [tensor()];
  },
  dispose() {},
});
class Part { dispose() {} }
export const nn = { Init: Part, Linear: Part, Sequential: Part };
export const optim = {
  AdamW: { of: async () => new Part() },
  TrainingStep: class extends Part {
    async run() {
      await moment();
      return 1;
    }
  },
};
export const [conv, crossEntropy, gelu, layerNorm, matmul, softmax, tanh] = Array(7).fill(tensor);
