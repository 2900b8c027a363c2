# The Python package: python/sconce in the build folder, from where tests import it. One extension for every CPython, beside
# each other in one folder; all else of the package is the same for all. Wheels are made of it (tools/make_wheels), or by
# `pip install .`, which builds for one interpreter.
#
# Sets python_versions to those that it is built for ("311"), and python_<version> to the interpreters.
set(SCONCE_PYTHONS "" CACHE STRING "Interpreters to build the Python package for; empty: every CPython of the supported versions")
set(supported_pythons 3.11 3.12 3.13)

# sconce_find_python(VARIABLE CANDIDATE...): the first that runs and has its headers, as "path;version;include folder;suffix
# of extensions"; empty when there is none.
function(sconce_find_python variable)
  set(${variable} "" PARENT_SCOPE)
  set(asked "import sys, sysconfig as s; print(sys.executable, '%d%d' % sys.version_info[:2], s.get_path('include'), \
s.get_config_var('EXT_SUFFIX'), s.get_config_var('Py_GIL_DISABLED') or 0, sep=';')")
  foreach(candidate IN LISTS ARGN)
    execute_process(COMMAND "${candidate}" -c "${asked}" OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE status
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT status EQUAL 0)
      continue()
    endif()
    list(POP_BACK found free_threaded)
    list(GET found 2 include)
    if(NOT free_threaded AND EXISTS "${include}/Python.h")
      set(${variable} "${found}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# The interpreter that runs the build comes first: its extension is the target sconce_python.
set(pythons)
set(absent_pythons)
if(SCONCE_PYTHONS)
  foreach(candidate IN LISTS SCONCE_PYTHONS)
    sconce_find_python(found "${candidate}")
    if(NOT found)
      message(FATAL_ERROR "SCONCE_PYTHONS: ${candidate} is no CPython with headers")
    endif()
    list(JOIN found "|" found)
    list(APPEND pythons "${found}")
  endforeach()
else()
  sconce_find_python(found "${Python3_EXECUTABLE}")
  list(JOIN found "|" found)
  list(APPEND pythons ${found})
  if(NOT SCONCE_SANITIZE AND NOT SCONCE_PYTHON_ONLY)
    foreach(version IN LISTS supported_pythons)
      if(version VERSION_EQUAL "${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}")
        continue()
      endif()
      find_program(python_${version}_program python${version})
      mark_as_advanced(python_${version}_program)
      file(GLOB versions "$ENV{HOME}/.pyenv/versions/${version}.*/bin/python${version}"
           "$ENV{HOME}/.local/share/uv/python/cpython-${version}.*/bin/python${version}")
      sconce_find_python(found ${python_${version}_program} ${versions})
      list(JOIN found "|" found)
      list(APPEND pythons ${found})
      if(NOT found)
        list(APPEND absent_pythons ${version})
      endif()
    endforeach()
  endif()
endif()
if(NOT pythons)
  message(STATUS "The Python package is left out: there are no headers of Python (Debian: python3-dev)")
  return()
endif()
foreach(version IN LISTS absent_pythons)
  message(STATUS "Python: there is no CPython ${version} with headers, so the package is not built for it")
endforeach()

set(python_package "${PROJECT_BINARY_DIR}/python/sconce")
file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/*.cpp")
include(cmake/graph_page.cmake)
list(APPEND sources "${PROJECT_SOURCE_DIR}/cli/sconce/graphs/graph_json.cpp" "${PROJECT_SOURCE_DIR}/cli/sconce/graphs/graph_page.cpp"
     ${page_source})
add_custom_target(python_package ALL DEPENDS sconce_cuda ${extension_libraries})
set(python_versions)
set(interpreters)
foreach(python IN LISTS pythons)
  string(REPLACE "|" ";" python "${python}")
  list(GET python 0 python_program)
  list(GET python 1 version)
  list(GET python 2 include)
  list(GET python 3 suffix)
  set(target sconce_python)
  if(python_versions)
    set(target sconce_python_${version})
  endif()
  list(APPEND python_versions ${version})
  set(python_${version} "${python_program}")
  string(APPEND interpreters "${version} ${python_program}\n")
  add_library(${target} MODULE ${sources})
  target_include_directories(${target} SYSTEM PRIVATE "${include}")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/python/src" "${PROJECT_SOURCE_DIR}/cli/sconce")
  target_link_libraries(${target} PRIVATE sconce)
  # Objects of Python are cast to each other; slots that a type lacks stay null.
  target_compile_options(${target} PRIVATE -Wno-missing-field-initializers -Wno-cast-function-type ${SCONCE_NO_COLLECTIONS})
  target_compile_definitions(${target} PRIVATE SCONCE_VERSION="${PROJECT_VERSION}")
  # Most sources hold tensors as objects of Python: 2.3 s a file without this, 1.6 with it, for each of the versions.
  target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/sconce/base/pch.h"
                            "${PROJECT_SOURCE_DIR}/python/src/tensor_object.h")
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME _sconce SUFFIX "${suffix}" INSTALL_RPATH "$ORIGIN"
                        LIBRARY_OUTPUT_DIRECTORY "${python_package}")
  add_dependencies(python_package ${target})
  install(TARGETS ${target} LIBRARY DESTINATION . COMPONENT python${version} EXCLUDE_FROM_ALL)
endforeach()
file(WRITE "${PROJECT_BINARY_DIR}/python/interpreters.txt" "${interpreters}")  # for tools/make_wheels

# Links, so that an edited file is the one that is imported.
file(GLOB_RECURSE modules CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/python/sconce" "${PROJECT_SOURCE_DIR}/python/sconce/*.py"
     "${PROJECT_SOURCE_DIR}/python/sconce/*.pyi" "${PROJECT_SOURCE_DIR}/python/sconce/py.typed")
file(MAKE_DIRECTORY "${python_package}")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/script" "${python_package}/script" SYMBOLIC)
file(GLOB_RECURSE links "${python_package}/*.py")  # of modules that are gone: nothing is behind them
foreach(link IN LISTS links)
  if(IS_SYMLINK "${link}" AND NOT EXISTS "${link}")
    file(REMOVE "${link}")
  endif()
endforeach()
foreach(module ${modules})
  get_filename_component(folder "${python_package}/${module}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/python/sconce/${module}" "${python_package}/${module}" SYMBOLIC)
endforeach()

# Under sanitizers: their runtime has to be in a process from its beginning, and finds the C++ library there whose
# exceptions it watches. Python leaves objects behind when it ends; objects from malloc are watched like all else.
set(python_environment "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
if(SCONCE_SANITIZE)
  set(preloaded stdc++)
  set(preload ${SCONCE_SANITIZER_RUNTIME})  # clang's; g++ is asked for its own
  if(SCONCE_SANITIZE MATCHES "address")
    if(NOT preload)
      list(PREPEND preloaded asan)
    endif()
    list(APPEND python_environment "ASAN_OPTIONS=detect_leaks=0" "PYTHONMALLOC=malloc")
  elseif(SCONCE_SANITIZE MATCHES "thread")
    if(NOT preload)
      list(PREPEND preloaded tsan)
    endif()
    list(APPEND python_environment "TSAN_OPTIONS=die_after_fork=0")  # workers of data loaders are forked, and have threads
  endif()
  foreach(library IN LISTS preloaded)
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=lib${library}.so" OUTPUT_VARIABLE found
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND preload "${found}")
  endforeach()
  list(JOIN preload ":" preload)
  list(APPEND python_environment "LD_PRELOAD=${preload}")
endif()
set(run_python "${CMAKE_COMMAND}" -E env ${python_environment} "${Python3_EXECUTABLE}" -B)

# Types for checkers, and examples for docstrings: from the table and the texts, by the package itself.
set(python_texts)
if("${Python3_VERSION_MAJOR}${Python3_VERSION_MINOR}" IN_LIST python_versions)
  set(python_texts "${python_package}/py.typed" "${python_package}/_examples.txt")
  file(GLOB stub_writers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/python_stubs/*.py")
  list(TRANSFORM modules PREPEND "${PROJECT_SOURCE_DIR}/python/sconce/" OUTPUT_VARIABLE module_files)
  add_custom_command(OUTPUT ${python_texts}
                     COMMAND ${run_python} "${PROJECT_SOURCE_DIR}/cmake/python_stubs" "${python_package}"
                     COMMAND ${run_python} "${PROJECT_SOURCE_DIR}/cmake/python_examples.py" "${python_package}"
                     DEPENDS sconce_python ${module_files} ${script_files} ${op_tables} ${stub_writers}
                             "${PROJECT_SOURCE_DIR}/cmake/python_examples.py"
                     COMMENT "Writing stubs and examples of the Python package" VERBATIM)
  add_custom_target(sconce_python_texts DEPENDS ${python_texts})
  add_dependencies(python_package sconce_python_texts)
endif()

# What a wheel holds beside python/sconce: the extension of one version (component python312), and (component python) the
# library under the one name by which it is found, as wheels have no links, that of CUDA, the bundled libraries of operators, stubs, and
# the texts of the script library.
install(PROGRAMS "$<TARGET_FILE:sconce>" RENAME "$<TARGET_SONAME_FILE_NAME:sconce>" DESTINATION . COMPONENT python EXCLUDE_FROM_ALL)
install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/$<TARGET_SONAME_FILE_NAME:sconce>\"
                              COMMAND_ERROR_IS_FATAL ANY)" COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS sconce_cuda ${extension_libraries} LIBRARY DESTINATION . COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY "${python_package}/" DESTINATION . COMPONENT python EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.pyi"
        PATTERN "py.typed" PATTERN "_examples.txt" PATTERN "script" EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/script" DESTINATION . COMPONENT python EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.py")
