#include <cstdio>
#include <exception>

#include "commands.hpp"

int main(int argc, char** argv) {
  CLI::App app("Weft: one tensor engine for every GPU that WebGPU reaches", "weft");
  app.require_subcommand(1);
  weft::cli::add_info(app);
  weft::cli::add_bench(app);
  weft::cli::add_docs(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft: %s\n", error.what());
    return 1;
  }
}
