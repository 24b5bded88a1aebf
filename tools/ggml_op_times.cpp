// ggml-op-times DEVICE [PART [AFTER]]: the time of single ops on one ggml device (GGML_BACKEND_PATH loads its backend), as lines of
// name, microseconds and microseconds of processor time, with tabs between ("-" where the device does not support the op).
// PART: only ops whose name contains it; AFTER: only those behind the op of that name, because a backend may end the
// program (the line of that op then has no times). tools/compare_webgpu.py runs it for two backends and compares.
//
// On a software adapter all work is the processor's, so its time is what counts on a machine that does other things too.
//
// test-backend-ops perf puts 32 GB or 100 GFLOP of work into one graph, which a software adapter does not finish in time;
// here a graph is a few copies of one op, and the best of many runs counts.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <format>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int copies = 4;       // Of the op in one graph.
constexpr double enough = 0.6;  // Seconds of measuring for one op…
constexpr int fewest_runs = 5;  // …and graphs at least.
constexpr ggml_type f32 = GGML_TYPE_F32;
constexpr ggml_type f16 = GGML_TYPE_F16;
constexpr ggml_type i32 = GGML_TYPE_I32;

using Tensors = std::vector<ggml_tensor*>;
using Op = std::function<ggml_tensor*(ggml_context*, const Tensors&)>;
using Context = std::unique_ptr<ggml_context, decltype(&ggml_free)>;

struct Input {
  ggml_type type;
  std::vector<std::int64_t> shape;  // As ggml lists it: innermost first.
};

/// One op with its inputs.
struct Work {
  std::string name;
  std::vector<Input> inputs;
  Op op;
};

const std::vector<std::int64_t> matrix{1024, 512};

Work unary(std::string name, ggml_tensor* (*op)(ggml_context*, ggml_tensor*)) {
  return {std::move(name), {{f32, matrix}}, [op](ggml_context* c, const Tensors& t) {
            return op(c, t[0]);
          }};
}

Work binary(std::string name, ggml_tensor* (*op)(ggml_context*, ggml_tensor*, ggml_tensor*),
            std::vector<std::int64_t> second = matrix) {
  return {std::move(name),
          {{f32, matrix}, {f32, std::move(second)}},
          [op](ggml_context* c, const Tensors& t) { return op(c, t[0], t[1]); }};
}

Work product(ggml_type type, std::int64_t n) {
  return {std::format("MUL_MAT {} m=1024 n={} k=1024", ggml_type_name(type), n),
          {{type, {1024, 1024}}, {f32, {1024, n}}},
          [](ggml_context* c, const Tensors& t) { return ggml_mul_mat(c, t[0], t[1]); }};
}

Work expert_product(ggml_type type, std::int64_t tokens) {
  return {
      std::format("MUL_MAT_ID {} 2 of 8 experts, m=512 n={} k=1024", ggml_type_name(type), tokens),
      {{type, {1024, 512, 8}}, {f32, {1024, 2, tokens}}, {i32, {2, tokens}}},
      [](ggml_context* c, const Tensors& t) { return ggml_mul_mat_id(c, t[0], t[1], t[2]); }};
}

Work attention(ggml_type type, std::int64_t head, std::int64_t queries, std::int64_t keys) {
  return {std::format("FLASH_ATTN_EXT {} head={} queries={} keys={}", ggml_type_name(type), head,
                      queries, keys),
          {{f32, {head, queries, 8}},
           {type, {head, keys, 4}},
           {type, {head, keys, 4}},
           {f16, {keys, queries}}},
          [head](ggml_context* c, const Tensors& t) {
            return ggml_flash_attn_ext(c, t[0], t[1], t[2], t[3],
                                       1 / std::sqrt(static_cast<float>(head)), 0, 0);
          }};
}

void add_simple(std::vector<Work>& list) {
  list.push_back(unary("ABS", ggml_abs));
  list.push_back(unary("SQR", ggml_sqr));
  list.push_back(unary("SQRT", ggml_sqrt));
  list.push_back(unary("EXP", ggml_exp));
  list.push_back(unary("LOG", ggml_log));
  list.push_back(unary("SIN", ggml_sin));
  list.push_back(unary("TANH", ggml_tanh));
  list.push_back(unary("GELU", ggml_gelu));
  list.push_back(unary("SILU", ggml_silu));
  list.push_back(unary("SIGMOID", ggml_sigmoid));
  list.push_back(unary("SWIGLU", ggml_swiglu));
  list.push_back(unary("GEGLU", ggml_geglu));
  list.push_back(unary("SUM", ggml_sum));
  list.push_back(unary("SUM_ROWS", ggml_sum_rows));
  list.push_back(unary("MEAN", ggml_mean));
  list.push_back(unary("CUMSUM", ggml_cumsum));
  list.push_back(unary("ARGMAX", ggml_argmax));
  list.push_back(unary("SOFT_MAX", ggml_soft_max));
  list.push_back(binary("ADD", ggml_add));
  list.push_back(binary("ADD of a row", ggml_add, {1024, 1}));
  list.push_back(binary("SUB", ggml_sub));
  list.push_back(binary("MUL", ggml_mul));
  list.push_back(binary("DIV", ggml_div));
  list.push_back({"SCALE", {{f32, matrix}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_scale(c, t[0], 0.5F);
                  }});
  list.push_back({"CLAMP", {{f32, matrix}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_clamp(c, t[0], -0.5F, 0.5F);
                  }});
  list.push_back({"LEAKY_RELU", {{f32, matrix}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_leaky_relu(c, t[0], 0.1F, false);
                  }});
}

void add_rows(std::vector<Work>& list) {
  list.push_back({"RMS_NORM", {{f32, matrix}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_rms_norm(c, t[0], 1e-5F);
                  }});
  list.push_back({"NORM", {{f32, matrix}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_norm(c, t[0], 1e-5F);
                  }});
  list.push_back({"L2_NORM", {{f32, matrix}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_l2_norm(c, t[0], 1e-5F);
                  }});
  list.push_back({"GROUP_NORM", {{f32, {64, 64, 128}}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_group_norm(c, t[0], 32, 1e-5F);
                  }});
  list.push_back({"SOFT_MAX with a mask",
                  {{f32, {512, 64, 8}}, {f16, {512, 64}}},
                  [](ggml_context* c, const Tensors& t) {
                    return ggml_soft_max_ext(c, t[0], t[1], 0.1F, 0);
                  }});
  list.push_back(
      {"ROPE", {{f32, {128, 32, 128}}, {i32, {128}}}, [](ggml_context* c, const Tensors& t) {
         return ggml_rope(c, t[0], t[1], 128, 0);
       }});
  list.push_back({"ROPE neox f16",
                  {{f16, {128, 32, 128}}, {i32, {128}}},
                  [](ggml_context* c, const Tensors& t) {
                    return ggml_rope(c, t[0], t[1], 128, GGML_ROPE_TYPE_NEOX);
                  }});
  list.push_back({"ARGSORT of 1024", {{f32, {1024, 64}}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_argsort(c, t[0], GGML_SORT_ORDER_ASC);
                  }});
  list.push_back({"TOP_K 8 of 1024", {{f32, {1024, 64}}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_top_k(c, t[0], 8);
                  }});
  list.push_back({"GET_ROWS f32",
                  {{f32, {1024, 1024}}, {i32, {512}}},
                  [](ggml_context* c, const Tensors& t) { return ggml_get_rows(c, t[0], t[1]); }});
  list.push_back({"GET_ROWS q4_0",
                  {{GGML_TYPE_Q4_0, {1024, 1024}}, {i32, {512}}},
                  [](ggml_context* c, const Tensors& t) { return ggml_get_rows(c, t[0], t[1]); }});
  list.push_back(
      {"SET_ROWS f16",
       {{f16, {1024, 512}}, {f32, {1024, 64}}, {GGML_TYPE_I64, {64}}},
       [](ggml_context* c, const Tensors& t) { return ggml_set_rows(c, t[0], t[1], t[2]); }});
}

void add_copies(std::vector<Work>& list) {
  list.push_back({"CPY f32 to f16", {{f32, matrix}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_cast(c, t[0], GGML_TYPE_F16);
                  }});
  list.push_back({"CPY f16 to f32", {{f16, matrix}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_cast(c, t[0], GGML_TYPE_F32);
                  }});
  list.push_back(
      {"CONT of a transposed matrix", {{f32, matrix}}, [](ggml_context* c, const Tensors& t) {
         return ggml_cont(c, ggml_transpose(c, t[0]));
       }});
  list.push_back({"CONCAT",
                  {{f32, {512, 512}}, {f32, {512, 512}}},
                  [](ggml_context* c, const Tensors& t) { return ggml_concat(c, t[0], t[1], 0); }});
  list.push_back(
      binary("REPEAT",
             [](ggml_context* c, ggml_tensor* a, ggml_tensor* b) { return ggml_repeat(c, b, a); },
             {1024, 1}));
  list.push_back({"PAD", {{f32, {1000, 500}}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_pad(c, t[0], 24, 12, 0, 0);
                  }});
  list.push_back({"UPSCALE", {{f32, {128, 128, 8}}}, [](ggml_context* c, const Tensors& t) {
                    return ggml_upscale(c, t[0], 2, GGML_SCALE_MODE_NEAREST);
                  }});
  list.push_back({"IM2COL",
                  {{f16, {3, 3, 32, 32}}, {f32, {32, 32, 32}}},
                  [](ggml_context* c, const Tensors& t) {
                    return ggml_im2col(c, t[0], t[1], 1, 1, 1, 1, 1, 1, true, GGML_TYPE_F16);
                  }});
}

void add_heavy(std::vector<Work>& list) {
  for (const ggml_type type :
       {f32, f16, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K}) {
    for (const std::int64_t n : {1, 8, 64}) list.push_back(product(type, n));
  }
  for (const ggml_type type :
       {GGML_TYPE_Q5_0, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q5_K, GGML_TYPE_IQ4_NL,
        GGML_TYPE_IQ4_XS, GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ3_S, GGML_TYPE_MXFP4}) {
    list.push_back(product(type, 1));
  }
  list.push_back(expert_product(GGML_TYPE_Q4_0, 1));
  list.push_back(expert_product(GGML_TYPE_Q4_0, 32));
  list.push_back(expert_product(f16, 1));
  list.push_back(attention(f16, 64, 1, 512));
  list.push_back(attention(f16, 128, 1, 512));
  list.push_back(attention(GGML_TYPE_Q8_0, 128, 1, 512));
  list.push_back(attention(f16, 64, 64, 256));
  list.push_back(attention(f16, 128, 64, 256));
  list.push_back({"CONV_2D",
                  {{f32, {3, 3, 32, 32}}, {f32, {32, 32, 32}}},
                  [](ggml_context* c, const Tensors& t) {
                    return ggml_conv_2d_direct(c, t[0], t[1], 1, 1, 1, 1, 1, 1);
                  }});
  list.push_back({"SSM_CONV",
                  {{f32, {67, 1024, 1}}, {f32, {4, 1024}}},
                  [](ggml_context* c, const Tensors& t) { return ggml_ssm_conv(c, t[0], t[1]); }});
  list.push_back({"SSM_SCAN",
                  {{f32, {16, 1, 512, 1}},
                   {f32, {1, 512, 32, 1}},
                   {f32, {512, 32, 1}},
                   {f32, {16, 512}},
                   {f32, {16, 1, 32, 1}},
                   {f32, {16, 1, 32, 1}},
                   {i32, {1}}},
                  [](ggml_context* c, const Tensors& t) {
                    return ggml_ssm_scan(c, t[0], t[1], t[2], t[3], t[4], t[5], t[6], 1);
                  }});
}

/// Random numbers in any type; indices that every tensor of the list has.
void fill(ggml_tensor* tensor, std::mt19937& random) {
  const auto count = static_cast<std::size_t>(ggml_nelements(tensor));
  if (tensor->type == i32) {
    std::vector<std::int32_t> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = count == 1 ? 0 : static_cast<std::int32_t>(i % 8);
    ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
    return;
  }
  if (tensor->type == GGML_TYPE_I64) {
    std::vector<std::int64_t> values(count);
    std::iota(values.begin(), values.end(), 0);
    ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
    return;
  }
  std::uniform_real_distribution<float> number(0.1F, 1);
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return number(random); });
  std::vector<std::byte> bytes(ggml_nbytes(tensor));
  const std::int64_t row = tensor->ne[0];
  const std::vector<float> importance(static_cast<std::size_t>(row), 1);
  ggml_quantize_chunk(tensor->type, values.data(), bytes.data(), 0,
                      static_cast<std::int64_t>(count) / row, row, importance.data());
  ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
}

/// Seconds of one op.
struct Times {
  double wall = std::numeric_limits<double>::infinity();
  double processor = std::numeric_limits<double>::infinity();
};

/// Processor time of all threads of this process in seconds.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + (static_cast<double>(now.tv_nsec) * 1e-9);
}

/// The best times of one op; nothing where the device does not support it.
std::optional<Times> measure(const Work& work, ggml_backend_t backend) {
  const ggml_init_params size{.mem_size = ggml_tensor_overhead() * 256 + ggml_graph_overhead(),
                              .mem_buffer = nullptr,
                              .no_alloc = true};
  const Context context(ggml_init(size), ggml_free);
  Tensors inputs;
  for (const Input& input : work.inputs) {
    inputs.push_back(ggml_new_tensor(context.get(), input.type,
                                     static_cast<int>(input.shape.size()), input.shape.data()));
  }
  ggml_cgraph* graph = ggml_new_graph(context.get());
  for (int i = 0; i < copies; ++i) {
    ggml_tensor* result = work.op(context.get(), inputs);
    if (!ggml_backend_supports_op(backend, result)) return std::nullopt;
    ggml_build_forward_expand(graph, result);
  }
  const std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)> buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend), ggml_backend_buffer_free);
  if (!buffer) return std::nullopt;
  std::mt19937 random(1);
  for (ggml_tensor* input : inputs) fill(input, random);
  Times best;
  double total = 0;
  for (int run = 0; run <= fewest_runs || total < enough; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const double used = processor_seconds();
    if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) return std::nullopt;
    const double processor = processor_seconds() - used;
    const double wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (run == 0) continue;  // Compiles.
    best = {std::min(best.wall, wall / copies), std::min(best.processor, processor / copies)};
    total += wall;
  }
  return best;
}

int run(int count, char** words) {
  if (count < 2 || count > 4) {
    std::fputs("usage: GGML_BACKEND_PATH=PLUG-IN ggml-op-times DEVICE [PART [AFTER]]\n", stderr);
    return 2;
  }
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all();
  ggml_backend_dev_t device = ggml_backend_dev_by_name(words[1]);
  if (device == nullptr) {
    std::fprintf(stderr, "ggml-op-times: there is no device %s\n", words[1]);
    return 1;
  }
  const std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)> backend(
      ggml_backend_dev_init(device, nullptr), ggml_backend_free);
  std::vector<Work> list;
  add_simple(list);
  add_rows(list);
  add_copies(list);
  add_heavy(list);
  const std::string_view part = count >= 3 ? words[2] : "";
  std::string_view after = count >= 4 ? words[3] : "";
  for (const Work& work : list) {
    if (!after.empty()) {
      if (work.name == after) after = {};
      continue;
    }
    if (!work.name.contains(part)) continue;
    std::printf("%s", work.name.c_str());
    std::fflush(stdout);
    const auto times = measure(work, backend.get());
    const std::string text =
        times ? std::format("{:.2f}\t{:.2f}", times->wall * 1e6, times->processor * 1e6) : "-\t-";
    std::printf("\t%s\n", text.c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ggml-op-times: %s\n", error.what());
    return 1;
  }
}
