# The server: libsconce_server.a and bin/sconce-server, from server/. Needs libmicrohttpd; gRPC is a part of it where
# libgrpc++ and its compiler are installed. Neither libsconce nor `sconce` knows of it: `sconce serve` starts the program.
if(CMAKE_CROSSCOMPILING)
  return()
endif()
find_path(MICROHTTPD_INCLUDE microhttpd.h)
find_library(MICROHTTPD_LIBRARY microhttpd)
find_package(ZLIB)
if(NOT MICROHTTPD_INCLUDE OR NOT MICROHTTPD_LIBRARY OR NOT ZLIB_FOUND)
  message(STATUS "sconce serve is not built: libmicrohttpd-dev is not installed")
  return()
endif()

file(GLOB_RECURSE server_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/server/*.cpp")
list(FILTER server_sources EXCLUDE REGEX "(_test|/main|/fuzz_.*|/grpc/.*)\\.cpp$")
set(server_page "${SCONCE_GENERATED_DIR}/server_page_text.cpp")
add_custom_command(OUTPUT ${server_page}
                   COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/cmake/embed_server_page.py"
                           "${PROJECT_SOURCE_DIR}/server/page/page.html" ${server_page}
                   DEPENDS "${PROJECT_SOURCE_DIR}/server/page/page.html" "${PROJECT_SOURCE_DIR}/cmake/embed_server_page.py"
                           "${PROJECT_SOURCE_DIR}/cmake/cpp_literal.py"
                   COMMENT "Embedding the page of the server" VERBATIM)
add_library(sconce_server STATIC ${server_sources} ${server_page})
target_include_directories(sconce_server PUBLIC "${PROJECT_SOURCE_DIR}" PRIVATE "${MICROHTTPD_INCLUDE}")
target_link_libraries(sconce_server PUBLIC sconce sconce_fmt "${MICROHTTPD_LIBRARY}" ZLIB::ZLIB rt)
target_compile_definitions(sconce_server PRIVATE SCONCE_VERSION="${PROJECT_VERSION}")
set_target_properties(sconce_server PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(sconce_server PRIVATE -fPIE)
target_precompile_headers(sconce_server REUSE_FROM sconce_program_pch)

sconce_program(sconce-server "${PROJECT_SOURCE_DIR}/server/main.cpp")
target_link_libraries(sconce-server PRIVATE sconce_server)
target_compile_definitions(sconce-server PRIVATE SCONCE_VERSION="${PROJECT_VERSION}")

# gRPC: stubs are made from server/grpc/inference.proto, and compiled without much optimisation: they only pack and unpack.
find_program(PROTOC protoc)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin)
find_path(GRPCPP_INCLUDE grpcpp/grpcpp.h)
foreach(library grpc++ grpc gpr absl_synchronization protobuf)
  find_library(GRPC_LIBRARY_${library} ${library})
  list(APPEND grpc_libraries "${GRPC_LIBRARY_${library}}")
endforeach()
if(PROTOC AND GRPC_CPP_PLUGIN AND GRPCPP_INCLUDE AND NOT "${grpc_libraries}" MATCHES "NOTFOUND")
  set(stubs "${SCONCE_GENERATED_DIR}/grpc")
  set(proto "${PROJECT_SOURCE_DIR}/server/grpc/inference.proto")
  set(stub_sources "${stubs}/inference.pb.cc" "${stubs}/inference.grpc.pb.cc")
  file(MAKE_DIRECTORY "${stubs}")
  add_custom_command(OUTPUT ${stub_sources} "${stubs}/inference.pb.h" "${stubs}/inference.grpc.pb.h"
                     COMMAND "${PROTOC}" "--proto_path=${PROJECT_SOURCE_DIR}/server/grpc" "--cpp_out=${stubs}" "--grpc_out=${stubs}"
                             "--plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN}" "${proto}"
                     DEPENDS "${proto}" COMMENT "Making gRPC stubs" VERBATIM)
  add_library(sconce_server_grpc STATIC "${PROJECT_SOURCE_DIR}/server/grpc/grpc_server.cpp" ${stub_sources})
  target_include_directories(sconce_server_grpc SYSTEM PUBLIC "${stubs}")
  target_compile_options(sconce_server_grpc PRIVATE -O1 -Wno-unused-parameter)
  target_compile_definitions(sconce_server_grpc PRIVATE SCONCE_VERSION="${PROJECT_VERSION}")
  target_link_libraries(sconce_server_grpc PUBLIC sconce_server ${grpc_libraries})
  target_link_libraries(sconce-server PRIVATE sconce_server_grpc)
  target_compile_definitions(sconce-server PRIVATE SCONCE_SERVER_GRPC)
  # A client for `make bench-serve`.
  add_executable(sconce-bench-grpc EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/bench/serve/grpc_client.cpp")
  target_link_libraries(sconce-bench-grpc PRIVATE sconce_server_grpc)
  set_target_properties(sconce-bench-grpc PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
else()
  message(STATUS "sconce serve is built without gRPC: libgrpc++-dev, libprotobuf-dev or protobuf-compiler-grpc is not installed")
endif()

# Tests beside the code, in a program of their own: sconce-tests needs nothing of HTTP.
if(SCONCE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  file(GLOB_RECURSE server_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/server/*_test.cpp")
  sconce_program(sconce-server-tests ${server_tests})
  target_link_libraries(sconce-server-tests PRIVATE sconce_server GTest::gtest_main)
  sconce_program(sconce-fuzz-requests "${PROJECT_SOURCE_DIR}/server/fuzz_requests.cpp")
  target_link_libraries(sconce-fuzz-requests PRIVATE sconce_server)
  # The same, and the server, with the server's own code under sanitizers: the library is that of the build. For long forms:
  # sconce-fuzz-requests-asan 1000000, and tests/server/fuzz_wire.py with sconce-server-asan.
  add_library(sconce_server_sanitized OBJECT EXCLUDE_FROM_ALL ${server_sources} ${server_page})
  set(sanitized sconce_server_sanitized sconce-fuzz-requests-asan sconce-server-asan)
  add_executable(sconce-fuzz-requests-asan EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/server/fuzz_requests.cpp")
  add_executable(sconce-server-asan EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/server/main.cpp")
  if(TARGET sconce_server_grpc)
    target_sources(sconce-server-asan PRIVATE "${PROJECT_SOURCE_DIR}/server/grpc/grpc_server.cpp" ${stub_sources})
    target_include_directories(sconce-server-asan SYSTEM PRIVATE "${stubs}")
    target_compile_definitions(sconce-server-asan PRIVATE SCONCE_SERVER_GRPC)
    target_link_libraries(sconce-server-asan PRIVATE ${grpc_libraries})
  endif()
  foreach(target ${sanitized})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${MICROHTTPD_INCLUDE}")
    target_compile_definitions(${target} PRIVATE SCONCE_VERSION="${PROJECT_VERSION}")
    target_compile_options(${target} PRIVATE -O1 -g1 -Wno-unused-parameter -fsanitize=address,undefined -fno-sanitize-recover=all
                                             -fno-sanitize=vptr)
    target_link_libraries(${target} PRIVATE sconce sconce_fmt "${MICROHTTPD_LIBRARY}" ZLIB::ZLIB rt)
    if(NOT target STREQUAL sconce_server_sanitized)
      target_link_libraries(${target} PRIVATE sconce_server_sanitized)
      target_link_options(${target} PRIVATE -fsanitize=address,undefined)
      set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
    endif()
  endforeach()
endif()
