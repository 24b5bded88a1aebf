#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "files.hpp"
#include "onnx.hpp"
#include "soak.hpp"
#include "standard_files.hpp"

namespace {

/// The exit status of a command line that was not understood, as of other programs.
constexpr int usage_error = 2;

int run(int argc, char** argv) {
  CLI::App app("Weft: one tensor engine for every GPU that WebGPU reaches", "weft");
  app.require_subcommand(1);
  weft::cli::add_info(app);
  weft::cli::add_bench(app);
  weft::cli::add_tune(app);
  weft::cli::add_docs(app);
  weft::cli::add_train(app);
  weft::cli::add_train_bench(app);
  weft::cli::add_onnx(app);
  weft::cli::add_soak(app);
#ifdef WEFT_WITH_LLAMA
  weft::cli::add_run(app);
#endif
  try {
    app.parse(argc, argv);
    weft::cli::finish_output();
    return 0;
  } catch (const CLI::RequiredError& error) {
    if (!app.get_subcommands().empty() || app.remaining().empty()) {
      app.exit(error);
      return usage_error;
    }
    std::fprintf(stderr, "weft: there is no command \"%s\"; `weft --help` lists them\n",
                 app.remaining().front().c_str());
    return usage_error;
  } catch (const CLI::RuntimeError& error) {  // a command that ends with a status of its own
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage_error;  // 0: help was asked for
  }
}

/// A mapped file (a model, a text) that another process cuts off while it is read is a signal,
/// wherever it is read. Only functions that signals may call.
void end_without_the_file(int /*signal*/) {
  constexpr std::string_view text =
      "weft: a part of a file that is mapped is gone: the file was cut off while it was read, or "
      "there is no room left for files in memory\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    weft::cli::keep_standard_files();
    std::signal(
        SIGXFSZ,
        SIG_IGN);  // NOLINT(cert-err33-c): a file that gets too large is an error like a full disk
    std::signal(SIGBUS, end_without_the_file);  // NOLINT(cert-err33-c)
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("weft: this machine has not enough memory for that\n", stderr);
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft: %s\n", weft::cli::shown(error.what()).c_str());
    return 1;
  } catch (...) {
    std::fputs("weft: an error without a description ended the program\n", stderr);
    return 1;
  }
}
