/* The C API, from a C11 program. Every case is reported like one of GoogleTest's, so that the
 * runner counts it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

static weft_device device;
static int failures; /* of the case that runs */
static char details[4000];

static void failed(const char* text, int line) {
  const size_t used = strlen(details);
  snprintf(details + used, sizeof details - used, "line %d: %s (%s) ", line, text,
           weft_last_error());
  ++failures;
}

#define CHECK(condition) ((condition) ? (void)0 : failed(#condition, __LINE__))
#define CHECK_OK(call) CHECK((call) == WEFT_OK)
/* The status, and a part of the message. */
#define CHECK_FAILS(call, wanted, part) \
  CHECK((call) == (wanted) && strstr(weft_last_error(), (part)) != NULL)

static void names(void) {
  CHECK(strlen(weft_version()) >= 5);
  CHECK(strcmp(weft_status_name(WEFT_INVALID_HANDLE), "invalid_handle") == 0);
  CHECK(strcmp(weft_status_name((weft_status)77), "unknown") == 0);
  CHECK(strcmp(weft_dtype_name(WEFT_BF16), "bf16") == 0 && weft_dtype_size(WEFT_BF16) == 2);
  CHECK(strcmp(weft_dtype_name((weft_dtype)99), "unknown") == 0);
  CHECK(weft_dtype_size((weft_dtype)99) == 0 && weft_dtype_size(WEFT_I64) == 8);
}

static void adapters_and_devices(void) {
  uint32_t count = 0;
  weft_device_info infos[4];
  weft_device_info info;
  weft_device none = NULL;
  const weft_device_options nowhere = {.adapter = "no such adapter"};
  CHECK_OK(weft_list_adapters(NULL, 0, &count));
  CHECK(count > 0);
  CHECK_OK(weft_list_adapters(infos, 4, &count));
  CHECK(infos[0].name[0] != '\0' && infos[0].max_buffer_bytes > 0);
  CHECK_FAILS(weft_list_adapters(NULL, 4, &count), WEFT_INVALID_ARGUMENT, "`infos` is NULL");
  CHECK_FAILS(weft_list_adapters(infos, 4, NULL), WEFT_INVALID_ARGUMENT, "`count` is NULL");
  CHECK_OK(weft_device_get_info(device, &info));
  CHECK(info.binding_alignment > 0 && info.kind[0] != '\0');
  CHECK_FAILS(weft_device_open(&nowhere, &none), WEFT_NOT_FOUND, "no such adapter");
  CHECK(none == NULL);
  CHECK_FAILS(weft_device_open(NULL, NULL), WEFT_INVALID_ARGUMENT, "weft_device_open");
  CHECK_OK(weft_device_synchronize(device));
}

static void options_of_a_device(void) {
  const weft_device_options options = {.caps_mask = "-f16,binding=1M", .safe = true};
  const weft_device_options wrong = {.caps_mask = "-nothing"};
  weft_device masked = NULL;
  weft_device_info info;
  weft_buffer buffer = NULL;
  uint64_t size = 0;
  CHECK_OK(weft_device_open(&options, &masked));
  CHECK_OK(weft_device_get_info(masked, &info));
  CHECK(!info.f16 && info.max_binding_bytes == 1 << 20);
  CHECK_OK(weft_buffer_alloc(masked, 100, &buffer));
  CHECK_OK(weft_device_close(masked));
  CHECK_FAILS(weft_device_get_info(masked, &info), WEFT_INVALID_HANDLE, "freed before");
  CHECK_OK(weft_buffer_get_size(buffer, &size)); /* the buffer keeps its device alive */
  CHECK_OK(weft_buffer_fill(buffer, 0, size, 1));
  CHECK_OK(weft_buffer_free(buffer));
  CHECK_FAILS(weft_device_open(&wrong, &masked), WEFT_INVALID_ARGUMENT, "nothing");
}

static void handles(void) {
  weft_buffer buffer = NULL;
  weft_buffer other = NULL;
  uint64_t size = 0;
  const weft_tensor_info nothing = {0};
  CHECK_OK(weft_buffer_alloc(device, 10, &buffer));
  CHECK_FAILS(weft_buffer_get_size(NULL, &size), WEFT_INVALID_HANDLE, "`buffer` is NULL");
  CHECK_FAILS(weft_buffer_get_size((weft_buffer)device, &size), WEFT_INVALID_HANDLE,
              "is a device, but a buffer is needed");
  CHECK_FAILS(weft_buffer_get_size((weft_buffer)&nothing, &size), WEFT_INVALID_HANDLE,
              "not a handle of Weft");
  CHECK_FAILS(weft_tensor_free((weft_tensor)buffer), WEFT_INVALID_HANDLE, "is a buffer");
  CHECK_OK(weft_buffer_free(buffer));
  CHECK_FAILS(weft_buffer_free(buffer), WEFT_INVALID_HANDLE, "freed before");
  CHECK_OK(weft_buffer_alloc(device, 20, &other)); /* takes the place of the first */
  CHECK(other != buffer);
  CHECK_FAILS(weft_buffer_get_size(buffer, &size), WEFT_INVALID_HANDLE, "freed before");
  CHECK_OK(weft_buffer_get_size(other, &size));
  CHECK(size == 20);
  CHECK_OK(weft_buffer_free(other));
}

static void buffers_at_any_offset(void) {
  unsigned char bytes[64];
  unsigned char back[64];
  weft_buffer a = NULL;
  weft_buffer b = NULL;
  weft_buffer none = NULL;
  for (int i = 0; i < 64; ++i) bytes[i] = (unsigned char)(i * 3);
  CHECK_OK(weft_buffer_alloc(device, 64, &a));
  CHECK_OK(weft_buffer_alloc(device, 64, &b));
  CHECK_OK(weft_buffer_fill(a, 0, 64, 0xab));
  CHECK_OK(weft_buffer_write(a, 3, bytes, 21));
  CHECK_OK(weft_buffer_fill(b, 0, 64, 1));
  CHECK_OK(weft_buffer_copy(a, 1, b, 7, 30));
  CHECK_OK(weft_buffer_copy(b, 7, b, 9, 30)); /* overlapping */
  CHECK_OK(weft_buffer_read(b, 9, back, 30));
  CHECK(back[0] == 0xab && back[1] == 0xab && memcmp(back + 2, bytes, 21) == 0 && back[23] == 0xab);
  CHECK_FAILS(weft_buffer_read(b, 60, back, 5), WEFT_INVALID_ARGUMENT,
              "has 64 bytes; 5 bytes from byte 60");
  CHECK_FAILS(weft_buffer_write(b, UINT64_MAX, bytes, 2), WEFT_INVALID_ARGUMENT, "has 64 bytes");
  CHECK_FAILS(weft_buffer_copy(a, 0, b, 1, 64), WEFT_INVALID_ARGUMENT, "`to` has 64 bytes");
  CHECK_FAILS(weft_buffer_write(b, 0, NULL, 2), WEFT_INVALID_ARGUMENT, "`data` is NULL");
  CHECK_FAILS(weft_buffer_alloc(device, UINT64_MAX, &none), WEFT_OUT_OF_MEMORY, "largest buffer");
  CHECK(none == NULL);
  CHECK_OK(weft_buffer_read(a, 64, NULL, 0)); /* nothing, at the end */
  CHECK_OK(weft_buffer_free(a));
  CHECK_OK(weft_buffer_free(b));
}

static void tensors(void) {
  const int64_t shape[] = {2, 3};
  const float values[] = {1, 2, 3, 4, 5, 6};
  float back[6] = {0};
  char text[64];
  size_t length = 0;
  weft_tensor_info info;
  weft_tensor x = NULL;
  weft_tensor t = NULL;
  weft_tensor y = NULL;
  CHECK_OK(weft_tensor_from_data(device, WEFT_F32, 2, shape, values, sizeof values, &x));
  CHECK_OK(weft_tensor_transpose(x, &t));
  CHECK_OK(weft_tensor_get_info(t, &info));
  CHECK(info.rank == 2 && info.shape[0] == 3 && info.shape[1] == 2 && info.size == 6);
  CHECK_OK(weft_tensor_read(t, WEFT_F32, back, sizeof back));
  CHECK(back[0] == 1 && back[1] == 4 && back[5] == 6);
  CHECK_OK(weft_tensor_matmul(x, t, NULL, &y));
  CHECK_OK(weft_tensor_to_text(y, text, sizeof text, &length));
  CHECK(strcmp(text, "f32[2,2] [[14, 32], [32, 77]]") == 0 && length == strlen(text));
  CHECK_OK(weft_tensor_to_text(y, text, 4, &length));
  CHECK(strcmp(text, "f32") == 0 && length > 4);
  CHECK_OK(weft_tensor_free(y));
  CHECK_FAILS(weft_tensor_matmul(x, x, NULL, &y), WEFT_INVALID_ARGUMENT, "[2,3] and [2,3]");
  CHECK(y == NULL);
  CHECK_FAILS(weft_tensor_read(x, WEFT_F32, back, 20), WEFT_INVALID_ARGUMENT, "24 bytes");
  CHECK_OK(weft_tensor_free(x));
  CHECK_OK(weft_tensor_read(t, WEFT_F32, back, sizeof back)); /* a view keeps the elements */
  CHECK_OK(weft_tensor_free(t));
}

static void layers_and_training(void) {
  const int64_t image[] = {1, 1, 5};
  const int64_t kernel[] = {1, 1, 3};
  const int64_t four[] = {4};
  const float values[] = {1, 2, 3, 4, 5};
  const float taps[] = {1, 0, -1};
  weft_tensor_conv_options options = WEFT_TENSOR_CONV_OPTIONS_INIT;
  weft_tensor_sgd_options half = WEFT_TENSOR_SGD_OPTIONS_INIT;
  weft_tensor_top_k_options best = WEFT_TENSOR_TOP_K_OPTIONS_INIT;
  const int64_t two[] = {2}, one[] = {1};
  float back[3] = {0};
  weft_tensor x = NULL, w = NULL, y = NULL, loss = NULL, gradient = NULL;
  weft_tensor scale = NULL, norm = NULL, sorted = NULL, places = NULL, none = NULL;
  weft_tensor next = NULL, velocity = NULL, working = NULL;
  options.stride = two;
  options.stride_count = 1;
  options.pad = one;
  options.pad_count = 1;
  half.lr = 0.5;
  best.largest = true;
  CHECK_OK(weft_tensor_from_data(device, WEFT_F32, 3, image, values, sizeof values, &x));
  CHECK_OK(weft_tensor_from_data(device, WEFT_F32, 3, kernel, taps, sizeof taps, &w));
  CHECK_OK(weft_tensor_conv(x, w, &options, &y));
  CHECK_OK(weft_tensor_sum(y, NULL, &loss));
  CHECK_OK(weft_tensor_grad(loss, NULL, &w, 1, &gradient)); /* 6, 9, 6 */
  CHECK_OK(weft_tensor_read(y, WEFT_F32, back, sizeof back));
  CHECK(back[0] == -2 && back[1] == -2 && back[2] == 4);
  CHECK_OK(weft_tensor_clip_by_global_norm(&gradient, 1, 0, NULL, &scale, &norm));
  CHECK_OK(weft_tensor_sgd(w, gradient, &half, &next, &velocity, &working));
  CHECK_OK(weft_tensor_read(next, WEFT_F32, back, sizeof back));
  CHECK(back[0] == -2 && back[1] == -4.5F && back[2] == -4);
  CHECK(velocity == NULL && working == NULL);
  CHECK_OK(weft_tensor_top_k(y, 1, &best, &sorted, &places));
  CHECK_FAILS(weft_tensor_top_k(y, 4, NULL, NULL, &none), WEFT_INVALID_ARGUMENT, "[1,1,3]");
  CHECK_FAILS(weft_tensor_max_pool(w, four, 1, NULL, &none), WEFT_INVALID_ARGUMENT, "f32[1,1,3]");
  half.size = 0;
  CHECK_FAILS(weft_tensor_sgd(w, gradient, &half, &none, NULL, NULL), WEFT_INVALID_ARGUMENT,
              "initializer");
  CHECK(none == NULL);
  weft_tensor all[] = {x, w, y, loss, gradient, scale, norm, sorted, places, next};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) CHECK_OK(weft_tensor_free(all[i]));
}

static void products(void) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  float c[4] = {0};
  weft_buffer in = NULL;
  weft_buffer out = NULL;
  CHECK_OK(weft_buffer_alloc(device, sizeof values, &in));
  CHECK_OK(weft_buffer_alloc(device, sizeof c, &out));
  CHECK_OK(weft_buffer_write(in, 0, values, sizeof values));
  CHECK_OK(weft_buffer_fill(out, 0, sizeof c, 0));
  const weft_matrix a = {.buffer = in, .dtype = WEFT_F32, .leading_dimension = 3};
  weft_matrix to = {.buffer = out, .dtype = WEFT_F32, .leading_dimension = 2};
  CHECK_OK(weft_gemm(false, true, 2, 2, 3, 2, &a, &a, 0, &to));
  CHECK_OK(weft_gemm(false, true, 2, 2, 3, 1, &a, &a, 1, &to));
  CHECK_OK(weft_buffer_read(out, 0, c, sizeof c));
  CHECK(c[0] == 42 && c[1] == 96 && c[2] == 96 && c[3] == 231);
  to.offset = 1;
  CHECK_FAILS(weft_gemm(false, true, 2, 2, 3, 1, &a, &a, 0, &to), WEFT_INVALID_ARGUMENT,
              "spans 4 elements from element 1 on, but its buffer of 16 bytes holds 4");
  to.buffer = in;
  CHECK_FAILS(weft_gemm(false, true, 2, 2, 3, 1, &a, &a, 0, &to), WEFT_INVALID_ARGUMENT,
              "overlaps");
  CHECK_FAILS(weft_gemm(false, true, -2, 2, 3, 1, &a, &a, 0, &to), WEFT_INVALID_ARGUMENT, "-2");
  CHECK_FAILS(weft_gemm(false, true, 2, 2, 3, 1, &a, NULL, 0, &to), WEFT_INVALID_ARGUMENT,
              "`b` is NULL");
  CHECK_OK(weft_buffer_free(in));
  CHECK_FAILS(weft_gemm(false, true, 2, 2, 3, 1, &a, &a, 0, &to), WEFT_INVALID_HANDLE, "a.buffer");
  CHECK_OK(weft_buffer_free(out));
}

static void kernels(void) {
  const bool writes[] = {true};
  const uint32_t groups[] = {1, 1, 1};
  const uint32_t add[] = {5};
  const char* const constants[] = {"factor"};
  const double factors[] = {3};
  uint32_t words[64];
  weft_kernel kernel = NULL;
  weft_kernel none = NULL;
  weft_buffer buffer = NULL;
  weft_kernel_source source = {
      .wgsl =
          "override factor: u32;\n"
          "@group(0) @binding(0) var<storage, read_write> x: array<u32>;\n"
          "@group(0) @binding(1) var<uniform> add: vec4u;\n"
          "@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {\n"
          "  x[i] = i * factor + add.x;\n"
          "}\n",
      .writes = writes,
      .bindings = 1,
      .scalars = 1,
      .constant_names = constants,
      .constant_values = factors,
      .constants = 1};
  CHECK_OK(weft_kernel_create(device, &source, &kernel));
  CHECK_OK(weft_buffer_alloc(device, sizeof words, &buffer));
  weft_binding binding = {.buffer = buffer};
  CHECK_OK(weft_kernel_run(kernel, &binding, 1, groups, add, 1));
  CHECK_OK(weft_buffer_read(buffer, 0, words, sizeof words));
  CHECK(words[0] == 5 && words[63] == 63 * 3 + 5);
  CHECK_FAILS(weft_kernel_run(kernel, &binding, 1, groups, NULL, 0), WEFT_INVALID_ARGUMENT,
              "takes 1 bindings and 1 scalars; 1 and 0");
  binding.bytes = 300;
  CHECK_FAILS(weft_kernel_run(kernel, &binding, 1, groups, add, 1), WEFT_INVALID_ARGUMENT,
              "300 bytes from byte 0 on of a buffer that has 256");
  source.wgsl = "fn main() { nonsense }";
  CHECK_FAILS(weft_kernel_create(device, &source, &none), WEFT_SHADER, "not valid WGSL");
  CHECK_FAILS(weft_kernel_free(none), WEFT_INVALID_HANDLE, "NULL");
  CHECK_OK(weft_kernel_free(kernel));
  CHECK_OK(weft_buffer_free(buffer));
}

struct Job {
  uint64_t size;
  bool good;
};

/* Handles and messages of several threads do not get in each other's way. */
static void* work(void* given) {
  struct Job* job = given;
  const uint64_t size = job->size;
  char wanted[64];
  bool good = true;
  snprintf(wanted, sizeof wanted, "has %llu bytes", (unsigned long long)size);
  for (int i = 0; i < 200; ++i) {
    weft_buffer buffer = NULL;
    uint64_t got = 0;
    good = good && weft_buffer_alloc(device, size, &buffer) == WEFT_OK;
    good = good && weft_buffer_get_size(buffer, &got) == WEFT_OK && got == size;
    good = good && weft_buffer_fill(buffer, 0, 100, 0) == WEFT_INVALID_ARGUMENT;
    good = good && strstr(weft_last_error(), wanted) != NULL;
    good = good && weft_buffer_free(buffer) == WEFT_OK;
    good = good && weft_buffer_free(buffer) == WEFT_INVALID_HANDLE;
  }
  job->good = good;
  return NULL;
}

static void threads(void) {
  pthread_t all[4];
  struct Job jobs[4];
  for (int i = 0; i < 4; ++i) {
    jobs[i].size = 16 + (uint64_t)i;
    jobs[i].good = false;
    CHECK(pthread_create(&all[i], NULL, work, &jobs[i]) == 0);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(all[i], NULL);
    CHECK(jobs[i].good);
  }
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"names", names},
             {"adapters_and_devices", adapters_and_devices},
             {"options_of_a_device", options_of_a_device},
             {"handles", handles},
             {"buffers_at_any_offset", buffers_at_any_offset},
             {"tensors", tensors},
             {"layers_and_training", layers_and_training},
             {"products", products},
             {"kernels", kernels},
             {"threads", threads}};

/* Text as JSON holds it. */
static void write_text(FILE* file, const char* text) {
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
  }
}

int main(int count, char** arguments) {
  static const char option[] = "--gtest_output=json:";
  FILE* report = NULL;
  int bad = 0;
  for (int i = 1; i < count; ++i) {
    if (strncmp(arguments[i], option, sizeof option - 1) == 0) {
      report = fopen(arguments[i] + sizeof option - 1, "w");
    }
  }
  if (weft_device_open(NULL, &device) != WEFT_OK) {
    fprintf(stderr, "%s\n", weft_last_error());
    return 2;
  }
  if (report != NULL) fputs("{\"testsuites\": [{\"name\": \"CApi\", \"testsuite\": [\n", report);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    failures = 0;
    details[0] = '\0';
    printf("[ RUN      ] CApi.%s\n", cases[i].name);
    fflush(stdout);
    cases[i].run();
    printf("%s CApi.%s (0 ms)\n%s%s", failures == 0 ? "[       OK ]" : "[  FAILED  ]",
           cases[i].name, details, failures == 0 ? "" : "\n");
    bad += failures != 0;
    if (report != NULL) {
      fprintf(report, "%s{\"name\": \"%s\", \"status\": \"RUN\", \"result\": \"COMPLETED\"",
              i == 0 ? "" : ",\n", cases[i].name);
      if (failures != 0) {
        fputs(", \"failures\": [{\"failure\": \"", report);
        write_text(report, details);
        fputs("\"}]", report);
      }
      fputs("}", report);
    }
  }
  if (report != NULL) {
    fputs("]}]}\n", report);
    fclose(report);
  }
  weft_device_close(device);
  return bad == 0 ? 0 : 1;
}
