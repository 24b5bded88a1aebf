# Called by embed_wgsl.cmake: DIR, OUTPUT, SHADERS (a list), BARE (whether comments and indentation are left out).
set(entries "")
set(count 0)
foreach(shader IN LISTS SHADERS)
  file(RELATIVE_PATH name ${DIR} ${shader})
  file(READ ${shader} body)
  if(BARE)
    string(REGEX REPLACE "[ ]*//[^\n]*" "" body "${body}")
    string(REGEX REPLACE "\n[ ]+" "\n" body "${body}")
  endif()
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
