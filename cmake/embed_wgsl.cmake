# Turns every .wgsl file below DIR into one generated C++ file that defines
#   namespace weft::ops { std::span<const wgsl::File> embedded_files(); }
# so that programs need no shader files at run time. For pages, where every byte is fetched, comments, indentation and most spaces
# are left out, and shaders that look alike lie next to each other.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(weft_embed_wgsl target dir)
  file(GLOB_RECURSE shaders CONFIGURE_DEPENDS ${dir}/*.wgsl)
  set(output ${PROJECT_BINARY_DIR}/generated/embedded_wgsl.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/write_embedded_wgsl.py $<$<BOOL:${EMSCRIPTEN}>:--bare> ${dir} ${output} ${shaders}
    DEPENDS ${shaders} ${PROJECT_SOURCE_DIR}/cmake/write_embedded_wgsl.py
    COMMENT "Embedding WGSL sources"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${target}_generated DEPENDS ${output})
  target_sources(${target} PRIVATE ${output})
endfunction()
