#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>

#include "base/error.hpp"

namespace weft::cli {

/// An error that ends the command; main() prints it and exits with 1.
class CommandError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The value of a result, or a CommandError with its message.
template <class T>
T value_or_exit(Result<T> result) {
  if (!result) throw CommandError(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// Each adds one subcommand with its options and what it does.
void add_bench(CLI::App& app);
void add_docs(CLI::App& app);
void add_info(CLI::App& app);
void add_train(CLI::App& app);
void add_tune(CLI::App& app);
void add_run(CLI::App& app);
void add_train_bench(CLI::App& app);

}  // namespace weft::cli
