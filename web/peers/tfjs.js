const script = src => new Promise((resolve, reject) => {
  const element = document.createElement('script');
  element.src = src;
  element.onload = resolve;
  element.onerror = () => reject(new Error(`${src} could not be loaded`));
  document.head.append(element);
});

export async function open() {
  await script('/packages/@tensorflow/tfjs/dist/tf.min.js');
  await script('/packages/@tensorflow/tfjs-backend-webgpu/dist/tf-backend-webgpu.min.js');
  const { tf } = globalThis;
  if (!await tf.setBackend('webgpu')) throw new Error('its WebGPU backend does not start');
  await tf.ready();
  const put = ({ data, shape }) => tf.tensor(data, shape);
  const bodies = {
    'matmul 1024×1024': (a, b) => tf.matMul(a, b),
    'softmax 1024×1024': x => tf.softmax(x),
    'layer norm 1024×1024': (x, weight, bias) => {
      const { mean, variance } = tf.moments(x, -1, true);
      return x.sub(mean).mul(tf.rsqrt(variance.add(1e-5))).mul(weight).add(bias);
    },
    // tfjs has channels last: the inputs are laid out so before, which is not timed.
    'conv 3×3, 32 to 32 channels, 64×64': (x, w) => tf.conv2d(x, w, 1, 'valid'),
  };
  const prepare = async ({ name, inputs, labels }) => {
    if (labels) {
      const [x, first, second] = inputs.map(put), weights = [first, second].map(one => tf.variable(one));
      const y = tf.oneHot(tf.tensor1d(labels, 'int32'), 10), sgd = tf.train.sgd(0.01);
      return async () => {
        const loss = sgd.minimize(() => tf.losses.softmaxCrossEntropy(y, tf.matMul(tf.relu(tf.matMul(x, weights[0])), weights[1])), true);
        const data = await loss.data();
        loss.dispose();
        return data;
      };
    }
    let given = inputs.map(put);
    if (name.startsWith('conv')) given = [given[0].transpose([0, 2, 3, 1]), given[1].transpose([2, 3, 1, 0])];
    return async () => {
      const result = tf.tidy(() => bodies[name](...given)), data = await result.data();
      result.dispose();
      return data;
    };
  };
  return { prepare, first: async () => (await tf.tensor([20]).add(22).data())[0] };
}
