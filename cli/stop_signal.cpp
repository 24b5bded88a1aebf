#include "stop_signal.hpp"

namespace weft::cli {
namespace {

volatile std::sig_atomic_t stop = 0;  // A signal handler reaches nothing but globals.

}  // namespace

StopSignal::StopSignal() {
  stop = 0;
  struct sigaction action{};
  action.sa_handler = [](int signal) { stop = signal; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
}

int StopSignal::number() const { return stop; }

}  // namespace weft::cli
