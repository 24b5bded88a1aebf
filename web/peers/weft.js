import { compile, conv, crossEntropy, Device, grad, layerNorm, matmul, relu, softmax } from '/weft/index.js';

export async function open() {
  const device = await Device.open();
  const put = ({ data, shape }) => device.tensor(data, shape);
  const bodies = {
    'matmul 1024×1024': (a, b) => matmul(a, b),
    'softmax 1024×1024': x => softmax(x),
    'layer norm 1024×1024': (x, weight, bias) => layerNorm(x, weight, bias),
    'conv 3×3, 32 to 32 channels, 64×64': (x, w) => conv(x, w),
  };
  const prepare = async ({ name, inputs, labels }) => {
    if (labels) return train(device, inputs.map(put), labels);
    const given = inputs.map(put), compiled = compile(device, bodies[name]);
    return async () => {
      const [result] = await compiled.run(...given), data = await result.data();
      result.dispose();
      return data;
    };
  };
  return { prepare, first: async () => (await device.tensor([20]).add(22).data())[0] };
}

async function train(device, [x, first, second], labels) {
  const variables = [await device.variable(first), await device.variable(second)], [a, b] = variables;
  const y = device.tensor(Int32Array.from(labels), [labels.length]);
  const step = compile(device, (rows, classes) => {
    const loss = crossEntropy(matmul(relu(matmul(rows, a)), b), classes);
    return [loss, ...grad(loss, variables).map((slope, i) => variables[i].sub(slope.mul(0.01)))];
  }, { variables });
  return async () => {
    const [loss] = await step.run(x, y), data = await loss.data();
    loss.dispose();
    return data;
  };
}
