# `cmake --install`: the program, the library, the public headers, and what find_package(weft) and pkg-config need.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(TARGETS weft_cli RUNTIME)
install(FILES ${PROJECT_SOURCE_DIR}/docs/weft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/cli/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weft)
install(FILES ${PROJECT_SOURCE_DIR}/models/english.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/weft)
install(TARGETS weft EXPORT weftTargets ARCHIVE)
install(TARGETS weft_c EXPORT weftTargets LIBRARY)
add_custom_target(installed DEPENDS weft_cli weft weft_c $<$<TARGET_EXISTS:weft_mpi>:weft_mpi>
                  $<$<TARGET_EXISTS:onnxruntime_providers_weft>:onnxruntime_providers_weft>
                  $<$<BOOL:${WEFT_SYSTEM_LLAMA}>:ggml-weft>)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft ${weft_described}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${weft_described}/description.json DESTINATION ${CMAKE_INSTALL_DATADIR}/weft)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${package_dir})

configure_package_config_file(cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
        DESTINATION ${package_dir})

# The .pc file finds its prefix from where it lies, so that an installed tree can be moved.
file(RELATIVE_PATH WEFT_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/weft.pc.in weft.pc @ONLY)
configure_file(cmake/weft-c.pc.in weft-c.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc ${PROJECT_BINARY_DIR}/weft-c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
