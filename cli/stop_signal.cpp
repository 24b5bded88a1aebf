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
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    sigaction(numbers[i], nullptr, &before_[i]);
    const bool kept_away = numbers[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (!kept_away) sigaction(numbers[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], &before_[i], nullptr);
}

int StopSignal::number() const { return stop; }

const char* StopSignal::name(int number) {
  return number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : "SIGHUP";
}

}  // namespace weft::cli
