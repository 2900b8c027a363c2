# The small library as a WebAssembly module, in a package for JavaScript: <build>/package. Included by small.cmake.
include(cmake/web_module.cmake)
file(STRINGS "${selection}" other_levels REGEX "^level v[^2]")
if(other_levels)
  message(FATAL_ERROR "${selection} selects a vector level that WebAssembly has not: `sconce select --levels v2` writes one for it")
endif()
find_package(ZLIB REQUIRED)
add_executable(sconce_lite_selected ${selected_sources})
set_target_properties(sconce_lite_selected PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(sconce_lite_selected PRIVATE "${PROJECT_SOURCE_DIR}" "${SCONCE_GENERATED_DIR}")
target_compile_definitions(sconce_lite_selected PRIVATE SCONCE_BUILDING SCONCE_SMALL)
target_compile_options(sconce_lite_selected PRIVATE -Os)
target_link_libraries(sconce_lite_selected PRIVATE -Wl,--whole-archive "${parts_archive}" -Wl,--no-whole-archive ${level_archives}
  ZLIB::ZLIB)
web_module(sconce_lite_selected sconce_lite "${PROJECT_SOURCE_DIR}/sconce/lite/sconce_lite.h" SCONCE_LITE_API)
set_property(TARGET sconce_lite_selected APPEND PROPERTY LINK_DEPENDS "${parts_archive};${level_archives}")
set(lite_files)
foreach(name lite.js lite.d.ts tensor.js tensor.d.ts)
  list(APPEND lite_files "${PROJECT_SOURCE_DIR}/web/package/${name}")
endforeach()
file(CONFIGURE OUTPUT package.json CONTENT [[{
  "name": "sconce-lite",
  "version": "@PROJECT_VERSION@",
  "description": "Runs one PyTorch model (.ptl, .scx) in Node and in browsers, with the operators that it needs",
  "license": "Apache-2.0",
  "type": "module",
  "exports": { ".": { "types": "./lite.d.ts", "default": "./lite.js" } }
}
]] @ONLY)
web_package(sconce_lite_selected sconce_lite "${PROJECT_BINARY_DIR}/package" ${lite_files} "${CMAKE_CURRENT_BINARY_DIR}/package.json")
add_custom_target(lite_package ALL DEPENDS "${PROJECT_BINARY_DIR}/package/sconce_lite.mjs")
