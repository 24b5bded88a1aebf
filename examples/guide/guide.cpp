// The pieces of code in docs/api.md, as a program that checks what they compute.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <weft/weft.hpp>

namespace {

void expect(bool good, const char* what) {
  if (good) return;
  std::cerr << "guide: " << what << " is not what docs/api.md says\n";
  std::exit(1);
}

void devices() {
  const weft::Device device;  // the best adapter, or what WEFT_ADAPTER names
  std::cout << "on " << device.name() << '\n';

  const weft::Device safe({.safe = true});  // with every check of WebGPU, for kernels of others
  expect(!safe.name().empty(), "the name of a device");
}

void tensors(const weft::Device& device) {
  const weft::Tensor a = device.tensor({2, 3}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0});  // f32
  const weft::Tensor b = device.full({3}, 0.5);
  const weft::Tensor c = a * b + 1;                  // [3] is repeated to [2, 3]
  const std::vector<float> values = c.to_vector();   // runs it and waits
  std::cout << c << '\n';                            // f32[2,3] [[1.5, 2, 2.5], [3, 3.5, 4]]
  const weft::Tensor half = c.to(weft::DType::f16);  // sums inside operations stay f32
  expect(values[5] == 4.0F && half.to_vector()[0] == 1.5F, "c");
}

void views(const weft::Device& device) {
  const weft::Tensor m = device.arange(12).reshape({3, -1});   // [3, 4]
  const weft::Tensor turned = m.transpose();                   // [4, 3]
  const weft::Tensor row = m.slice(0, 1, 1);                   // [[4, 5, 6, 7]]
  const weft::Tensor few = m.at(1, weft::Slice{0, 4, 2});      // [4, 6], as m[1, 0:4:2] in Python
  const weft::Tensor last = m.at(weft::Ellipsis, -1);          // [3, 7, 11]
  const weft::Tensor back = m.at(0, weft::Slice{.step = -1});  // [3, 2, 1, 0]
  const weft::Tensor wide = row.broadcast_to({5, 4});          // the row five times
  const weft::Tensor swapped = m.reshape({3, 2, 2}).permute({2, 0, 1});
  expect(turned.shape() == weft::Shape{4, 3} && weft::sum(wide).item() == 110.0F, "a view");
  expect(few.to_vector()[1] == 6.0F && last.to_vector()[2] == 11.0F, "indices");
  expect(back.to_vector()[0] == 3.0F, "a slice backwards");
  expect(swapped.shape() == weft::Shape{2, 3, 2}, "a permuted shape");
}

void operations(const weft::Device& device) {
  const weft::Tensor x = device.arange(6, -2.5).reshape({2, 3});
  const weft::Tensor y = weft::map("gelu", x);          // any function of docs/ops.md
  const weft::Tensor rows = weft::sum(x, 1);            // [2]; {0, 1} would be both
  const weft::Tensor best = weft::argmax(x, -1);        // i32 [2]
  const weft::Tensor cut = weft::where(x > 0, x, 0.0);  // what relu does
  const weft::Tensor few = weft::minimum(weft::pow(x, 2), 4);
  const weft::Tensor p = weft::softmax(x);  // along the last dimension
  const weft::Tensor n = weft::layer_norm(x);
  const weft::Tensor xxt = weft::matmul(x, x.transpose());  // [2, 2]
  expect(y.shape() == x.shape() && rows.to_vector()[1] == 4.5F, "a sum");
  expect(best.to_vector<std::int32_t>()[0] == 2 && xxt.to_vector()[0] == 8.75F,
         "an index or product");
  expect(cut.to_vector()[0] == 0 && few.to_vector()[0] == 4, "a number beside a tensor");
  expect(std::abs(weft::sum(p).item() - 2) < 1e-5F && std::abs(weft::sum(n).item()) < 1e-4F,
         "a row");
}

void order(const weft::Device& device) {
  const weft::Tensor x = device.tensor({4}, std::vector{3.0F, 1.0F, 4.0F, 1.5F});
  const auto [values, indices] = weft::top_k(x, 2);  // [4, 3] and i32 [2, 0]
  const weft::Tensor sorted = weft::sort(x).values;
  const weft::Tensor beyond = weft::pad(x, {1}, {2}, weft::Edge::reflect);  // 1 3 1 4 1.5 4 1
  const weft::Tensor below = weft::tril(device.full({3, 3}, 1));            // a triangle of ones
  expect(values.to_vector()[1] == 3 && indices.to_vector<std::int32_t>()[0] == 2, "top_k");
  expect(sorted.to_vector()[3] == 4 && beyond.to_vector()[5] == 4, "an edge");
  expect(weft::sum(below).item() == 6, "a triangle");
}

void transforms(const weft::Device& device) {
  const weft::Tensor wave = weft::sin(device.arange(60, 0, 2 * 3.14159265 / 12));  // five turns
  const weft::Tensor spectrum = weft::rfft(wave);                                  // [31, 2]
  const weft::Tensor power = weft::sum(spectrum * spectrum, {1});                  // largest at 5
  const weft::Tensor again = weft::irfft(spectrum, 60);
  const weft::Tensor highest = weft::cummax(wave, 0);  // the highest so far
  expect(weft::argmax(power).item<std::int32_t>() == 5, "a spectrum");
  expect(weft::max(weft::abs(again - wave)).item() < 1e-5F, "a transform back");
  expect(std::abs(highest.to_vector()[59] - 1) < 1e-3F, "a running maximum");
}

void images(const weft::Device& device) {
  const weft::Tensor image = device.arange(2 * 3 * 8 * 8).reshape({2, 3, 8, 8}) * 0.01;
  const weft::Tensor weights = device.full({4, 3, 3, 3}, 0.1);
  const weft::Tensor bias = device.full({4}, 1);
  const weft::Tensor c = weft::conv(image, weights, {.windows = {.stride = {2}, .pad = {1}}}, bias);
  const weft::Tensor h = weft::relu(weft::group_norm(c, 2));  // [2, 4, 4, 4]
  const weft::Tensor small = weft::max_pool(h, {2});          // [2, 4, 2, 2]
  const weft::Tensor large = weft::resize(small, 8, 8, {.mode = weft::Interpolation::linear});
  const weft::Tensor slope = weft::grad(weft::mean(large), {weights})[0];  // through all of it
  expect(large.shape() == weft::Shape{2, 4, 8, 8} && slope.shape() == weights.shape(), "an image");
}

void blocks(const weft::Device& device) {
  const weft::Tensor weights = weft::sin(device.arange(64 * 32)).reshape({64, 32});
  const weft::Tensor small = weights.to(weft::DType::q8_0);  // 34 bytes for 32 elements
  const weft::Tensor x = device.full({1, 32}, 0.5);
  const weft::Tensor y = weft::linear(x, small);            // x · weightsᵀ, from the blocks
  const weft::Tensor rounded = small.to(weft::DType::f32);  // the values of the blocks
  const weft::Tensor ids = device.arange(3, 5, 1, weft::DType::i32);
  const weft::Tensor rows = weft::embedding(small, ids);  // rows 5, 6 and 7 of the table
  const float far = weft::max(weft::abs(rounded - weights)).item();
  expect(far > 0 && far < 0.01F && y.shape() == weft::Shape{1, 64}, "a block");
  expect(rows.shape() == weft::Shape{3, 32}, "a row of blocks");
}

void errors(const weft::Device& device) {
  bool expected = false;
  try {
    const weft::Tensor m = device.full({2, 3}, 1);
    (void)weft::matmul(m, m);
  } catch (const weft::Error& error) {
    // invalid_argument: … [2,3] and [2,3] … (matmul at FILE:LINE)
    std::cout << weft::name(error.code()) << ": " << error.what() << '\n';
    expected = error.code() == weft::ErrorCode::invalid_argument;
  }
  expect(expected, "a product of shapes that do not fit");
}

void gradients(const weft::Device& device) {
  const weft::Tensor w = weft::variable(device.full({3}, 2));
  const weft::Tensor loss = weft::sum(w * w * w);
  const weft::Tensor slope = weft::grad(loss, {w})[0];  // 3 w² = [12, 12, 12]
  weft::apply({{w, w - slope * 0.1}});                  // w is now [0.8, 0.8, 0.8]
  expect(slope.to_vector()[0] == 12.0F && std::abs(w.to_vector()[2] - 0.8F) < 1e-6F, "a gradient");
}

void compiled(const weft::Device& device) {
  const weft::Tensor w = weft::variable(device.full({4, 1}, 0));
  const weft::Compiled step = weft::compile([&](const std::vector<weft::Tensor>& in) {
    const weft::Tensor error = weft::matmul(in[0], w) - in[1];
    const weft::Tensor loss = weft::mean(error * error);
    return weft::Outputs({loss}, {{w, w - weft::grad(loss, {w})[0] * 0.1}});
  });
  const weft::Tensor x = weft::map("sin", device.arange(32)).reshape({8, 4});
  const weft::Tensor target = weft::sum(x, {1}, true);
  const float before = step.one({x, target}).item();
  float after = before;
  for (int i = 0; i < 50; ++i) after = step.one({x, target}).item();  // replays
  std::cout << "loss " << before << " -> " << after << ", " << step.report().dispatches
            << " kernels per step\n";
  expect(after < before / 10, "the loss");
}

void kernels(const weft::Device& device) {
  const weft::Kernel squares = device.kernel({.wgsl = R"(
      @group(0) @binding(0) var<storage, read_write> y: array<f32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        if (id.x < arrayLength(&y)) { y[id.x] = f32(id.x * id.x); }
      })",
                                              .writes = {true}});
  const weft::Tensor y = device.empty({100});
  squares.run({y}, {2, 1, 1});  // two workgroups
  expect(y.to_vector()[99] == 9801.0F, "a kernel's result");
}

}  // namespace

int main() try {
  const weft::Device device;
  devices();
  tensors(device);
  views(device);
  operations(device);
  order(device);
  transforms(device);
  images(device);
  blocks(device);
  errors(device);
  gradients(device);
  compiled(device);
  kernels(device);
  std::cout << "guide: all as described\n";
} catch (const weft::Error& error) {
  std::cerr << "guide: " << error.what() << '\n';
  return 1;
}
