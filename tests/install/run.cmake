# Installs a build into a folder of its own, then builds and runs programs that know that folder only.
# cmake -DBUILD= -DC_COMPILER= -DCXX_COMPILER= -DMODEL= -DSANITIZE= -DLINK_OPTIONS= -P run.cmake
cmake_minimum_required(VERSION 3.25)
set(work "${BUILD}/install-test")
set(prefix "${work}/prefix")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")

function(run)
  cmake_parse_arguments(PARSE_ARGV 0 run "" "EXPECT" "COMMAND")
  execute_process(COMMAND ${run_COMMAND} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(NOT result EQUAL 0 OR (run_EXPECT AND NOT output MATCHES "${run_EXPECT}"))
    list(JOIN run_COMMAND " " command)
    message(FATAL_ERROR "${command}\nends with ${result}, expected '${run_EXPECT}':\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(flags)
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
separate_arguments(link_options UNIX_COMMAND "${LINK_OPTIONS}")
run(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")
run(COMMAND "${prefix}/bin/sconce" --version EXPECT "sconce")
foreach(file doc/sconce/LICENSE man/man1/sconce.1 bash-completion/completions/sconce zsh/site-functions/_sconce
        fish/vendor_completions.d/sconce.fish)
  file(GLOB found "${prefix}/share/${file}")
  if(NOT found)
    message(FATAL_ERROR "share/${file} was not installed")
  endif()
endforeach()
file(STRINGS "${prefix}/share/man/man1/sconce.1" sections REGEX "^\\.SH SCONCE RUN")
if(NOT sections)
  message(FATAL_ERROR "sconce(1) says nothing of sconce run")
endif()

# find_package, from a project in C and C++.
run(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}/build" -G Ninja "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_C_FLAGS=${flags}"
    "-DCMAKE_CXX_FLAGS=${flags}" "-DCMAKE_EXE_LINKER_FLAGS=${flags} ${LINK_OPTIONS}")
run(COMMAND "${CMAKE_COMMAND}" --build "${work}/build")
run(COMMAND "${work}/build/from_c" "${MODEL}" EXPECT "forward\\(Tensor input\\) -> Tensor")
run(COMMAND "${work}/build/from_cpp" "${MODEL}" EXPECT "2 rows, sum of inputs 28")

# pkg-config, without CMake. (Looked for now: it may have been installed after the build was configured.)
find_program(PKG_CONFIG pkg-config)
if(NOT PKG_CONFIG)
  message(FATAL_ERROR "pkg-config is not there (tools/packages.txt names its package)")
endif()
set(ENV{PKG_CONFIG_PATH} "${prefix}/lib/pkgconfig")
file(GLOB_RECURSE pc "${prefix}/sconce.pc" "${prefix}/*/sconce.pc")
get_filename_component(pc_folder "${pc}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} "${pc_folder}")
run(COMMAND "${PKG_CONFIG}" --cflags --libs sconce)
separate_arguments(words UNIX_COMMAND "${output}")
get_filename_component(library_folder "${pc_folder}" DIRECTORY)
run(COMMAND "${C_COMPILER}" -std=c99 -pedantic -Wall -Werror ${flags} ${link_options} "${CMAKE_CURRENT_LIST_DIR}/from_c.c" -o
    "${work}/from_pkg_config" ${words} "-Wl,-rpath,${library_folder}")
run(COMMAND "${work}/from_pkg_config" "${MODEL}" EXPECT "forward\\(Tensor input\\) -> Tensor")

# Headers give no warnings to programs that ask for many.
run(COMMAND "${PKG_CONFIG}" --cflags sconce)
separate_arguments(words UNIX_COMMAND "${output}")
run(COMMAND "${CXX_COMPILER}" -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror
    "${CMAKE_CURRENT_LIST_DIR}/from_cpp.cpp" ${words})
