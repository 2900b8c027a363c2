# Programs: every folder cli/<name> and every file examples/<name>.cpp is one, linked to libsconce.so. Every folder
# examples/<name> is a library of custom operators, loadable at run time: lib/<name>.so. Every folder extensions/<name> is
# one that belongs to Sconce: lib/sconce_<name>.so.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# The precompiled header that programs share.
file(CONFIGURE OUTPUT program_pch.cpp CONTENT "// Only here so that the precompiled header has a source file.\n")
add_library(sconce_program_pch OBJECT "${CMAKE_CURRENT_BINARY_DIR}/program_pch.cpp")
target_precompile_headers(sconce_program_pch PRIVATE
  "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/sconce/base/pch.h>")
set_target_properties(sconce_program_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(sconce_program_pch PRIVATE -fPIE)  # as for every program: the flags have to be the same
target_link_libraries(sconce_program_pch PRIVATE Threads::Threads)

# sconce_program(NAME SOURCE...): a program in bin/ that finds the library in ../lib, wherever the two are moved.
function(sconce_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE sconce sconce_fmt)
  target_precompile_headers(${name} REUSE_FROM sconce_program_pch)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../lib" INSTALL_RPATH "$ORIGIN/../lib")
endfunction()

file(GLOB cli_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/cli/*")
foreach(folder IN LISTS cli_folders)
  if(IS_DIRECTORY "${folder}")
    file(GLOB cli_sources CONFIGURE_DEPENDS "${folder}/*.cpp")
    list(FILTER cli_sources EXCLUDE REGEX "_test\\.cpp$")
    if(cli_sources)
      get_filename_component(name "${folder}" NAME)
      set(program ${name})
      if(TARGET ${name})  # the library has the name already
        set(program ${name}-program)
      endif()
      sconce_program(${program} ${cli_sources})
      set_target_properties(${program} PROPERTIES OUTPUT_NAME ${name})
      target_link_libraries(${program} PRIVATE sconce_testing)
    endif()
  endif()
endforeach()

# What `sconce run` reads pictures with.
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
target_link_libraries(sconce-program PRIVATE PNG::PNG JPEG::JPEG)
# The page that `sconce ir --html` writes: cli/sconce/html/, embedded as text (see cli/sconce/graph_page.h).
file(GLOB page_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cli/sconce/html/*")
set(page_source "${SCONCE_GENERATED_DIR}/graph_page_text.cpp")
add_custom_command(OUTPUT ${page_source}
                   COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/cmake/embed_page.py"
                           "${PROJECT_SOURCE_DIR}/cli/sconce/html" ${page_source}
                   DEPENDS ${page_files} "${PROJECT_SOURCE_DIR}/cmake/embed_page.py"
                           "${PROJECT_SOURCE_DIR}/cmake/cpp_literal.py"
                   COMMENT "Embedding the page of graphs" VERBATIM)
target_sources(sconce-program PRIVATE ${page_source})
target_include_directories(sconce-program PRIVATE "${PROJECT_SOURCE_DIR}/cli/sconce")
target_compile_definitions(sconce-program PRIVATE SCONCE_VERSION="${PROJECT_VERSION}")

file(GLOB examples CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/examples/*")
foreach(example IN LISTS examples)
  get_filename_component(name "${example}" NAME_WE)
  if(IS_DIRECTORY "${example}")
    file(GLOB example_sources CONFIGURE_DEPENDS "${example}/*.cpp")
    if(example_sources)
      add_library(${name} MODULE ${example_sources})
      target_link_libraries(${name} PRIVATE sconce)
      set_target_properties(${name} PROPERTIES PREFIX "" BUILD_RPATH "$ORIGIN")
      list(APPEND example_libraries ${name})
    endif()
  elseif(example MATCHES "\\.cpp$")
    sconce_program(${name} "${example}")
  endif()
endforeach()

file(GLOB extensions CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/extensions/*")
foreach(extension IN LISTS extensions)
  file(GLOB extension_sources CONFIGURE_DEPENDS "${extension}/*.cpp")
  if(extension_sources)
    get_filename_component(name "${extension}" NAME)
    add_library(sconce_${name} MODULE ${extension_sources})
    target_link_libraries(sconce_${name} PRIVATE sconce)
    set_target_properties(sconce_${name} PROPERTIES PREFIX "" BUILD_RPATH "$ORIGIN")
    list(APPEND extension_libraries sconce_${name})
  endif()
endforeach()
