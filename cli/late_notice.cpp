#include "late_notice.hpp"

#include <cstdio>
#include <utility>

namespace weft::cli {

LateNotice::LateNotice(std::string text, std::chrono::milliseconds after)
    : thread_([this, text = std::move(text), after](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        wake_.wait_for(lock, stop, after, [] { return false; });
        if (!stop.stop_requested()) std::fprintf(stderr, "weft: %s …\n", text.c_str());
      }) {}

}  // namespace weft::cli
