#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "wgsl/expression.hpp"
#include "wgsl/limits.hpp"
#include "wgsl/names.hpp"
#include "wgsl/source.hpp"
#include "wgsl/template.hpp"

namespace weft::wgsl {
namespace {

/// One expansion: walks over the lines of sources and writes text.
class Expander {
 public:
  Expander(std::span<const File> files, const Constants& constants)
      : files_(files), names_(constants) {}

  Result<Expanded> run(std::string_view name) {
    if (Status status = file(name); !status) return std::unexpected(std::move(status.error()));
    return std::move(out_);
  }

 private:
  struct Frame {
    std::string_view file;
    std::uint32_t line = 0;
  };

  /// An error at the current line, with the chain of includes behind.
  std::unexpected<Failure> error(std::string_view message) const {
    if (frames_.empty()) return fail(ErrorCode::shader, "{}", message);
    std::string text = formatted("{}:{}: {}", frames_.back().file, frames_.back().line, message);
    for (std::size_t i = frames_.size() - 1; i-- > 0;) {
      text += formatted("{}included from {}:{}", i + 2 == frames_.size() ? " (" : ", ",
                        frames_[i].file, frames_[i].line);
    }
    if (frames_.size() > 1) text += ')';
    return std::unexpected(Failure{ErrorCode::shader, std::move(text)});
  }

  Evaluator evaluator(const Line& line) { return {line.text, 0, names_, budget_}; }

  Status file(std::string_view name) {
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      if (frames_[i].file == name) return cycle(i);
    }
    if (frames_.size() == Limits::include_depth) {
      return error(formatted("#include is nested more than {} deep", Limits::include_depth));
    }
    auto found = sources_.find(name);
    if (found == sources_.end()) {
      const auto given = std::ranges::find(files_, name, &File::name);
      if (given == files_.end()) return missing(name);
      auto source = scan(*given);
      if (!source) {
        frames_.push_back({given->name, source.error().line});
        return error(source.error().message);
      }
      found = sources_.emplace(given->name, std::move(*source)).first;
    }
    const Source& source = found->second;
    frames_.push_back({source.name, 0});
    Status status = block(source, 0, static_cast<std::uint32_t>(source.lines.size()));
    frames_.pop_back();
    return status;
  }

  Status cycle(std::size_t first) const {
    std::string chain;
    for (std::size_t i = first; i < frames_.size(); ++i) {
      chain += formatted("{} -> ", frames_[i].file);
    }
    return error(formatted("#include goes in a circle: {}{}", chain, frames_[first].file));
  }

  Status missing(std::string_view name) const {
    std::vector<std::string_view> known;
    for (const File& file : files_) known.push_back(file.name);
    return error(formatted("there is no template \"{}\"; known: {}", name, nearest(name, known)));
  }

  /// Expands the lines [begin, end).
  Status block(const Source& source, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t index = begin; index < end; ++index) {
      const Line& line = source.lines[index];
      frames_.back().line = line.number;
      if (!budget_.charge(line.text.size() + 16)) return too_much_work();
      Status status;
      switch (line.kind) {
        case LineKind::text: status = text(line); break;
        case LineKind::include: status = include(line); break;
        case LineKind::let: status = let(line); break;
        case LineKind::error: status = stop(line); break;
        case LineKind::if_: status = branches(source, index); break;
        case LineKind::for_: status = loop(source, index); break;
        default: break;
      }
      if (!status) return status;
    }
    return {};
  }

  Status too_much_work() const {
    return error(
        formatted("the template does too much work (more than {} bytes of lines); is "
                  "the range of a #for too large?",
                  Limits::work_bytes));
  }

  Status text(const Line& line) {
    const std::size_t start = out_.text.size();
    if (line.has_values) {
      if (Status status = substitute(line.text); !status) return status;
    } else {
      out_.text += line.text;
    }
    out_.text += '\n';
    if (Status status = check_size(); !status) return status;
    // A string value may bring line ends of its own; all of its lines come from this one.
    const auto added =
        std::count(out_.text.begin() + static_cast<std::ptrdiff_t>(start), out_.text.end(), '\n');
    out_.origins.insert(out_.origins.end(), static_cast<std::size_t>(added),
                        Origin{std::string(frames_.back().file), line.number});
    return {};
  }

  Status check_size() const {
    if (out_.text.size() <= Limits::output_bytes) return {};
    return error(formatted("the generated text passes {} bytes", Limits::output_bytes));
  }

  Status substitute(std::string_view text) {
    std::size_t position = 0;
    while (true) {
      std::size_t open = text.find("{{", position);
      if (open == std::string_view::npos || text.find("//", position) < open) {
        out_.text += text.substr(position);
        return {};
      }
      // Of three braces the first is text: no expression starts with one.
      while (open + 2 < text.size() && text[open + 2] == '{') ++open;
      out_.text += text.substr(position, open - position);
      Evaluator evaluator(text, open + 2, names_, budget_);
      const Value value = evaluator.expression();
      evaluator.expect("}}");
      if (evaluator.failed()) return error(formatted("in {{{{…}}}}: {}", evaluator.error()));
      out_.text += to_text(value);
      if (Status status = check_size(); !status) return status;
      position = evaluator.position();
    }
  }

  Status include(const Line& line) {
    Evaluator reader = evaluator(line);
    const Value name = reader.expression();
    Constants values;
    const bool scoped = reader.accept_word("with");
    if (scoped) {
      do {
        const std::string key(reader.name("a name after `with`"));
        reader.expect("=");
        const bool added = values.emplace(key, reader.expression()).second;
        if (!added && !reader.failed()) reader.fail(formatted("`{}` is given twice", key));
      } while (!reader.at_end());
    }
    reader.expect_end();
    if (reader.failed()) return error(formatted("in #include: {}", reader.error()));
    const auto* path = std::get_if<std::string>(&name);
    if (path == nullptr) {
      return error(
          formatted("#include needs a file name in quotes, but was given {}", to_text(name)));
    }
    if (!scoped) return file(*path);
    names_.push(std::move(values));
    Status status = file(*path);
    names_.pop();
    return status;
  }

  Status let(const Line& line) {
    Evaluator reader = evaluator(line);
    const std::string_view name = reader.name("a name");
    reader.expect("=");
    Value value = reader.expression();
    reader.expect_end();
    if (reader.failed()) return error(formatted("in #let: {}", reader.error()));
    names_.set(name, std::move(value));
    return {};
  }

  Status stop(const Line& line) {
    Evaluator reader = evaluator(line);
    const Value message = reader.expression();
    reader.expect_end();
    if (reader.failed()) return error(formatted("in #error: {}", reader.error()));
    return error(to_text(message));
  }

  /// Expands the first branch that holds and moves `index` to the #endif.
  Status branches(const Source& source, std::uint32_t& index) {
    Status status;
    bool done = false;
    while (source.lines[index].kind != LineKind::endif) {
      const Line& line = source.lines[index];
      if (!done) {
        frames_.back().line = line.number;
        done = line.kind == LineKind::else_;
        if (!done) {
          Evaluator reader = evaluator(line);
          done = reader.integer("the condition") != 0;
          reader.expect_end();
          if (reader.failed()) {
            const std::string_view word = line.kind == LineKind::if_ ? "if" : "elif";
            return error(formatted("in #{}: {}", word, reader.error()));
          }
        }
        if (done) status = block(source, index + 1, line.next);
        if (!status) return status;
      }
      index = line.next;
    }
    return status;
  }

  /// Repeats the body of a #for and moves `index` to the #endfor.
  Status loop(const Source& source, std::uint32_t& index) {
    const Line& line = source.lines[index];
    Evaluator reader = evaluator(line);
    const std::string_view variable = reader.name("a name");
    if (!reader.accept_word("in")) reader.fail("expected `in` after the variable");
    const std::int64_t first = reader.integer("the first value");
    reader.expect("..");
    const std::int64_t last = reader.integer("the last value");
    reader.expect_end();
    if (reader.failed()) return error(formatted("in #for: {}", reader.error()));

    const Value* outer = names_.find_local(variable);
    const Value before = outer != nullptr ? *outer : Value{};
    for (std::int64_t i = first; i < last; ++i) {
      frames_.back().line = line.number;
      if (!budget_.charge(16)) return too_much_work();
      names_.set(variable, i);
      if (Status status = block(source, index + 1, line.next); !status) return status;
    }
    if (outer != nullptr) {
      names_.set(variable, before);
    } else {
      names_.erase_local(variable);
    }
    index = line.next;
    return {};
  }

  std::span<const File> files_;
  Names names_;
  Budget budget_;
  std::map<std::string_view, Source> sources_;
  std::vector<Frame> frames_;
  Expanded out_;
};

}  // namespace

Result<Expanded> expand(std::span<const File> files, std::string_view name,
                        const Constants& constants) {
  return Expander(files, constants).run(name);
}

}  // namespace weft::wgsl
