# The Python package: python/sconce in the build folder, from where tests import it. Needs the headers of Python.
find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)
if(NOT Python3_Development.Module_FOUND)
  message(STATUS "The Python package is left out: there are no headers of Python (Debian: python3-dev)")
  return()
endif()

set(python_package "${PROJECT_BINARY_DIR}/python/sconce")
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/*.cpp")
Python3_add_library(sconce_python MODULE WITH_SOABI ${sources})
target_link_libraries(sconce_python PRIVATE sconce)
# Objects of Python are cast to each other; slots that a type lacks stay null.
target_compile_options(sconce_python PRIVATE -Wno-missing-field-initializers -Wno-cast-function-type)
set_target_properties(sconce_python PROPERTIES OUTPUT_NAME _sconce LIBRARY_OUTPUT_DIRECTORY "${python_package}")

# Links, so that an edited file is the one that is imported.
file(GLOB_RECURSE modules CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/python/sconce" "${PROJECT_SOURCE_DIR}/python/sconce/*.py")
file(MAKE_DIRECTORY "${python_package}")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/script" "${python_package}/script" SYMBOLIC)
foreach(module ${modules})
  get_filename_component(folder "${python_package}/${module}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/python/sconce/${module}" "${python_package}/${module}" SYMBOLIC)
endforeach()
