# The page that `sconce ir --html` writes, and that notebooks show: cli/sconce/html/, embedded as text in page_source
# (see cli/sconce/graphs/graph_page.h).
include_guard(GLOBAL)
file(GLOB page_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cli/sconce/html/*")
set(page_source "${SCONCE_GENERATED_DIR}/graph_page_text.cpp")
add_custom_command(OUTPUT ${page_source}
                   COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/cmake/embed_page.py"
                           "${PROJECT_SOURCE_DIR}/cli/sconce/html" ${page_source}
                   DEPENDS ${page_files} "${PROJECT_SOURCE_DIR}/cmake/embed_page.py"
                           "${PROJECT_SOURCE_DIR}/cmake/cpp_literal.py"
                   COMMENT "Embedding the page of graphs" VERBATIM)
