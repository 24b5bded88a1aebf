#pragma once

#include <string>
#include <utility>

namespace weft::onnx {

/// Under which name a function of a model is kept: several may have one name, and then they differ
/// by an overload.
inline std::pair<std::string, std::string> function_key(const std::string& domain,
                                                        const std::string& name,
                                                        const std::string& overload) {
  return {domain, overload.empty() ? name : name + '\0' + overload};
}

}  // namespace weft::onnx
