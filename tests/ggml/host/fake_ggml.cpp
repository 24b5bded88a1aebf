// A program with a ggml of its own that can do nothing but be looked at: fake_ggml PLUGIN KIND
// loads the plug-in and prints the API number of what it got, or "refused". Compiled with WEFT_OLD
// it lacks what old releases lack, with WEFT_API3 it has what came with API 3.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "op_names.hpp"

namespace {

bool swapped = false;
std::size_t known = weft::plugin::op_names.size();

}  // namespace

extern "C" {

void ggml_backend_buffer_init() {}
#ifndef WEFT_OLD
std::size_t ggml_nbytes(const ggml_tensor* /*tensor*/) { return 0; }
const char* ggml_type_name(ggml_type /*type*/) { return ""; }
ggml_tensor** ggml_graph_nodes(ggml_cgraph* /*graph*/) { return nullptr; }
int ggml_graph_n_nodes(ggml_cgraph* /*graph*/) { return 0; }
const char* ggml_version() { return "0.99"; }
void ggml_log_get(ggml_log_callback* callback, void** user) {
  *callback = nullptr;
  *user = nullptr;
}
const char* ggml_op_name(ggml_op op) {
  std::size_t i = op;
  if (swapped && (i == GGML_OP_SUB || i == GGML_OP_MUL)) i = GGML_OP_SUB + GGML_OP_MUL - i;
  return i < known ? weft::plugin::op_names.at(i).data() : nullptr;
}
#endif
#ifndef WEFT_OLD
[[gnu::visibility("default")]] void weft_fake_precision() asm("ggml_prec_set_acc");
void weft_fake_precision() {}
#endif
#ifdef WEFT_API3
void ggml_backend_buft_alloc_buffer_n() {}
#endif
}

int main(int argc, char** argv) {
  const std::string_view kind = argc > 2 ? argv[2] : "";
  swapped = kind == "swapped";
  if (kind == "short") known = GGML_OP_DSV4_HC_POST;
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::puts(dlerror());
    return 1;
  }
  const auto init = reinterpret_cast<const int* (*)()>(dlsym(plugin, "ggml_backend_init"));
  const int* registry = init();
  std::fflush(stderr);
  if (registry == nullptr) {
    std::puts("refused");
  } else {
    std::printf("%d\n", *registry);  // The number comes first.
  }
  std::fflush(stdout);
  std::_Exit(0);
}
