# The script library: every script/**/*.py, embedded into libsconce as text (see sconce/frontend/script/program/script_library.h).
# Sets SCONCE_SCRIPT_SOURCES to the generated source, and SCONCE_UPGRADED_SOURCES to the list of operators that the upgraders
# among them are for, which also a library without the texts has (see sconce/serialization/lite/lite_upgraders.h).
file(GLOB_RECURSE script_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/script/*.py")
set(SCONCE_SCRIPT_SOURCES "${SCONCE_GENERATED_DIR}/script_library.cpp")
set(SCONCE_UPGRADED_SOURCES "${SCONCE_GENERATED_DIR}/upgraded_operators.cpp")
add_custom_command(OUTPUT ${SCONCE_SCRIPT_SOURCES} ${SCONCE_UPGRADED_SOURCES}
                   COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/embed_scripts.py"
                           "${PROJECT_SOURCE_DIR}/script" ${SCONCE_SCRIPT_SOURCES} ${SCONCE_UPGRADED_SOURCES}
                   DEPENDS ${script_files} "${PROJECT_SOURCE_DIR}/cmake/embed_scripts.py"
                           "${PROJECT_SOURCE_DIR}/cmake/cpp_literal.py" "${PROJECT_SOURCE_DIR}/opgen/upgraders.py"
                   COMMENT "Embedding the script library" VERBATIM)
