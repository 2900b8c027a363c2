# The web package: the library as one WebAssembly module with its face in JavaScript (web/package), and the page that runs
# models with it (web/page), in <build>/package and <build>/page. sconce-conformance runs under Node.
include(cmake/web_module.cmake)
set(package "${PROJECT_BINARY_DIR}/package")
set(page "${PROJECT_BINARY_DIR}/page")

include(cmake/graph_page.cmake)
set(graph_sources)
foreach(name graph_json graph_page graph_plan graph_watch median_run)
  list(APPEND graph_sources "${PROJECT_SOURCE_DIR}/cli/sconce/graphs/${name}.cpp")
endforeach()
list(APPEND graph_sources "${PROJECT_SOURCE_DIR}/cli/sconce/profiles/instruction_timer.cpp" ${page_source})

add_executable(sconce_web "${PROJECT_SOURCE_DIR}/web/src/graph_page_of.cpp" ${graph_sources})
target_link_libraries(sconce_web PRIVATE sconce_static)
target_compile_definitions(sconce_web PRIVATE SCONCE_BUILDING)
target_compile_options(sconce_web PRIVATE -Os)
target_include_directories(sconce_web PRIVATE "${PROJECT_SOURCE_DIR}/cli/sconce")
web_module(sconce_web sconce "${PROJECT_SOURCE_DIR}/sconce/api/sconce.h" SCONCE_C_API sconce_web_graph_page)

file(GLOB package_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/web/package/*")
list(FILTER package_files EXCLUDE REGEX "/lite[^/]*$")
file(GLOB web_page_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/web/page/*")
web_package(sconce_web sconce "${package}" ${package_files})
web_package(sconce_web sconce "${page}" ${package_files} ${web_page_files})
add_custom_target(web ALL DEPENDS "${package}/sconce.mjs" "${page}/sconce.mjs")

file(GLOB conformance_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cli/sconce-conformance/*.cpp")
add_executable(sconce-conformance EXCLUDE_FROM_ALL ${conformance_sources} "${wasm_missing}"
  "${PROJECT_SOURCE_DIR}/cmake/toolchains/emscripten/main.c")
target_link_libraries(sconce-conformance PRIVATE sconce_testing sconce_static)
target_link_options(sconce-conformance PRIVATE -O1 ${wasm_link_options} -sENVIRONMENT=node -sNODERAWFS=1 -sWASM_ASYNC_COMPILATION=0 -sEXIT_RUNTIME=1)
set_target_properties(sconce-conformance PROPERTIES SUFFIX .js)
