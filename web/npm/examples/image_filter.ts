// Blurs and sharpens what is on a canvas: a convolution on the GPU, channel by channel.
import { clamp, conv, Device } from "@weft/core";

export async function filter(device: Device, canvas: HTMLCanvasElement, kernel: readonly (readonly number[])[]): Promise<void> {
  const draw = canvas.getContext("2d")!;
  const { width, height } = canvas;
  const pixels = draw.getImageData(0, 0, width, height);

  // Rows of RGBA bytes become three channels of numbers.
  const bytes = Float32Array.from(pixels.data);
  using image = device.tensor(bytes, [height * width, 4]).transpose().reshape([4, 1, height, width]);
  using weights = device.tensor([[kernel.map((row) => [...row])]]);
  const pad = (kernel.length - 1) / 2;
  using filtered = clamp(conv(image, weights, undefined, { pad: [pad, pad] }), 0, 255);
  const result = await filtered.reshape([4, height * width]).transpose().data();

  pixels.data.set(Uint8ClampedArray.from(result as Float32Array));
  for (let i = 3; i < pixels.data.length; i += 4) pixels.data[i] = 255;
  draw.putImageData(pixels, 0, 0);
}
