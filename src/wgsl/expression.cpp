#include "wgsl/expression.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/format.hpp"

namespace weft::wgsl {
namespace {

using Int = std::int64_t;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

Value boolean(bool value) { return Value{Int{value ? 1 : 0}}; }

/// A value as error messages show it.
std::string shown(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? formatted("the string \"{}\"", text->substr(0, 60)) : to_text(value);
}

}  // namespace

std::string to_text(const Value& value) {
  const auto* number = std::get_if<Int>(&value);
  return number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
}

/// Counts recursion, so that a line of a million parentheses is an error and not a stack overflow.
class Evaluator::Nesting {
 public:
  explicit Nesting(Evaluator& owner) : owner_(&owner) {
    if (++owner_->depth_ > Limits::expression_depth) {
      owner_->fail(
          formatted("the expression is nested more than {} deep", Limits::expression_depth));
    }
  }
  ~Nesting() { --owner_->depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Evaluator* owner_;
};

void Evaluator::fail(std::string message) {
  if (!failed_) error_ = std::move(message);
  failed_ = true;
  position_ = text_.size();
}

void Evaluator::skip_spaces() {
  while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) {
    ++position_;
  }
}

bool Evaluator::accept(std::string_view symbol) {
  skip_spaces();
  if (!text_.substr(position_).starts_with(symbol)) return false;
  position_ += symbol.size();
  return true;
}

std::string_view Evaluator::peek_name() {
  skip_spaces();
  if (position_ == text_.size() || !is_name_start(text_[position_])) return {};
  std::size_t end = position_ + 1;
  while (end < text_.size() && is_name_part(text_[end])) ++end;
  return text_.substr(position_, end - position_);
}

bool Evaluator::accept_word(std::string_view word) {
  if (peek_name() != word) return false;
  position_ += word.size();
  return true;
}

std::string Evaluator::found() const {
  const std::string_view rest = text_.substr(position_);
  if (rest.empty() || rest.starts_with("//")) return "the end of the line";
  std::size_t size = 1;
  if (is_name_part(rest[0])) {
    while (size < rest.size() && size < 40 && is_name_part(rest[size])) ++size;
  } else {  // keep a UTF-8 character whole
    while (size < rest.size() && (static_cast<unsigned char>(rest[size]) & 0xc0U) == 0x80U) ++size;
  }
  return formatted("`{}`", rest.substr(0, size));
}

void Evaluator::expect(std::string_view symbol) {
  if (!accept(symbol)) fail(formatted("expected `{}`, found {}", symbol, found()));
}

bool Evaluator::at_end() {
  skip_spaces();
  return position_ == text_.size() || text_.substr(position_).starts_with("//");
}

void Evaluator::expect_end() {
  if (!at_end()) fail(formatted("expected the end of the line, found {}", found()));
}

std::string_view Evaluator::name(std::string_view what) {
  const std::string_view result = peek_name();
  if (result.empty()) fail(formatted("expected {}, found {}", what, found()));
  position_ += result.size();
  return result;
}

Value Evaluator::expression() { return read(&Evaluator::any, true); }

std::int64_t Evaluator::integer(std::string_view what) {
  const Value value = expression();
  const auto* number = std::get_if<Int>(&value);
  if (number != nullptr) return *number;
  fail(formatted("{} must be an integer, but is {}", what, shown(value)));
  return 0;
}

Value Evaluator::read(Level level, bool live) {
  const bool before = std::exchange(live_, live_ && live);
  Value result = (this->*level)();
  live_ = before;
  return result;
}

bool Evaluator::truth(const Value& value, std::string_view operation) {
  if (const auto* number = std::get_if<Int>(&value)) return *number != 0;
  fail(formatted("`{}` needs integers, but was given {}", operation, shown(value)));
  return false;
}

bool Evaluator::integers(const Value& a, const Value& b, std::string_view operation) {
  for (const Value* value : {&a, &b}) {
    if (!std::holds_alternative<Int>(*value)) {
      fail(formatted("`{}` needs integers, but was given {}", operation, shown(*value)));
      return false;
    }
  }
  return true;
}

Value Evaluator::any() {
  const Nesting nesting(*this);
  Value condition = logic_or();
  if (!accept("?")) return condition;
  const bool chosen = truth(condition, "?");
  Value yes = read(&Evaluator::any, chosen);
  expect(":");
  Value no = read(&Evaluator::any, !chosen);
  return chosen ? yes : no;
}

Value Evaluator::logic_or() {
  Value left = logic_and();
  while (accept("||")) {
    const bool known = truth(left, "||");
    const Value right = read(&Evaluator::logic_and, !known);
    left = boolean(known || truth(right, "||"));
  }
  return left;
}

Value Evaluator::logic_and() {
  Value left = equality();
  while (accept("&&")) {
    const bool open = truth(left, "&&");
    const Value right = read(&Evaluator::equality, open);
    left = boolean(open && truth(right, "&&"));
  }
  return left;
}

Value Evaluator::equality() {
  Value left = relation();
  const bool same = accept("==");
  if (!same && !accept("!=")) return left;
  const Value right = relation();
  // A string against an integer is always a mistake in the template, so it is not just "unequal".
  if (live_ && left.index() != right.index()) {
    fail(formatted("`{}` compares {} with {}", same ? "==" : "!=", shown(left), shown(right)));
  }
  return boolean((left == right) == same);
}

Value Evaluator::relation() {
  Value left = sum();
  // No chains: `0 < x < 3` would not mean what it says, so its second `<` is unexpected.
  for (const std::string_view symbol : {"<=", ">=", "<", ">"}) {
    if (!accept(symbol)) continue;
    const Value right = sum();
    if (!live_ || !integers(left, right, symbol)) return boolean(false);
    const Int a = std::get<Int>(left);
    const Int b = std::get<Int>(right);
    const bool less = symbol[0] == '<';
    return boolean((less ? a < b : a > b) || (symbol.size() == 2 && a == b));
  }
  return left;
}

Value Evaluator::sum() {
  Value left = product();
  while (true) {
    if (accept("+")) {
      left = add(left, product());
    } else if (accept("-")) {
      left = arithmetic('-', left, product());
    } else {
      return left;
    }
  }
}

Value Evaluator::product() {
  Value left = unary();
  while (true) {
    if (accept("*")) {
      left = arithmetic('*', left, unary());
    } else if (!at_end() && accept("/")) {
      left = arithmetic('/', left, unary());
    } else if (accept("%")) {
      left = arithmetic('%', left, unary());
    } else {
      return left;
    }
  }
}

Value Evaluator::add(const Value& a, const Value& b) {
  if (!live_) return Int{0};
  if (std::holds_alternative<Int>(a) && std::holds_alternative<Int>(b)) {
    return arithmetic('+', a, b);
  }
  std::string joined = to_text(a) + to_text(b);
  if (joined.size() > Limits::string_bytes) {
    fail(formatted("a string grew to {} bytes; at most {} are allowed", joined.size(),
                   Limits::string_bytes));
    return Int{0};
  }
  if (!budget_->charge(joined.size())) fail("the template joins too many strings");
  return joined;
}

Value Evaluator::arithmetic(char operation, const Value& a, const Value& b) {
  if (!live_ || !integers(a, b, std::string_view(&operation, 1))) return Int{0};
  const Int x = std::get<Int>(a);
  const Int y = std::get<Int>(b);
  Int result = 0;
  bool overflow = false;
  switch (operation) {
    case '+': overflow = __builtin_add_overflow(x, y, &result); break;
    case '-': overflow = __builtin_sub_overflow(x, y, &result); break;
    case '*': overflow = __builtin_mul_overflow(x, y, &result); break;
    default:
      if (y == 0) {
        fail(formatted("division by zero in `{} {} 0`", x, operation));
        return Int{0};
      }
      overflow = y == -1 && x == std::numeric_limits<Int>::min();
      if (!overflow) result = operation == '/' ? x / y : x % y;
  }
  if (overflow) fail(formatted("`{} {} {}` does not fit in 64 bits", x, operation, y));
  return result;
}

Value Evaluator::unary() {
  const Nesting nesting(*this);
  if (accept("!")) {
    const Value operand = unary();
    return boolean(live_ && !truth(operand, "!"));
  }
  if (accept("-")) return arithmetic('-', Int{0}, unary());
  return primary();
}

Value Evaluator::primary() {
  skip_spaces();
  if (position_ < text_.size()) {
    const char c = text_[position_];
    if (is_digit(c)) return number();
    if (c == '"') return string();
    if (is_name_start(c)) return name_or_call();
    if (accept("(")) {
      Value value = any();
      expect(")");
      return value;
    }
  }
  fail(formatted("expected a value, found {}", found()));
  return Int{0};
}

Value Evaluator::number() {
  std::size_t end = position_;
  while (end < text_.size() && is_name_part(text_[end])) ++end;
  const std::string_view word = text_.substr(position_, end - position_);
  const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
  const char* first = word.data() + (hexadecimal ? 2 : 0);
  const char* last = word.data() + word.size();
  Int value = 0;
  const auto [stop, code] = std::from_chars(first, last, value, hexadecimal ? 16 : 10);
  position_ = end;
  if (code == std::errc::result_out_of_range) {
    fail(formatted("the number {} does not fit in 64 bits", word));
  } else if (code != std::errc{} || stop != last) {
    fail(formatted("`{}` is not an integer", word));
  }
  return value;
}

Value Evaluator::string() {
  ++position_;
  std::string result;
  while (position_ < text_.size() && text_[position_] != '"') {
    const char c = text_[position_++];
    if (c == '{' && position_ < text_.size() && text_[position_] == '{') {
      ++position_;
      result = to_text(add(std::move(result), any()));
      expect("}}");
    } else if (c != '\\') {
      result += c;
    } else if (position_ < text_.size()) {
      const char escaped = text_[position_++];
      if (std::string_view("\"\\n{").find(escaped) == std::string_view::npos) {
        fail(formatted("unknown escape `\\{}` in a string", escaped));
      }
      result += escaped == 'n' ? '\n' : escaped;
    }
  }
  if (position_ == text_.size()) {
    fail("a string has no closing quote");
    return Int{0};
  }
  ++position_;
  return live_ ? Value{std::move(result)} : Value{Int{0}};
}

Value Evaluator::name_or_call() {
  const std::string_view word = name("a name");
  if (word == "defined" && accept("(")) {
    const std::string_view asked = name("a name in defined(…)");
    expect(")");
    return boolean(names_->find(asked) != nullptr);
  }
  if ((word == "min" || word == "max") && accept("(")) return least_or_most(word);
  if (!live_) return Int{0};
  const Value* value = names_->find(word);
  if (value == nullptr) {
    fail(formatted("unknown name `{}`; known: {}", word, nearest(word, names_->all())));
    return Int{0};
  }
  const auto* text = std::get_if<std::string>(value);
  if (text != nullptr && !budget_->charge(text->size())) fail("the template uses too much text");
  return *value;
}

Value Evaluator::least_or_most(std::string_view function) {
  Value best = any();
  expect(",");
  do {
    const Value next = any();
    if (!live_ || failed_ || !integers(best, next, function)) continue;
    const Int a = std::get<Int>(best);
    const Int b = std::get<Int>(next);
    best = function == "min" ? std::min(a, b) : std::max(a, b);
  } while (accept(","));
  expect(")");
  return best;
}

}  // namespace weft::wgsl
