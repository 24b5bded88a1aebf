#include "api/einsum.hpp"

#include <algorithm>
#include <cctype>
#include <ranges>
#include <set>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "ops/view.hpp"
#include "weft/math.hpp"

namespace weft {
namespace {

/// The text of einsum, taken apart.
class Letters {
 public:
  Letters(std::string_view text, const std::vector<Tensor>& tensors, const Where& where)
      : text_(text), where_(where) {
    std::string plain;
    for (const char c : text) {
      if (c != ' ') plain += c;
    }
    const std::size_t arrow = plain.find("->");
    const std::string inputs = plain.substr(0, arrow);
    std::size_t start = 0;
    for (;;) {
      const std::size_t comma = inputs.find(',', start);
      written_.push_back(inputs.substr(start, comma - start));
      if (comma == std::string::npos) break;
      start = comma + 1;
    }
    if (written_.size() != tensors.size()) {
      fail(formatted("has {} terms between commas; {} tensors were given", written_.size(),
                     tensors.size()));
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      need("einsum", formatted("tensor {}", i), tensors[i], where);
      terms_.push_back(term_of(i, tensors[i].shape()));
    }
    output_ =
        arrow == std::string::npos ? kept_without_arrow() : output_of(plain.substr(arrow + 2));
  }

  [[nodiscard]] const std::vector<std::string>& terms() const { return terms_; }
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    refuse("einsum", where_, formatted("einsum \"{}\" {}.", text_, what));
  }

  /// What stands before and behind "...", and whether that is there.
  struct Parts {
    std::string before;
    std::string behind;
    bool dots = false;
  };

  [[nodiscard]] Parts parts_of(const std::string& term) const {
    const std::size_t dots = term.find("...");
    Parts parts{.before = term.substr(0, dots), .dots = dots != std::string::npos};
    if (parts.dots) parts.behind = term.substr(dots + 3);
    for (const char c : parts.before + parts.behind) {
      if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
        fail(formatted("holds '{}'; terms are made of letters and at most one \"...\"", c));
      }
    }
    return parts;
  }

  /// The letters of a tensor's dimensions. Those that "..." stands for count from the last one as
  /// characters below 'A'.
  [[nodiscard]] std::string term_of(std::size_t i, const Shape& shape) {
    const Parts parts = parts_of(written_[i]);
    const std::size_t named = parts.before.size() + parts.behind.size();
    if (parts.dots ? named > shape.size() : named != shape.size()) {
      fail(formatted("has {} letters in the term \"{}\"; tensor {} has the shape {}", named,
                     written_[i], i, ops::describe(shape)));
    }
    const std::size_t open = shape.size() - named;
    dotted_ = std::max(dotted_, open);
    const std::string term = parts.before + unnamed(open) + parts.behind;
    for (std::size_t d = 0; d < term.size(); ++d) {
      const std::uint64_t first = shape[term.find(term[d])];
      if (shape[d] != first)
        fail(formatted("has the letter {} twice in the term \"{}\", for {} and {} elements",
                       term[d], written_[i], first, shape[d]));
    }
    return term;
  }

  [[nodiscard]] static std::string unnamed(std::size_t count) {
    std::string letters;
    for (std::size_t i = count; i-- > 0;) letters += static_cast<char>('0' + i);
    return letters;
  }

  [[nodiscard]] std::string kept_without_arrow() const {
    std::string all;
    for (const std::string& term : terms_) all += term;
    std::string kept = unnamed(dotted_);
    for (const char letter : std::set<char>(all.begin(), all.end())) {
      if (std::isalpha(static_cast<unsigned char>(letter)) != 0 &&
          std::ranges::count(all, letter) == 1) {
        kept += letter;
      }
    }
    return kept;
  }

  [[nodiscard]] std::string output_of(const std::string& written) const {
    const Parts parts = parts_of(written);
    for (const char letter : parts.before + parts.behind) {
      if (std::ranges::count(written, letter) > 1) {
        fail(formatted("has the letter {} twice behind the arrow", letter));
      }
      if (std::ranges::none_of(terms_,
                               [&](const std::string& term) { return term.contains(letter); })) {
        fail(formatted("has the letter {} behind the arrow, which no tensor has", letter));
      }
    }
    return parts.before + (parts.dots ? unnamed(dotted_) : "") + parts.behind;
  }

  std::string_view text_;
  Where where_;
  std::vector<std::string> written_;
  std::vector<std::string> terms_;
  std::string output_;
  std::size_t dotted_ = 0;
};

}  // namespace

Tensor einsum(std::string_view letters, const std::vector<Tensor>& tensors, Where where) {
  const Letters read(letters, tensors, where);
  return contract("einsum", read.terms(), read.output(), tensors, where);
}

}  // namespace weft
