# A wheel from a build folder that is there (tools/make_wheels): scikit-build-core configures and installs this instead of
# compiling everything again. The extension is the one for the interpreter that scikit-build-core runs in.
if(NOT SKBUILD_SOABI MATCHES "^cpython-([0-9]+)-")
  message(FATAL_ERROR "SCONCE_PREBUILT: no wheel can be made for '${SKBUILD_SOABI}'")
endif()
foreach(component python python${CMAKE_MATCH_1})
  install(CODE "
    execute_process(COMMAND \"${CMAKE_COMMAND}\" --install \"${SCONCE_PREBUILT}\" --component ${component} --strip
                            --prefix \"\${CMAKE_INSTALL_PREFIX}\"
                    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)" COMPONENT python)
endforeach()
add_custom_target(python_package)  # all is built
