#include "stop_signal.hpp"

namespace weft::cli {
namespace {

volatile std::sig_atomic_t stop = 0;  // A signal handler reaches nothing but globals.

}  // namespace

StopSignal::StopSignal() {
  stop = 0;
  struct sigaction action{};
  action.sa_handler = [](int signal) {
    if (stop == 0) stop = signal;
  };
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    // The last two come again with everything that is printed, and with every second.
    const bool by_somebody = numbers[i] != SIGPIPE && numbers[i] != SIGXCPU;
    action.sa_flags = by_somebody ? static_cast<int>(SA_RESETHAND | SA_RESTART) : SA_RESTART;
    sigaction(numbers[i], nullptr, &before_[i]);
    const bool kept_away =
        (numbers[i] == SIGHUP || numbers[i] == SIGPIPE) && before_[i].sa_handler == SIG_IGN;
    if (!kept_away) sigaction(numbers[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], &before_[i], nullptr);
}

int StopSignal::number() const { return stop; }

const char* StopSignal::name(int number) {
  switch (number) {
    case SIGINT: return "SIGINT";
    case SIGTERM: return "SIGTERM";
    case SIGHUP: return "SIGHUP";
    case SIGXCPU: return "SIGXCPU";
    default: return "SIGPIPE";
  }
}

}  // namespace weft::cli
