// A kernel of one's own: points of the Mandelbrot set, counted and drawn.
#include <iostream>
#include <weft/weft.hpp>

int main() try {
  constexpr std::uint32_t width = 64;
  constexpr std::uint32_t height = 24;
  const weft::Device device;
  std::cout << "weft " << weft::version() << " on " << device.name() << '\n';

  weft::KernelSource source;
  source.label = "mandelbrot";
  source.wgsl = R"(
    override steps: u32;
    struct Scalars { width: u32, height: u32 }
    @group(0) @binding(0) var<storage, read_write> escaped: array<f32>;
    @group(0) @binding(1) var<uniform> scalars: Scalars;

    @compute @workgroup_size(8, 8)
    fn main(@builtin(global_invocation_id) id: vec3u) {
      if (id.x >= scalars.width || id.y >= scalars.height) { return; }
      let size = vec2f(f32(scalars.width), f32(scalars.height));
      let c = (vec2f(id.xy) + 0.5) / size * vec2f(3.0, 2.4) - vec2f(2.2, 1.2);
      var z = vec2f(0.0);
      var step = 0u;
      while (step < steps && dot(z, z) < 4.0) {
        z = vec2f(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        step += 1u;
      }
      escaped[id.y * scalars.width + id.x] = f32(step);
    })";
  source.writes = {true};  // one tensor, which the kernel writes
  source.scalars = 2;
  source.constants = {{"steps", 100}};
  const weft::Kernel kernel = device.kernel(source);

  const weft::Tensor steps = device.empty({height, width});
  kernel.run({steps}, {(width + 7) / 8, (height + 7) / 8, 1}, {width, height});

  const std::vector<float> values = steps.to_vector();
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const float value = values[y * width + x];
      std::cout << (value == 100 ? '#' : value > 10 ? '+' : value > 5 ? '.' : ' ');
    }
    std::cout << '\n';
  }
  // Results go on into other operations like all tensors.
  const weft::Tensor inside = weft::map("greater_equal", steps, device.full({1}, 100));
  std::cout << "points inside: " << weft::sum(inside).item<std::int32_t>() << '\n';
} catch (const weft::Error& error) {
  std::cerr << "custom_kernel: " << error.what() << '\n';
  return 1;
}
