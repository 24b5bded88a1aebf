// Sums of products by letters of dimensions: each letter is one extent. Tensors are multiplied in
// pairs, and the order of pairs is the one with the fewest multiplications.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "api/arguments.hpp"
#include "api/einsum.hpp"
#include "base/format.hpp"
#include "ops/view.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

/// A tensor and the letters of its dimensions.
struct Term {
  std::string letters;
  Tensor tensor;
};

bool has(std::string_view letters, char letter) { return letters.contains(letter); }

class Contraction {
 public:
  Contraction(std::string_view function, const std::string& output, const Where& where)
      : function_(function), output_(output), where_(where) {}

  Tensor run(std::vector<std::string> terms, std::vector<Tensor> tensors) {
    learn_extents(terms, tensors);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      terms_.push_back(spread({terms[i], tensors[i]}));
    }
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      terms_[i] = sum_out(terms_[i], needed_besides(1ULL << i));
    }
    const Term all = terms_.size() <= 8 ? cheapest() : greedy();
    std::vector<std::uint32_t> order;
    for (const char letter : output_) {
      order.push_back(static_cast<std::uint32_t>(all.letters.find(letter)));
    }
    return reorder(all.tensor, order, where_);
  }

 private:
  void learn_extents(const std::vector<std::string>& terms, const std::vector<Tensor>& tensors) {
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const Shape& shape = tensors[i].shape();
      for (std::size_t k = 0; k < shape.size(); ++k) {
        std::uint64_t& extent = extents_.try_emplace(terms[i][k], shape[k]).first->second;
        if (extent == 1) extent = shape[k];
        if (shape[k] != extent && shape[k] != 1) {
          refuse(function_, where_,
                 formatted("{} needs equal extents along dimensions that go together; tensor {} is "
                           "{}, and its dimension {} should have {}.",
                           function_, i, describe(tensors[i]), k, extent));
        }
      }
    }
  }

  /// Every letter once and with its whole extent.
  Term spread(Term term) const {
    for (std::size_t i = 0; i < term.letters.size(); ++i) {
      const std::size_t again = term.letters.find(term.letters[i], i + 1);
      if (again == std::string::npos) continue;
      const char letter = term.letters[i];
      term.tensor =
          diagonal(In(term.tensor, where_), 0, static_cast<int>(i), static_cast<int>(again));
      term.letters.erase(again, 1);
      term.letters.erase(i, 1);
      term.letters.push_back(letter);
      --i;
    }
    Shape whole;
    for (const char letter : term.letters) whole.push_back(extents_.at(letter));
    term.tensor = term.tensor.broadcast_to(whole, where_);
    return term;
  }

  /// Letters that the output or a term outside of a set of terms has.
  [[nodiscard]] std::string needed_besides(std::uint64_t set) const {
    std::string letters = output_;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if ((set >> i & 1U) == 0) letters += terms_[i].letters;
    }
    return letters;
  }

  [[nodiscard]] Term sum_out(const Term& term, std::string_view needed) const {
    Dims gone;
    std::string left;
    for (std::size_t i = 0; i < term.letters.size(); ++i) {
      if (has(needed, term.letters[i])) {
        left += term.letters[i];
      } else {
        gone.push_back(static_cast<Dims::value_type>(i));
      }
    }
    if (gone.empty()) return term;
    // Sums on the way are kept in f32; those of integers go round the range of their type, as
    // products do.
    const DType type = term.tensor.dtype();
    if (is_float(type)) return {left, sum(In(term.tensor.to(DType::f32, where_), where_), gone)};
    return {left, sum(In(term.tensor, where_), gone).to(type, where_)};
  }

  [[nodiscard]] std::uint64_t extent_of(std::string_view letters) const {
    std::uint64_t product = 1;
    for (const char letter : letters) product *= extents_.at(letter);
    return product;
  }

  [[nodiscard]] Shape shape_of(std::string_view letters) const {
    Shape shape;
    for (const char letter : letters) shape.push_back(extents_.at(letter));
    return shape;
  }

  /// The term with its letters in this order; letters that it does not have get extents of 1.
  [[nodiscard]] Tensor arranged(const Term& term, std::string_view letters) const {
    std::vector<std::uint32_t> order;
    Shape shape;
    for (const char letter : letters) {
      const std::size_t at = term.letters.find(letter);
      if (at != std::string::npos) order.push_back(static_cast<std::uint32_t>(at));
      shape.push_back(at == std::string::npos ? 1 : extents_.at(letter));
    }
    return reorder(term.tensor, order, where_).reshape(shape, where_);
  }

  [[nodiscard]] Term multiply(Term a, Term b, std::string_view needed) const {
    const DType common = promote(a.tensor.dtype(), b.tensor.dtype());
    a.tensor = a.tensor.to(common, where_);
    b.tensor = b.tensor.to(common, where_);
    std::string shared;
    std::string summed;
    std::string rows;
    std::string columns;
    for (const char letter : a.letters) {
      (!has(b.letters, letter) ? rows : has(needed, letter) ? shared : summed) += letter;
    }
    for (const char letter : b.letters) {
      if (!has(a.letters, letter)) columns += letter;
    }
    const std::string kept = shared + rows + columns;
    const std::string all = kept + summed;
    if (std::max(kept.size(), summed.empty() ? all.size() : 0) > ops::max_rank) {
      refuse(function_, where_,
             formatted("{} would need a tensor with {} dimensions; there are at most {}.",
                       function_, kept.size(), ops::max_rank));
    }
    if (summed.empty() || !is_float(a.tensor.dtype())) {
      if (all.size() > ops::max_rank) {
        refuse(function_, where_,
               formatted("{} of {} would need a tensor with {} dimensions; there are at most {}.",
                         function_, name(a.tensor.dtype()), all.size(), ops::max_rank));
      }
      return sum_out({all, arranged(a, all) * In(arranged(b, all), where_)}, needed);
    }
    const std::uint64_t inner = extent_of(summed);
    Shape left{extent_of(rows), inner};
    Shape right{inner, extent_of(columns)};
    if (!shared.empty()) {
      left.insert(left.begin(), extent_of(shared));
      right.insert(right.begin(), extent_of(shared));
    }
    const Tensor x = arranged(a, shared + rows + summed).reshape(left, where_);
    const Tensor y = arranged(b, shared + summed + columns).reshape(right, where_);
    return {kept, matmul(In(x, where_), y).reshape(shape_of(kept), where_)};
  }

  /// Letters of a set of terms once they are one.
  [[nodiscard]] std::string letters_of(std::uint64_t set) const {
    const std::string needed = needed_besides(set);
    std::string letters;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      for (const char letter : terms_[i].letters) {
        if (has(needed, letter) && !has(letters, letter)) letters += letter;
      }
    }
    return letters;
  }

  /// Multiplications for a product of two sets of terms.
  [[nodiscard]] double cost_of(std::uint64_t left, std::uint64_t right) const {
    std::string letters = letters_of(left);
    for (const char letter : letters_of(right)) {
      if (!has(letters, letter)) letters += letter;
    }
    double cost = 1;
    for (const char letter : letters) cost *= static_cast<double>(extents_.at(letter));
    return cost;
  }

  /// The best of all orders: the cost of a set is that of its best division into two.
  [[nodiscard]] Term cheapest() const {
    const std::uint64_t all = (1ULL << terms_.size()) - 1;
    std::vector<double> cost(all + 1, 0);
    std::vector<std::uint64_t> split(all + 1, 0);
    for (std::uint64_t set = 1; set <= all; ++set) {
      if (std::popcount(set) < 2) continue;
      cost[set] = std::numeric_limits<double>::infinity();
      for (std::uint64_t part = (set - 1) & set; part > 0; part = (part - 1) & set) {
        if (part < (set ^ part)) continue;
        const double total = cost[part] + cost[set ^ part] + cost_of(part, set ^ part);
        if (total >= cost[set]) continue;
        cost[set] = total;
        split[set] = part;
      }
    }
    const std::function<Term(std::uint64_t)> made = [&](std::uint64_t set) {
      if (split[set] == 0) return terms_[static_cast<std::size_t>(std::countr_zero(set))];
      return multiply(made(split[set]), made(set ^ split[set]), needed_besides(set));
    };
    return made(all);
  }

  /// For many terms: the cheapest pair, again and again.
  [[nodiscard]] Term greedy() {
    while (terms_.size() > 1) {
      std::size_t first = 0;
      std::size_t second = 1;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < terms_.size(); ++i) {
        for (std::size_t k = i + 1; k < terms_.size(); ++k) {
          const double cost = cost_of(1ULL << i, 1ULL << k);
          if (cost >= least) continue;
          least = cost;
          first = i;
          second = k;
        }
      }
      terms_[first] = multiply(terms_[first], terms_[second],
                               needed_besides((1ULL << first) | (1ULL << second)));
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(second));
    }
    return terms_[0];
  }

  std::string_view function_;
  std::string output_;
  Where where_;
  std::map<char, std::uint64_t> extents_;
  std::vector<Term> terms_;
};

}  // namespace

Tensor contract(std::string_view function, std::vector<std::string> terms,
                const std::string& output, std::vector<Tensor> tensors, const Where& where) {
  if (tensors.size() > 60) {
    refuse(function, where,
           formatted("{} takes at most 60 tensors; {} were given.", function, tensors.size()));
  }
  DType common = DType::boolean;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    need(function, formatted("tensor {}", i), tensors[i], where);
    if (is_quantized(tensors[i].dtype())) {
      refuse(function, where,
             formatted("{} takes no quantized tensors; tensor {} is {}. matmul and linear do.",
                       function, i, describe(tensors[i])));
    }
    common = i == 0 ? tensors[0].dtype() : promote(common, tensors[i].dtype());
  }
  for (Tensor& tensor : tensors) tensor = tensor.to(common, where);
  return Contraction(function, output, where)
      .run(std::move(terms), std::move(tensors))
      .to(common, where);
}

}  // namespace weft
