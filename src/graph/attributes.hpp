#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace weft::graph {

/// What attributes can be: a struct that can be compared, with a text_of() beside it.
template <class A>
concept HasText = std::equality_comparable<A> && requires(const A& a) {
  { text_of(a) } -> std::same_as<std::string>;
};

/// What an operation is told besides its inputs: nothing, or one of the structs in
/// graph/attributes/ and describe/attributes/. Equal attributes and inputs mean equal results.
/// Which structs there are is not known here, so that only the files that use a struct are compiled
/// again when it changes. Copies share what they hold.
class Attributes {
 public:
  Attributes() = default;

  template <class A>
    requires(!std::same_as<A, Attributes>)
  Attributes(A own) {  // NOLINT(google-explicit-constructor): a struct is attributes
    static_assert(HasText<A>,
                  "These attributes have no text: describe the struct in description/graph.toml, "
                  "or declare `std::string text_of(const A&)` beside it and operator== in it.");
    if constexpr (HasText<A>) {
      kind_ = &kind_of<A>;
      held_ = std::make_shared<const A>(std::move(own));
    }
  }

  /// The struct, or null where it is another one.
  template <class A>
  [[nodiscard]] const A* get_if() const {
    return kind_ == &kind_of<A> ? static_cast<const A*>(held_.get()) : nullptr;
  }

  /// Which struct it is: equal for the same ones.
  [[nodiscard]] const void* kind() const { return kind_; }

  bool operator==(const Attributes& other) const {
    if (kind_ != other.kind_) return false;
    return held_ == other.held_ || kind_->equal(held_.get(), other.held_.get());
  }

  /// "gelu", "sum over [2]", "shape [3,4]": for dumps. Unequal attributes may have equal texts.
  [[nodiscard]] std::string text() const {
    return kind_ == nullptr ? "" : kind_->text(held_.get());
  }

 private:
  /// What can be done with a struct, whichever it is.
  struct Kind {
    bool (*equal)(const void* a, const void* b);
    std::string (*text)(const void* a);
  };
  template <class A>
  static constexpr Kind kind_of{
      .equal = [](const void* a,
                  const void* b) { return *static_cast<const A*>(a) == *static_cast<const A*>(b); },
      .text = [](const void* a) -> std::string { return text_of(*static_cast<const A*>(a)); }};

  const Kind* kind_ = nullptr;
  std::shared_ptr<const void> held_;
};

[[noreturn]] void raise_other_attributes();

/// The struct that attributes are known to be. Another one is a fault of the program, and throws
/// std::logic_error.
template <class A>
const A& as(const Attributes& attributes) {
  const A* const own = attributes.get_if<A>();
  if (own == nullptr) raise_other_attributes();
  return *own;
}

}  // namespace weft::graph
