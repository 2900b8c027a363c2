# A WebAssembly module with Emscripten's script beside it, as packages for JavaScript have them.
include_guard(GLOBAL)
set(wasm_link_options -fwasm-exceptions -msimd128 -sWASM_BIGINT=1 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sTOTAL_STACK=8MB)

set(wasm_missing "${PROJECT_SOURCE_DIR}/cmake/toolchains/emscripten/missing_libc.c")

# web_module(TARGET NAME HEADER PREFIX FUNCTION...): links the executable TARGET as bin/NAME.js and NAME.wasm, which export the
# functions that HEADER declares with the macro PREFIX, and these. `web,worker`: under Node, too, the package brings the
# module's bytes, so that one script serves all.
function(web_module target name header prefix)
  file(STRINGS "${header}" declared REGEX "^${prefix}")
  set(exported "_malloc\n_free\n")
  foreach(line IN LISTS declared)
    if(line MATCHES "(sconce_[a-z0-9_]+)\\(")
      string(APPEND exported "_${CMAKE_MATCH_1}\n")
    endif()
  endforeach()
  foreach(function IN LISTS ARGN)
    string(APPEND exported "_${function}\n")
  endforeach()
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${name}_exported.txt")
  file(CONFIGURE OUTPUT "${list}" CONTENT "${exported}")
  target_sources(${target} PRIVATE "${wasm_missing}")
  target_link_options(${target} PRIVATE -O2 ${wasm_link_options} -sMODULARIZE=1 -sEXPORT_NAME=createModule
    -sENVIRONMENT=web,worker --no-entry "-sEXPORTED_FUNCTIONS=@${list}")
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} SUFFIX .js LINK_DEPENDS "${list}")
endfunction()

# web_package(TARGET NAME FOLDER FILE...): FOLDER gets the module, as NAME.mjs and NAME.wasm, and the files.
function(web_package target name folder)
  file(CONFIGURE OUTPUT export_default.js CONTENT "export default createModule;\n")
  set(made "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}")
  add_custom_command(OUTPUT "${folder}/${name}.mjs"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
    COMMAND "${CMAKE_COMMAND}" -E cat "${made}.js" "${CMAKE_CURRENT_BINARY_DIR}/export_default.js" > "${folder}/${name}.mjs"
    COMMAND "${CMAKE_COMMAND}" -E copy "${made}.wasm" ${ARGN} "${folder}"
    DEPENDS ${target} ${ARGN} VERBATIM)
endfunction()
