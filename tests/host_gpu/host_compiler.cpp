// A stand-in for NVRTC (libnvrtc.so.13): compiles a kernel's text as C++ with the system's compiler. The image is a shared
// library, which the stand-in for the driver (host_driver.cpp) opens. For tests on machines without a GPU.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <unistd.h>

namespace {

struct Program {
  std::string text, image, log;
};

const char* const kBefore =
#include "host_kernel.inc"
    ;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

extern "C" {

#define SCONCE_HOST_API __attribute__((visibility("default")))

SCONCE_HOST_API int nvrtcVersion(int* major, int* minor) {
  *major = 99;
  *minor = 0;
  return 0;
}
SCONCE_HOST_API int nvrtcGetNumSupportedArchs(int* count) {
  *count = 3;
  return 0;
}
// The text is the same for all of them; the stand-in for the driver is the second.
SCONCE_HOST_API int nvrtcGetSupportedArchs(int* architectures) {
  for (const int architecture : {80, 90, 100}) *architectures++ = architecture;
  return 0;
}
SCONCE_HOST_API int nvrtcCreateProgram(Program** program, const char* text, const char*, int, const char* const*,
                                       const char* const*) {
  *program = new Program{text, {}, {}};
  return 0;
}
SCONCE_HOST_API int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
SCONCE_HOST_API int nvrtcCompileProgram(Program* program, int, const char* const*) {
  char folder[] = "/tmp/sconce_host_gpu_XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  const std::string base = folder, source = base + "/kernel.cpp", image = base + "/kernel.so", log = base + "/log";
  // A struct by value is passed by its address: that needs no knowledge of its size.
  static const std::regex by_value(R"(const __grid_constant__ (\w+) (\w+))");
  std::ofstream(source) << kBefore << "\n#line 1\n" << std::regex_replace(program->text, by_value, "const $1& $2");
  const std::string command =
      "g++ -std=c++20 -O1 -fwrapv -ffp-contract=off -fno-math-errno -fno-exceptions -march=x86-64-v3 "
      "-fvisibility=hidden "
      "-fno-stack-protector -w -shared -fPIC -o " +
      image + " " + source + " 2> " + log;
  const int status = std::system(command.c_str());
  program->image = read_file(image);
  program->log = read_file(log);
  const char* keep = std::getenv("SCONCE_HOST_GPU_KEEP");
  if (keep == nullptr) {
    for (const std::string& path : {source, image, log}) ::unlink(path.c_str());
    ::rmdir(folder);
  }
  return status == 0 && !program->image.empty() ? 0 : 6;
}
SCONCE_HOST_API int nvrtcGetCUBINSize(Program* program, size_t* bytes) {
  *bytes = program->image.size();
  return 0;
}
SCONCE_HOST_API int nvrtcGetCUBIN(Program* program, char* image) {
  std::memcpy(image, program->image.data(), program->image.size());
  return 0;
}
SCONCE_HOST_API int nvrtcGetPTXSize(Program*, size_t* bytes) {
  *bytes = 0;
  return 0;
}
SCONCE_HOST_API int nvrtcGetPTX(Program*, char*) { return 1; }
SCONCE_HOST_API int nvrtcGetProgramLogSize(Program* program, size_t* bytes) {
  *bytes = program->log.size();
  return 0;
}
SCONCE_HOST_API int nvrtcGetProgramLog(Program* program, char* log) {
  std::memcpy(log, program->log.data(), program->log.size());
  return 0;
}
}
