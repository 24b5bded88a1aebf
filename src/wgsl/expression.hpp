#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "wgsl/limits.hpp"
#include "wgsl/names.hpp"
#include "wgsl/template.hpp"

namespace weft::wgsl {

/// The text that `{{…}}` writes for a value.
std::string to_text(const Value& value);

/// Reads a line from left to right and evaluates expressions on the way, without a syntax tree:
/// lines are short, and most are read once. The first error is kept and moves the position to the
/// end, so that callers read on without checks and ask `failed()` once.
class Evaluator {
 public:
  /// Starts reading `text` at `position`.
  Evaluator(std::string_view text, std::size_t position, const Names& names, Budget& budget)
      : text_(text), position_(position), names_(&names), budget_(&budget) {}

  /// Reads and evaluates an expression.
  Value expression();

  /// Reads an expression that must be an integer; `what` names it in the error.
  std::int64_t integer(std::string_view what);

  /// Reads a name; `what` says in the error what it is for.
  std::string_view name(std::string_view what);

  /// Skips spaces, then reads `symbol` if it comes next.
  bool accept(std::string_view symbol);

  /// Reads `word` if it comes next as a whole word.
  bool accept_word(std::string_view word);

  /// Reads `symbol` or fails.
  void expect(std::string_view symbol);

  /// Skips spaces; true at the end of the line or at a `//` comment.
  bool at_end();

  /// Fails unless at_end().
  void expect_end();

  /// Keeps the first error and stops reading.
  void fail(std::string message);

  /// Where reading stands.
  std::size_t position() const { return position_; }

  /// True after an error.
  bool failed() const { return failed_; }

  /// The first error, without a position.
  const std::string& error() const { return error_; }

 private:
  class Nesting;
  using Level = Value (Evaluator::*)();

  Value any();
  Value logic_or();
  Value logic_and();
  Value equality();
  Value relation();
  Value sum();
  Value product();
  Value unary();
  Value primary();
  Value number();
  Value string();
  Value name_or_call();
  Value least_or_most(std::string_view function);

  /// Reads one level of the grammar; with `live` false only its syntax is checked.
  Value read(Level level, bool live);
  bool truth(const Value& value, std::string_view operation);
  bool integers(const Value& a, const Value& b, std::string_view operation);
  Value arithmetic(char operation, const Value& a, const Value& b);
  Value add(const Value& a, const Value& b);
  void skip_spaces();
  std::string_view peek_name();
  std::string found() const;

  std::string_view text_;
  std::size_t position_;
  const Names* names_;
  Budget* budget_;
  std::size_t depth_ = 0;
  bool live_ = true;
  bool failed_ = false;
  std::string error_;
};

}  // namespace weft::wgsl
