# Called by embed_wgsl.cmake: DIR, OUTPUT, SHADERS (a list).
set(text "#include \"ops/embedded.hpp\"\n\nnamespace weft::ops {\nnamespace {\nconstexpr wgsl::File files[] = {\n")
foreach(shader IN LISTS SHADERS)
  file(RELATIVE_PATH name ${DIR} ${shader})
  file(READ ${shader} body)
  string(APPEND text "{\"${name}\", R\"wgsl(${body})wgsl\"},\n")
endforeach()
string(APPEND text "};\n}  // namespace\n\nstd::span<const wgsl::File> embedded_files() { return files; }\n}  // namespace weft::ops\n")
file(WRITE ${OUTPUT} "${text}")
