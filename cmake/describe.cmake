# Runs tools/describe over description/*.toml: headers, the C door, the elementwise functions and the JSON for bindings.
#   weft_described       the folder that they are written to; its include/ belongs to the public headers
#   weft_described_graph, weft_described_api  sources of these layers
#   weft_described_capi  sources of libweft.so
#   weft_description     for layers that include the headers
set(weft_described ${PROJECT_BINARY_DIR}/generated)
file(GLOB descriptions CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/description/*.toml)
file(GLOB describe_tools CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/describe/*.py)
set(weft_described_api ${weft_described}/api/elementwise.cpp ${weft_described}/api/nodes.cpp)
set(weft_described_graph ${weft_described}/graph/kinds.cpp ${weft_described}/graph/attributes.cpp)
set(weft_described_capi)
foreach(description IN LISTS descriptions)
  get_filename_component(group ${description} NAME_WE)
  list(APPEND weft_described_capi ${weft_described}/capi/ops_${group}.cpp)
endforeach()
# Named, so that whoever includes one is compiled after it was written.
set(described_headers
  ${weft_described}/describe/file_types.hpp
  ${weft_described}/describe/kinds.hpp
  ${weft_described}/describe/table.hpp
  ${weft_described}/include/weft/c/dtype.h
  ${weft_described}/include/weft/c/ops.h
  ${weft_described}/include/weft/elementwise.hpp
  ${weft_described}/include/weft/nodes.hpp
  ${weft_described}/include/weft/options.hpp)
# A header for each struct of attributes, named as attributes_path() of tools/describe/graph_side.py does.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${descriptions})
foreach(description IN LISTS descriptions)
  file(STRINGS ${description} rows REGEX "^\\[attributes\\.[A-Za-z]+\\]$")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "^\\[attributes\\.([A-Za-z]+)\\]$" "\\1" name "${row}")
    string(REGEX REPLACE "([a-z])([A-Z])" "\\1_\\2" name "${name}")
    string(TOLOWER "${name}" name)
    list(APPEND described_headers ${weft_described}/describe/attributes/${name}.hpp)
  endforeach()
endforeach()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
# Only a stamp is an output: a header that did not change keeps its time, and nothing is compiled for it again.
add_custom_command(
  OUTPUT ${weft_described}/described
  BYPRODUCTS ${described_headers} ${weft_described_graph} ${weft_described_api} ${weft_described_capi} ${weft_described}/description.json
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/describe ${weft_described}
  COMMAND ${CMAKE_COMMAND} -E touch ${weft_described}/described
  DEPENDS ${descriptions} ${describe_tools}
  COMMENT "Writing what the description says"
  VERBATIM)
add_custom_target(weft_describe DEPENDS ${weft_described}/described)
add_library(weft_description INTERFACE)
target_include_directories(weft_description INTERFACE ${weft_described}/include ${weft_described})
add_dependencies(weft_description weft_describe)
