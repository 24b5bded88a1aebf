// NVIDIA's management library of a machine with two cards of one model, and a third of another.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace {

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Card {
  std::string_view address;
  std::string_view name;
  Memory memory;
};

std::array<Card, 3> cards{{{"0000:01:00.0", "NVIDIA Model A", {1000, 100, 900}},
                           {"0000:c1:00.0", "NVIDIA Model A", {1000, 700, 300}},
                           {"0000:c2:00.0", "NVIDIA Model B", {500, 50, 450}}}};

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = cards.size();
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** card) {
  if (index >= cards.size()) return 2;
  *card = &cards.at(index);
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** card) {
  const auto found = std::ranges::find(cards, std::string_view(address), &Card::address);
  if (found == cards.end()) return 6;
  *card = &*found;
  return 0;
}

int nvmlDeviceGetName(void* card, char* name, unsigned size) {
  const std::string_view text = static_cast<Card*>(card)->name;
  if (size <= text.size()) return 7;
  std::memcpy(name, text.data(), text.size());
  name[text.size()] = '\0';
  return 0;
}

int nvmlDeviceGetMemoryInfo(void* card, Memory* memory) {
  *memory = static_cast<Card*>(card)->memory;
  return 0;
}

}  // extern "C"
