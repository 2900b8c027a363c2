// Kernels from text: what is compiled, what is kept in files, what a launch does; NVRTC itself where it is installed.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "sconce/kernels/cuda/device/caching_allocator.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/kernel_files.h"
#include "sconce/kernels/cuda/device/kernel_table.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/testing/test_driver.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce::cuda {
namespace {

using sconce::testing::error_of;
using sconce::testing::TemporaryFolder;
using testing::TestDriver;

constexpr Device kCuda{DeviceType::cuda, 0};

int files_in(const std::string& folder) {
  int count = 0;
  DIR* d = ::opendir(folder.c_str());
  while (const dirent* entry = ::readdir(d)) count += entry->d_name[0] != '.';
  ::closedir(d);
  return count;
}

void change_byte(const std::string& path, size_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char c = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(c);
}

TEST(KernelFiles, GiveBackWhatTheyWereGiven) {
  const TemporaryFolder folder;
  KernelFiles files(folder.path() + "/a/b", 1 << 20);
  EXPECT_FALSE(files.find("key"));
  const std::string image("im\0age", 6);
  files.store("key", image);
  EXPECT_EQ(files.find("key"), image);
  EXPECT_FALSE(files.find("other"));
  EXPECT_EQ(KernelFiles(folder.path() + "/a/b/", 1 << 20).find("key"), image);  // another process
  EXPECT_EQ(files_in(folder.path() + "/a/b"), 1);                               // nothing beside
}

TEST(KernelFiles, DamagedFilesAreThrownAway) {
  const TemporaryFolder folder;
  KernelFiles files(folder.path(), 1 << 20);
  files.store("key", "image");
  const std::string path = files.path_of("key");
  struct stat facts;
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  for (size_t at = 0; at < static_cast<size_t>(facts.st_size); ++at) {
    files.store("key", "image");
    change_byte(path, at);
    EXPECT_FALSE(files.find("key")) << at;
    EXPECT_NE(::access(path.c_str(), F_OK), 0) << at;
  }
  for (off_t size = 0; size < facts.st_size; ++size) {
    files.store("key", "image");
    ASSERT_EQ(::truncate(path.c_str(), size), 0);
    EXPECT_FALSE(files.find("key")) << size;
  }
  std::ofstream(path) << "something else";
  EXPECT_FALSE(files.find("key"));
}

TEST(KernelFiles, AFileOfAnotherKeyIsNotTaken) {
  const TemporaryFolder folder;
  KernelFiles files(folder.path(), 1 << 20);
  files.store("one", "image");
  ASSERT_EQ(::rename(files.path_of("one").c_str(), files.path_of("two").c_str()), 0);  // as if the hashes were equal
  EXPECT_FALSE(files.find("two"));
}

TEST(KernelFiles, TheOldestGoFirst) {
  const TemporaryFolder folder;
  KernelFiles files(folder.path(), 10000);
  const std::string image(3000, 'x');
  for (const char* key : {"a", "b", "c"}) {
    files.store(key, image);
    const timespec times[2] = {{1000 + key[0], 0}, {1000 + key[0], 0}};
    ::utimensat(AT_FDCWD, files.path_of(key).c_str(), times, 0);
  }
  EXPECT_TRUE(files.find("a"));  // used now
  files.store("d", image);
  EXPECT_TRUE(files.find("a"));
  EXPECT_FALSE(files.find("b"));
  EXPECT_TRUE(files.find("c"));
  EXPECT_TRUE(files.find("d"));
}

TEST(KernelFiles, AFolderThatCannotBeWrittenIsNone) {
  KernelFiles files("/proc/nowhere", 1 << 20);
  files.store("key", "image");
  EXPECT_FALSE(files.find("key"));
  KernelFiles none("", 1 << 20);
  none.store("key", "image");
  EXPECT_FALSE(none.find("key"));
}

TEST(KernelFiles, ManyWritersLeaveWholeFiles) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      KernelFiles files(folder.path(), 1 << 20);
      for (int i = 0; i < 50; ++i) {
        files.store("key", std::string(2000, 'i'));
        const auto found = files.find("key");
        EXPECT_TRUE(found && *found == std::string(2000, 'i'));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(files_in(folder.path()), 1);
}

class Kernels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const TemporaryFolder folder;  // for the whole process: the files are opened once
    ::setenv("SCONCE_KERNEL_CACHE", folder.path().c_str(), 1);
  }
  TestDriver driver;
};

TEST_F(Kernels, AreCompiledOnceAndStayWhereTheyAre) {
  int asked = 0;
  const std::string text = "text " + std::to_string(::getpid()) + std::to_string(::time(nullptr));
  const auto make = [&] {
    ++asked;
    return text;
  };
  const Kernel& a = find_kernel(kCuda, "one", make, "f");
  const Kernel& b = find_kernel(kCuda, "one", make, "g");
  EXPECT_EQ(&find_kernel(kCuda, "one", make, "f"), &a);
  EXPECT_NE(&a, &b);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(a.registers, 32);
  EXPECT_EQ(a.shared_bytes, 1024);
  EXPECT_EQ(driver.calls("cuModuleLoadData"), 1);
  EXPECT_EQ(driver.compiled, std::vector<std::string>{text});
  EXPECT_EQ(driver.last_options, (std::vector<std::string>{"--gpu-architecture=sm_90a", "--std=c++20", "--fmad=false",
                                                           "-default-device", "-dw"}));
  forget_kernels();  // as in another process: the file serves
  find_kernel(kCuda, "one", make, "f");
  EXPECT_EQ(driver.compiled.size(), 1u);
  // A file that the driver refuses is made again.
  driver.fail("cuModuleLoadData", 200);
  forget_kernels();
  find_kernel(kCuda, "one", make, "f");
  EXPECT_EQ(driver.compiled.size(), 2u);
}

TEST_F(Kernels, TextsThatDoNotCompileShowTheLog) {
  EXPECT_EQ(
      error_of([] { find_kernel(kCuda, "bad", [] { return "#error"; }, "f"); }),
      "a CUDA kernel does not compile (NVRTC 13.0, --gpu-architecture=sm_90a, error 6):\nkernel.cu(1): error: #error");
  EXPECT_EQ(error_of([] { find_kernel(kCuda, "good", [] { return "text"; }, "absent"); }),
            "good: no kernel 'absent': CUDA_ERROR_NOT_FOUND: named symbol not found");
}

TEST_F(Kernels, RunInTheOrderOfTheStream) {
  struct Argument {
    int* at;
    int add;
  };
  driver.set_kernel("add", sizeof(Argument), [](const void* argument, const TestDriver::Grid& grid) {
    const auto& a = *static_cast<const Argument*>(argument);
    *a.at = *a.at * 2 + a.add * static_cast<int>(grid.x);
  });
  const Kernel& kernel = find_kernel(kCuda, "add", [] { return "text"; }, "add");
  const Scratch memory = scratch(kCuda, sizeof(int));
  auto* at = static_cast<int*>(memory.data());
  *at = 0;
  Argument argument{at, 1};
  launch(kCuda, kernel, {.grid_x = 3, .block_x = 32}, &argument, sizeof argument, "add");
  argument.add = 10;  // the driver has its copy
  launch(kCuda, kernel, {.grid_x = 1, .block_x = 32}, &argument, sizeof argument, "add");
  EXPECT_EQ(*at, 0);
  synchronize(kCuda);
  EXPECT_EQ(*at, 16);
  driver.fail("cuLaunchKernel", 1);
  EXPECT_EQ(error_of([&] { launch(kCuda, kernel, {}, &argument, sizeof argument, "add"); }),
            "add: CUDA_ERROR_INVALID_VALUE: invalid argument");
}

TEST_F(Kernels, ManyThreadsCompileATextOnce) {
  const std::string text = "threads " + std::to_string(::getpid()) + std::to_string(::time(nullptr));
  use(kCuda);
  std::atomic<int> asked = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] { find_kernel(kCuda, "threads", [&] { return ++asked, text; }, "f"); });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(asked, 1);
}

TEST(Nvrtc, CompilesForArchitectures) {
  if (!find_nvrtc()) GTEST_SKIP() << "no NVRTC: " << why_no_nvrtc();
  const std::string text = "extern \"C\" __global__ void f(float* p) { p[threadIdx.x] *= 2; }";
  for (const int architecture : {80, 90, 100}) {
    const std::string image = compile_text(text, architecture);
    EXPECT_EQ(image.substr(1, 3), "ELF") << architecture;
  }
  EXPECT_ERROR(compile_text("extern \"C\" __global__ void f() { g(); }", 90), "does not compile");
}

}  // namespace
}  // namespace sconce::cuda
