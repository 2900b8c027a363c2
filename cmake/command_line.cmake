# The command line: every folder cli/<name> is a program, linked to libsconce.so.
file(GLOB cli_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/cli/*")
foreach(folder IN LISTS cli_folders)
  if(IS_DIRECTORY "${folder}")
    file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS "${folder}/*.cpp")
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
# What takes time when it runs is in the library.
target_compile_options(sconce-program PRIVATE -O1 ${SCONCE_NO_COLLECTIONS})
include(cmake/graph_page.cmake)
target_sources(sconce-program PRIVATE ${page_source})
target_include_directories(sconce-program PRIVATE "${PROJECT_SOURCE_DIR}/cli/sconce")
target_compile_definitions(sconce-program PRIVATE SCONCE_VERSION="${PROJECT_VERSION}")
# Where `sconce bundle` looks for sources and parts, unless it is told.
set_source_files_properties("${PROJECT_SOURCE_DIR}/cli/sconce/commands/bundle_command.cpp" PROPERTIES
  COMPILE_DEFINITIONS "SCONCE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";SCONCE_BUILD_DIR=\"${PROJECT_BINARY_DIR}\"")
