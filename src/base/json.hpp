#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// JSON texts (RFC 8259) without a document in memory: what a file's header and a trace need.

namespace weft::json {

/// A text as JSON has it, in quotes; bytes that are not UTF-8 become question marks.
std::string quoted(std::string_view text);

/// Goes through a JSON text once: each call takes what comes next. Where one fails the rest is
/// lost, unless it says otherwise.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  /// The character that the next value begins with; 0 at the end.
  char next();
  /// Takes whatever comes next. False where that is not JSON, where an object names a key twice
  /// (parsers differ in which one they take), or where more than 64 values lie in each other.
  bool skip();
  /// Takes a text; nothing where something else comes next.
  std::optional<std::string> text();
  /// Takes a whole number without a sign, of up to 64 bits; leaves everything where it is, and
  /// gives nothing, where something else comes next.
  std::optional<std::uint64_t> number();
  /// Takes an object: `member` is called with each name and takes the value. False where it says
  /// so.
  template <class Member>
  bool object(const Member& member) {
    return list('{', '}', [&] {
      const std::optional<std::string> name = text();
      return name && take(':') && member(*name);
    });
  }
  /// Takes an array: `element` takes each of its values. False where it says so.
  template <class Element>
  bool array(const Element& element) {
    return list('[', ']', element);
  }

  /// The key that skip() has met twice; empty where that was not the reason.
  [[nodiscard]] const std::string& twice() const { return twice_; }

 private:
  template <class One>
  bool list(char open, char close, const One& one) {
    if (!take(open)) return false;
    if (take(close)) return true;
    do {
      if (!one()) return false;
    } while (take(','));
    return take(close);
  }
  bool take(char c);
  bool take_word(std::string_view word);
  bool take_digits();
  bool take_number();
  bool take_escape(std::string& to);
  std::optional<std::uint32_t> take_unit();

  std::string_view rest_;
  std::string twice_;
  int depth_ = 0;
};

}  // namespace weft::json
