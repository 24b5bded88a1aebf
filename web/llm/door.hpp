#pragma once

#include <exception>
#include <new>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "weft/error.hpp"

// What the calls of JavaScript have in common: text in, text out. Requests and answers are JSON,
// because what a call computes dwarfs them. An answer is an object; one with a member "error" says
// what went wrong.

namespace weft::web {

using nlohmann::json;

/// An answer as text, valid until the next one.
const char* answered(const json& answer);

inline const char* failed(const Failure& failure) {
  return answered({{"error", failure.message}, {"code", name(failure.code)}});
}

/// Runs a call; exceptions become answers.
template <class Work>
const char* guarded(Work work) {
  try {
    return work();
  } catch (const Error& error) {
    return failed({error.code(), error.what()});
  } catch (const json::exception& error) {
    return failed({ErrorCode::invalid_argument, error.what()});
  } catch (const std::bad_alloc&) {
    return failed({ErrorCode::out_of_memory, "WebAssembly's memory has no more room."});
  } catch (const std::exception& error) {
    return failed({ErrorCode::internal, error.what()});
  }
}

/// Takes a member where it is there.
template <class T>
void take(const json& from, const char* name, T& to) {
  if (const auto found = from.find(name); found != from.end() && !found->is_null()) {
    found->get_to(to);
  }
}

}  // namespace weft::web
