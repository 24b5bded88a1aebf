# The build for browsers and Node (preset "web"): emscripten, and src/web in the place of Dawn. env/web installs what it
# needs. One thread; calls that wait for the GPU suspend the program (JSPI), so there is no Asyncify build.
if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 21)
  message(FATAL_ERROR "The browser build needs emscripten with clang 21 or later; this is ${CMAKE_CXX_COMPILER_VERSION}.")
endif()

# Headers of Debian packages that are the same for every target, without the rest of /usr/include.
set(shared_headers ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${shared_headers})
foreach(header dawn webgpu nlohmann xxhash.h)
  file(CREATE_LINK /usr/include/${header} ${shared_headers}/${header} SYMBOLIC)
endforeach()

add_compile_options(-fwasm-exceptions -msimd128)
add_link_options(-fwasm-exceptions -msimd128 -sJSPI -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB -sSTACK_SIZE=1MB
  -sEXPORT_ES6 -sMODULARIZE -sENVIRONMENT=web,worker,node "SHELL:--js-library ${PROJECT_SOURCE_DIR}/src/web/library.js")

add_library(nlohmann_json INTERFACE)
add_library(nlohmann_json::nlohmann_json ALIAS nlohmann_json)
target_include_directories(nlohmann_json SYSTEM INTERFACE ${shared_headers})

add_library(weft_webgpu INTERFACE)
target_include_directories(weft_webgpu SYSTEM INTERFACE ${PROJECT_SOURCE_DIR}/src/web/include ${shared_headers})
