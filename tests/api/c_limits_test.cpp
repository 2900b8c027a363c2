// Limits of the C interface: programs that would not end, and files that run code while they are loaded.
#include "c_handles.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

namespace {

std::string data(const char* name) { return SCONCE_SOURCE_DIR "/tests/conformance/" + std::string(name); }
std::string error() { return sconce_last_error(); }

// Gives the thread limits for a test.
struct InUse {
  explicit InUse(sconce_limits* limits) { sconce_use_limits(limits); }
  ~InUse() { sconce_use_limits(nullptr); }
};

TEST(CLimits, EndACall) {
  Module m;
  ASSERT_OK(sconce_load(data("programs/MLP.pt").c_str(), &m));
  Value x, y;
  const int64_t sizes[] = {1000, 4};
  ASSERT_OK(sconce_tensor_zeros(SCONCE_FLOAT32, 2, sizes, &x));
  ASSERT_OK(sconce_call(m, "forward", &x.v, 1, &y));
  const struct {
    sconce_limit what;
    uint64_t amount;
    const char* message;
  } cases[] = {{SCONCE_LIMIT_WORK, 1000, "the call: the work limit of 1000 elements"},
               {SCONCE_LIMIT_MEMORY, 1000, "the call: the memory limit of 1000 bytes"},
               {SCONCE_LIMIT_MILLISECONDS, 0, "the call: the time limit of 0 ms is over"}};
  for (const auto& c : cases) {
    Limits limits;
    ASSERT_OK(sconce_limits_new(&limits));
    ASSERT_OK(sconce_limits_set(limits, c.what, c.amount));
    const InUse in_use(limits);
    Value none;
    EXPECT_EQ(sconce_call(m, "forward", &x.v, 1, &none), SCONCE_LIMIT_REACHED) << c.message;
    EXPECT_EQ(none.v, nullptr);
    EXPECT_NE(error().find(c.message), std::string::npos) << error();
  }
  Value again;
  EXPECT_OK(sconce_call(m, "forward", &x.v, 1, &again));
  EXPECT_STREQ(sconce_status_name(SCONCE_LIMIT_REACHED), "SCONCE_LIMIT_REACHED");
}

TEST(CLimits, EveryCallStartsAnew) {
  Module m;
  ASSERT_OK(sconce_load(data("programs/MLP.pt").c_str(), &m));
  Value x;
  const int64_t sizes[] = {1, 4};
  ASSERT_OK(sconce_tensor_zeros(SCONCE_FLOAT32, 2, sizes, &x));
  Limits limits;
  ASSERT_OK(sconce_limits_new(&limits));
  ASSERT_OK(sconce_limits_set(limits, SCONCE_LIMIT_WORK, 10'000));
  const InUse in_use(limits);
  for (int i = 0; i < 1000; ++i) {
    Value y;
    ASSERT_OK(sconce_call(m, "forward", &x.v, 1, &y));
  }
}

TEST(CLimits, CancelFromAnotherThread) {
  Module m;
  ASSERT_OK(sconce_load(data("programs/MLP.pt").c_str(), &m));
  Value x;
  const int64_t sizes[] = {1000, 4};
  ASSERT_OK(sconce_tensor_zeros(SCONCE_FLOAT32, 2, sizes, &x));
  Limits limits;
  ASSERT_OK(sconce_limits_new(&limits));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    sconce_limits_cancel(limits);
  });
  {
    const InUse in_use(limits);
    sconce_status status = SCONCE_OK;
    while (status == SCONCE_OK) {
      Value y;
      status = sconce_call(m, "forward", &x.v, 1, &y);
    }
    EXPECT_EQ(status, SCONCE_LIMIT_REACHED);
    EXPECT_NE(error().find("was cancelled"), std::string::npos) << error();
    later.join();
    sconce_limits_resume(limits);
    Value y;
    EXPECT_OK(sconce_call(m, "forward", &x.v, 1, &y));
  }
  EXPECT_EQ(sconce_limits_set(limits, static_cast<sconce_limit>(9), 1), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_limits_set(nullptr, SCONCE_LIMIT_WORK, 1), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_limits_new(nullptr), SCONCE_INVALID_ARGUMENT);
  sconce_limits_cancel(nullptr);
  sconce_limits_free(nullptr);
}

TEST(CLimits, LoadsTakeFlags) {
  Module m;
  EXPECT_OK(
      sconce_load_with(data("programs/MLP.pt").c_str(), SCONCE_LOAD_COPY | SCONCE_LOAD_TRUST | SCONCE_LOAD_STRICT, &m));
  EXPECT_EQ(sconce_load_with(data("programs/MLP.pt").c_str(), 64, &m), SCONCE_INVALID_ARGUMENT);
  EXPECT_NE(error().find("there are no flags 64"), std::string::npos) << error();
  EXPECT_EQ(sconce_load_with("/dev/zero", SCONCE_LOAD_COPY, &m), SCONCE_RUNTIME_ERROR);
}

}  // namespace
