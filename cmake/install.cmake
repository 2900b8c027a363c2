# `cmake --install <build> --prefix DIR`: the libraries, the headers that programs include, bin/sconce with its manual page
# and completion for shells, the bundled libraries of operators, the licence, and what find_package(Sconce) and
# pkg-config read.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(RELATIVE_PATH library_from_bin "/prefix/${CMAKE_INSTALL_BINDIR}" "/prefix/${CMAKE_INSTALL_LIBDIR}")
set_target_properties(sconce-program PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_bin}")
install(TARGETS sconce sconce_cuda LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS sconce-program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
if(TARGET sconce-server)
  set_target_properties(sconce-server PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_bin}")
  install(TARGETS sconce-server RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
foreach(extension IN LISTS extension_libraries)
  install(TARGETS ${extension} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()

# Headers: what these include, and no others.
set(public_headers sconce/sconce.hpp sconce/api/jit.h sconce/api/autograd.h sconce/api/optim.h sconce/api/sconce.h sconce/ops.h
    sconce/dispatch/library.h sconce/dispatch/registry.h sconce/serialization/tensors/tensor_files.h sconce/runtime/interpreter.h sconce/tensor/generator.h sconce/base/parallel.h)
install(CODE "
  execute_process(COMMAND \"${Python3_EXECUTABLE}\" -B \"${PROJECT_SOURCE_DIR}/cmake/install_headers.py\"
                          \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\"
                          \"${PROJECT_SOURCE_DIR}\" \"${SCONCE_GENERATED_DIR}\" -- ${public_headers}
                  COMMAND_ERROR_IS_FATAL ANY)")

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Sconce")
configure_package_config_file(cmake/SconceConfig.cmake.in "${PROJECT_BINARY_DIR}/SconceConfig.cmake"
  INSTALL_DESTINATION "${package_folder}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/SconceConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/SconceConfig.cmake" "${PROJECT_BINARY_DIR}/SconceConfigVersion.cmake"
        DESTINATION "${package_folder}")

file(RELATIVE_PATH prefix_from_pc "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file(cmake/sconce.pc.in "${PROJECT_BINARY_DIR}/sconce.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sconce.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# What the program says about itself: sconce(1), and completion where shells look for it.
set(shares "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}")
set(completions bash bash-completion/completions/sconce zsh zsh/site-functions/_sconce fish
    fish/vendor_completions.d/sconce.fish)
install(CODE "
  set(man \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")
  file(MAKE_DIRECTORY \"\${man}\")
  execute_process(COMMAND \"${Python3_EXECUTABLE}\" -B \"${PROJECT_SOURCE_DIR}/cmake/man_page.py\"
                          \"$<TARGET_FILE:sconce-program>\" \"\${man}/sconce.1\"
                  COMMAND_ERROR_IS_FATAL ANY)
  set(completions ${completions})
  while(completions)
    list(POP_FRONT completions shell file)
    get_filename_component(folder \"${shares}/\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:sconce-program>\" completion \${shell} OUTPUT_FILE \"${shares}/\${file}\"
                    COMMAND_ERROR_IS_FATAL ANY)
  endwhile()")
