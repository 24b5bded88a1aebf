#include "base/unpack.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace weft {
namespace {

using Chance = std::uint16_t;  // That the next bit is 0, in 2048ths.

template <std::size_t N>
constexpr std::array<Chance, N> even() {
  std::array<Chance, N> chances;
  chances.fill(1024);
  return chances;
}

// What came before: letters count as 0 to 6, and all else as more.
constexpr std::uint32_t history_size = 12;
constexpr std::uint32_t first_not_letter = 7;
// Of a letter after others: three trees.
constexpr std::size_t tree_size = 0x300;

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::uint8_t> packed) : left_(packed) {
    for (int i = 0; i < 5; ++i) code_ = code_ << 8 | next();
  }

  std::string run(std::size_t size) {
    std::string out;
    out.reserve(size);
    while (out.size() < size) {
      if (!bit(is_copy_[history_])) {
        out.push_back(letter(out));
        continue;
      }
      const std::uint32_t length = copy();
      if (distance_ >= out.size()) break;
      const std::size_t end = std::min<std::size_t>(size, out.size() + length);
      while (out.size() < end) out.push_back(out[out.size() - 1 - distance_]);
    }
    return out;
  }

 private:
  struct Lengths {
    std::array<Chance, 2> choice = even<2>();
    std::array<Chance, 8> low = even<8>(), middle = even<8>();
    std::array<Chance, 256> high = even<256>();
  };

  std::uint32_t next() {
    if (left_.empty()) return 0;
    const std::uint32_t byte = left_[0];
    left_ = left_.subspan(1);
    return byte;
  }

  void fill() {
    if (range_ >= 1u << 24) return;
    range_ <<= 8;
    code_ = code_ << 8 | next();
  }

  std::uint32_t bit(Chance& chance) {
    const std::uint32_t bound = (range_ >> 11) * chance;
    const std::uint32_t one = code_ >= bound ? 1 : 0;
    if (one != 0) {
      range_ -= bound;
      code_ -= bound;
      chance = static_cast<Chance>(chance - (chance >> 5));
    } else {
      range_ = bound;
      chance = static_cast<Chance>(chance + ((2048 - chance) >> 5));
    }
    fill();
    return one;
  }

  std::uint32_t even_bits(std::uint32_t count) {
    std::uint32_t value = 0;
    for (; count > 0; --count) {
      range_ >>= 1;
      const std::uint32_t one = code_ >= range_ ? 1 : 0;
      code_ -= one * range_;
      value = value << 1 | one;
      fill();
    }
    return value;
  }

  std::uint32_t tree(std::span<Chance> chances, std::uint32_t bits) {
    std::uint32_t node = 1;
    for (std::uint32_t i = 0; i < bits; ++i) node = node << 1 | bit(chances[node]);
    return node - (1u << bits);
  }

  /// The same with the lowest bit first; its first node is at `first`.
  std::uint32_t turned_tree(std::span<Chance> chances, std::uint32_t first, std::uint32_t bits) {
    std::uint32_t node = 1, value = 0;
    for (std::uint32_t i = 0; i < bits; ++i) {
      const std::uint32_t one = bit(chances[first + node]);
      node = node << 1 | one;
      value |= one << i;
    }
    return value;
  }

  char letter(const std::string& out) {
    const std::size_t before = out.empty() ? 0 : static_cast<std::uint8_t>(out.back()) >> 4;
    const std::span<Chance> chances = std::span(letters_).subspan(before * tree_size, tree_size);
    std::uint32_t node = 1;
    if (history_ >= first_not_letter && distance_ < out.size()) {
      // Another letter than the one that a copy would have gone on with: bits until they differ.
      std::uint32_t other = static_cast<std::uint8_t>(out[out.size() - 1 - distance_]);
      while (node < 0x100) {
        const std::uint32_t theirs = other >> 7 & 1;
        other <<= 1;
        const std::uint32_t ours = bit(chances[((1 + theirs) << 8) + node]);
        node = node << 1 | ours;
        if (ours != theirs) break;
      }
    }
    while (node < 0x100) node = node << 1 | bit(chances[node]);
    history_ = history_ < 4 ? 0 : history_ < 10 ? history_ - 3 : history_ - 6;
    return static_cast<char>(node & 0xff);
  }

  std::uint32_t length(Lengths& lengths) {
    if (!bit(lengths.choice[0])) return 2 + tree(lengths.low, 3);
    if (!bit(lengths.choice[1])) return 10 + tree(lengths.middle, 3);
    return 18 + tree(lengths.high, 8);
  }

  /// Reads how far back a copy begins, to distance_, and gives its length.
  std::uint32_t copy() {
    const bool was_letter = history_ < first_not_letter;
    if (!bit(is_known_[history_])) {
      last_ = {distance_, last_[0], last_[1]};
      const std::uint32_t count = length(new_lengths_);
      history_ = was_letter ? 7 : 10;
      distance_ = distance(std::min(count - 2, 3u));
      return count;
    }
    if (!bit(is_older_[history_])) {
      if (!bit(is_long_[history_])) {
        history_ = was_letter ? 9 : 11;
        return 1;
      }
    } else {
      std::size_t which = 0;
      if (bit(is_second_[history_])) which = bit(is_third_[history_]) ? 2 : 1;
      std::rotate(last_.begin(), last_.begin() + static_cast<std::ptrdiff_t>(which),
                  last_.begin() + static_cast<std::ptrdiff_t>(which) + 1);
      std::swap(last_[0], distance_);
    }
    history_ = was_letter ? 8 : 11;
    return length(known_lengths_);
  }

  std::uint32_t distance(std::uint32_t kind) {
    const std::uint32_t slot = tree(slots_[kind], 6);
    if (slot < 4) return slot;
    const std::uint32_t bits = (slot >> 1) - 1;
    const std::uint32_t base = (2 | (slot & 1)) << bits;
    if (slot < 14) return base + turned_tree(near_, base - slot, bits);
    const std::uint32_t high = even_bits(bits - 4) << 4;
    return base + high + turned_tree(far_, 0, 4);
  }

  std::span<const std::uint8_t> left_;
  std::uint32_t range_ = ~0u, code_ = 0;
  std::uint32_t history_ = 0;
  std::uint32_t distance_ = 0;  // Of the last copy; last_ has those of the three before.
  std::array<std::uint32_t, 3> last_{};
  std::array<Chance, history_size> is_copy_ = even<history_size>(), is_known_ = is_copy_,
                                   is_older_ = is_copy_, is_long_ = is_copy_, is_second_ = is_copy_,
                                   is_third_ = is_copy_;
  std::array<Chance, 16 * tree_size> letters_ = even<16 * tree_size>();
  std::array<std::array<Chance, 64>, 4> slots_{even<64>(), even<64>(), even<64>(), even<64>()};
  std::array<Chance, 128> near_ = even<128>();
  std::array<Chance, 16> far_ = even<16>();
  Lengths new_lengths_, known_lengths_;
};

}  // namespace

std::string unpack(std::span<const std::uint8_t> packed, std::size_t size) {
  return Unpacker(packed).run(size);
}

}  // namespace weft
