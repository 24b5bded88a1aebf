# Turns every .wgsl file below DIR into one generated C++ file that defines
#   namespace weft::ops { std::span<const wgsl::File> embedded_files(); }
# so that programs need no shader files at run time. For pages, where every byte is fetched, comments and indentation are left
# out; lines stay where they are, for messages.
function(weft_embed_wgsl target dir)
  file(GLOB_RECURSE shaders CONFIGURE_DEPENDS ${dir}/*.wgsl)
  set(output ${PROJECT_BINARY_DIR}/generated/embedded_wgsl.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DDIR=${dir} -DOUTPUT=${output} "-DSHADERS=${shaders}"
            -DBARE=${EMSCRIPTEN} -P ${PROJECT_SOURCE_DIR}/cmake/write_embedded_wgsl.cmake
    DEPENDS ${shaders} ${PROJECT_SOURCE_DIR}/cmake/write_embedded_wgsl.cmake
    COMMENT "Embedding WGSL sources"
    VERBATIM)
  add_custom_target(${target}_generated DEPENDS ${output})
  target_sources(${target} PRIVATE ${output})
endfunction()
