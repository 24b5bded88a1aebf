# Called by embed_wgsl.cmake: DIR, OUTPUT, SHADERS (a list).
set(entries "")
set(count 0)
foreach(shader IN LISTS SHADERS)
  file(RELATIVE_PATH name ${DIR} ${shader})
  file(READ ${shader} body)
  string(APPEND entries "    File{\"${name}\", R\"wgsl(${body})wgsl\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"ops/embedded.hpp\"

#include <array>

namespace weft::ops {
namespace {
using wgsl::File;
constexpr std::array<File, ${count}> files = {
${entries}};
}  // namespace

std::span<const File> embedded_files() { return files; }
}  // namespace weft::ops
")
