// What the libraries of a wheel need of the C library since 2.35, for older ones: tools/wheel puts
// it among them. Where the C library has a function itself, that one is found first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

// The functions by the names that they have had from the beginning: the header gives the new ones
// for them.
long old_strtol(const char* text, char** end, int base) __asm__("strtol");
long long old_strtoll(const char* text, char** end, int base) __asm__("strtoll");
unsigned long old_strtoul(const char* text, char** end, int base) __asm__("strtoul");
unsigned long long old_strtoull(const char* text, char** end, int base) __asm__("strtoull");
int old_vfscanf(FILE* file, const char* format, va_list arguments) __asm__("vfscanf");

long __isoc23_strtol(const char* text, char** end, int base) { return old_strtol(text, end, base); }
long long __isoc23_strtoll(const char* text, char** end, int base) {
  return old_strtoll(text, end, base);
}
unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return old_strtoul(text, end, base);
}
unsigned long long __isoc23_strtoull(const char* text, char** end, int base) {
  return old_strtoull(text, end, base);
}
int __isoc23_fscanf(FILE* file, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int count = old_vfscanf(file, format, arguments);
  va_end(arguments);
  return count;
}

uint32_t arc4random(void) {
  uint32_t out = 0;
  while (getrandom(&out, sizeof out, 0) != sizeof out) {
  }
  return out;
}

// The library that an address lies in, and where its tables for exceptions are: what the runtime of
// GCC asks for while it unwinds.
struct search {
  uintptr_t at;
  struct dl_find_object* out;
};

static int look(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct search* search = data;
  int found = 0;
  uintptr_t first = UINTPTR_MAX;
  uintptr_t last = 0;
  void* table = NULL;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) table = (void*)start;
    if (part->p_type != PT_LOAD) continue;
    if (start < first) first = start;
    if (start + part->p_memsz > last) last = start + part->p_memsz;
    if (search->at >= start && search->at < start + part->p_memsz) found = 1;
  }
  if (!found || table == NULL) return 0;
  memset(search->out, 0, sizeof *search->out);
  search->out->dlfo_map_start = (void*)first;
  search->out->dlfo_map_end = (void*)last;
  search->out->dlfo_eh_frame = table;
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
