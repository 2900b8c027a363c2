// The C interface, used as a program would: every function, its right uses and its wrong ones.
#include "c_handles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string data(const char* name) { return SCONCE_SOURCE_DIR "/tests/conformance/" + std::string(name); }

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string error() { return sconce_last_error(); }

sconce_value* make_int(int64_t i) {
  sconce_value* v = nullptr;
  sconce_int(i, &v);
  return v;
}

TEST(CApi, Versions) {
  EXPECT_EQ(sconce_api_version(), SCONCE_API_VERSION);
  EXPECT_NE(std::strlen(sconce_version()), 0u);
  EXPECT_STREQ(sconce_status_name(SCONCE_KEY_ERROR), "SCONCE_KEY_ERROR");
  EXPECT_STREQ(sconce_status_name(static_cast<sconce_status>(99)), "unknown status");
}

TEST(CApi, LoadsCallsAndReads) {
  Module m;
  ASSERT_OK(sconce_load(data("programs/MLP.pt").c_str(), &m));
  size_t forward = 0;
  while (sconce_method_name(m, forward) && std::string(sconce_method_name(m, forward)) != "forward") ++forward;
  ASSERT_LT(forward, sconce_method_count(m));
  EXPECT_STREQ(sconce_method_signature(m, forward), "forward(Tensor x) -> Tensor");
  EXPECT_EQ(sconce_argument_count(m, forward), 1u);
  EXPECT_STREQ(sconce_argument_name(m, forward, 0), "x");
  EXPECT_STREQ(sconce_argument_type(m, forward, 0), "Tensor");
  EXPECT_EQ(sconce_argument_name(m, forward, 1), nullptr);
  EXPECT_EQ(sconce_method_name(m, 99), nullptr);

  float pixels[3][4] = {};
  const int64_t sizes[] = {3, 4};
  Value x, y;
  ASSERT_OK(sconce_tensor_over(pixels, SCONCE_FLOAT32, 2, sizes, nullptr, nullptr, nullptr, &x));
  sconce_value* const args[] = {x};
  ASSERT_OK(sconce_call(m, "forward", args, 1, &y));
  EXPECT_EQ(sconce_kind_of(y), SCONCE_TENSOR);
  size_t dimensions = 0;
  const int64_t* out_sizes = nullptr;
  const int64_t* strides = nullptr;
  sconce_dtype dtype = SCONCE_UINT8;
  int contiguous = 0;
  int64_t elements = 0;
  EXPECT_OK(sconce_tensor_dimensions(y, &dimensions));
  EXPECT_OK(sconce_tensor_sizes(y, &out_sizes));
  EXPECT_OK(sconce_tensor_strides(y, &strides));
  EXPECT_OK(sconce_tensor_dtype(y, &dtype));
  EXPECT_OK(sconce_tensor_is_contiguous(y, &contiguous));
  EXPECT_OK(sconce_tensor_elements(y, &elements));
  ASSERT_EQ(dimensions, 2u);
  EXPECT_EQ(out_sizes[0], 3);
  EXPECT_EQ(out_sizes[1], 2);
  EXPECT_EQ(strides[0], 2);
  EXPECT_EQ(dtype, SCONCE_FLOAT32);
  EXPECT_EQ(contiguous, 1);
  EXPECT_EQ(elements, 6);
  float result[6];
  EXPECT_OK(sconce_tensor_read(y, result, sizeof result));
  EXPECT_EQ(result[0], result[2]);  // equal rows
  EXPECT_EQ(sconce_tensor_read(y, result, 4), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "there is room for 4 bytes, the tensor has 24");

  // The other method, by name.
  Value i, text;
  i.v = make_int(1);
  const char* names[] = {"i"};
  sconce_value* const named[] = {i};
  ASSERT_OK(sconce_call_named(m, "describe", nullptr, 0, names, named, 1, &text));
  const char* chars = nullptr;
  size_t bytes = 0;
  ASSERT_OK(sconce_get_string(text, &chars, &bytes));
  EXPECT_STREQ(chars, "b1");
  EXPECT_EQ(bytes, 2u);
}

TEST(CApi, StateIsTheModulesOwn) {
  Module m;
  ASSERT_OK(sconce_load(data("formats/MLPdyn.pt2").c_str(), &m));
  ASSERT_EQ(sconce_state_count(m), 6u);
  EXPECT_STREQ(sconce_state_name(m, 0), "0.weight");
  EXPECT_EQ(sconce_state_name(m, 6), nullptr);
  Value weight, bias, x, y;
  ASSERT_OK(sconce_state_tensor(m, "3.weight", &weight));
  ASSERT_OK(sconce_state_tensor(m, "3.bias", &bias));
  EXPECT_EQ(sconce_state_tensor(m, "frob", &x), SCONCE_KEY_ERROR);
  EXPECT_EQ(error(), "the module has no parameter or buffer 'frob'");
  void *w = nullptr, *b = nullptr;
  ASSERT_OK(sconce_tensor_data(weight, &w));
  ASSERT_OK(sconce_tensor_data(bias, &b));
  std::memset(w, 0, 16 * sizeof(float));
  static_cast<float*>(b)[0] = 7;
  const int64_t sizes[] = {2, 4};
  ASSERT_OK(sconce_tensor_zeros(SCONCE_FLOAT32, 2, sizes, &x));
  sconce_value* const args[] = {x};
  ASSERT_OK(sconce_call(m, "forward", args, 1, &y));
  void* result = nullptr;
  ASSERT_OK(sconce_tensor_data(y, &result));
  EXPECT_EQ(static_cast<float*>(result)[0], 7);
  EXPECT_OK(sconce_set_training(m, 0));
}

TEST(CApi, FromMemoryCopiedOrBorrowed) {
  std::string file = read_file(data("programs/MLP.pt"));
  Module copied;
  {
    std::string gone = file;
    ASSERT_OK(sconce_load_memory(gone.data(), gone.size(), &copied));
    std::fill(gone.begin(), gone.end(), '\0');
  }
  int released = 0;
  const auto release = [](void* context) { ++*static_cast<int*>(context); };
  sconce_module* borrowed = nullptr;
  ASSERT_OK(sconce_load_borrowed(file.data(), file.size(), release, &released, &borrowed));
  Value x, y, z, kept;
  const int64_t sizes[] = {1, 4};
  ASSERT_OK(sconce_tensor_zeros(SCONCE_FLOAT32, 2, sizes, &x));
  sconce_value* const args[] = {x};
  ASSERT_OK(sconce_call(copied, "forward", args, 1, &y));
  ASSERT_OK(sconce_call(borrowed, "forward", args, 1, &z));
  float a[2], b[2];
  ASSERT_OK(sconce_tensor_read(y, a, sizeof a));
  ASSERT_OK(sconce_tensor_read(z, b, sizeof b));
  EXPECT_EQ(a[0], b[0]);
  sconce_module_free(borrowed);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(sconce_load_borrowed(file.data(), 100, release, &released, &borrowed), SCONCE_RUNTIME_ERROR);
  EXPECT_EQ(released, 1);
  EXPECT_NE(error().find("<memory>"), std::string::npos) << error();
}

TEST(CApi, MemoryOfTheCaller) {
  int released = 0;
  const auto release = [](void* context) { ++*static_cast<int*>(context); };
  double numbers[] = {1, 2, 3, 4, 5, 6};
  const int64_t sizes[] = {3, 2}, strides[] = {1, 3};
  Value t, dense;
  ASSERT_OK(sconce_tensor_over(numbers, SCONCE_FLOAT64, 2, sizes, strides, release, &released, &t));
  double read[6];
  ASSERT_OK(sconce_tensor_read(t, read, sizeof read));
  EXPECT_EQ(read[1], 4);
  ASSERT_OK(sconce_tensor_contiguous(t, &dense));
  void* there = nullptr;
  ASSERT_OK(sconce_tensor_data(t, &there));
  EXPECT_EQ(there, numbers);
  sconce_value_free(t.v);
  t.v = nullptr;
  EXPECT_EQ(released, 1);
  Value copy, empty;
  ASSERT_OK(sconce_tensor_copy(numbers, sizeof numbers, SCONCE_FLOAT64, 2, sizes, &copy));
  EXPECT_EQ(sconce_tensor_copy(numbers, 8, SCONCE_FLOAT64, 2, sizes, &t), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "8 bytes are given, the sizes need 48");
  const int64_t none[] = {0, 5};
  ASSERT_OK(sconce_tensor_over(nullptr, SCONCE_INT64, 2, none, nullptr, nullptr, nullptr, &empty));
  ASSERT_OK(sconce_tensor_data(empty, &there));
  EXPECT_EQ(there, nullptr);
}

TEST(CApi, WrongTensorsAreRefused) {
  float numbers[4] = {};
  const int64_t two[] = {2, 2}, negative[] = {2, -1}, huge[] = {INT64_MAX, INT64_MAX}, back[] = {1, -1};
  Value t;
  const auto over = [&](void* at, int dtype, size_t n, const int64_t* sizes, const int64_t* strides) {
    return sconce_tensor_over(at, static_cast<sconce_dtype>(dtype), n, sizes, strides, nullptr, nullptr, &t);
  };
  EXPECT_EQ(over(nullptr, SCONCE_FLOAT32, 2, two, nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "data is null");
  EXPECT_EQ(over(numbers, 8, 2, two, nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "8 is not a dtype");
  EXPECT_EQ(over(numbers, SCONCE_FLOAT32, 2, negative, nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "sizes[1] is -1");
  EXPECT_EQ(over(numbers, SCONCE_FLOAT32, 2, huge, nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(over(numbers, SCONCE_FLOAT32, 2, huge, two), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(over(numbers, SCONCE_FLOAT32, 2, two, back), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "strides[1] is -1");
  EXPECT_EQ(over(numbers, SCONCE_FLOAT32, 65, two, nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(over(numbers, SCONCE_FLOAT32, 2, nullptr, nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(over(reinterpret_cast<char*>(numbers) + 1, SCONCE_FLOAT32, 2, two, nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "data is not aligned for elements of 4 bytes");
  EXPECT_EQ(sconce_tensor_zeros(SCONCE_FLOAT32, 2, huge, &t), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(t.v, nullptr);
  EXPECT_EQ(sconce_dtype_size(SCONCE_COMPLEX128), 16u);
  EXPECT_EQ(sconce_dtype_size(static_cast<sconce_dtype>(8)), 0u);
}

TEST(CApi, Containers) {
  Module m;
  ASSERT_OK(sconce_load(data("exported/Containers.pt2").c_str(), &m));
  const int64_t three[] = {3}, four[] = {4};
  Value a, b, k, l, items, table, pair, out;
  float ones[] = {1, 1, 1, 1};
  ASSERT_OK(sconce_tensor_over(ones, SCONCE_FLOAT32, 1, three, nullptr, nullptr, nullptr, &a));
  ASSERT_OK(sconce_tensor_over(ones, SCONCE_FLOAT32, 1, four, nullptr, nullptr, nullptr, &b));
  ASSERT_OK(sconce_string("k", 1, &k));
  ASSERT_OK(sconce_string("l", 1, &l));
  sconce_value* const both[] = {a, b};
  sconce_value* const keys[] = {k, l};
  ASSERT_OK(sconce_list(both, 2, &items));
  ASSERT_OK(sconce_dict(keys, both, 2, &table));
  ASSERT_OK(sconce_tuple(both, 2, &pair));
  sconce_value* const args[] = {items, table, pair};
  ASSERT_OK(sconce_call(m, "forward", args, 3, &out));
  EXPECT_EQ(sconce_kind_of(out), SCONCE_TUPLE);
  Value sums, numbered, first, entry_key, entry, found, missing;
  size_t length = 0;
  ASSERT_OK(sconce_get_length(out, &length));
  EXPECT_EQ(length, 2u);
  ASSERT_OK(sconce_get_item(out, 0, &sums));
  ASSERT_OK(sconce_get_item(out, 1, &numbered));
  EXPECT_EQ(sconce_get_item(out, 2, &missing), SCONCE_INDEX_ERROR);
  EXPECT_EQ(error(), "there is no item 2; the value has 2");
  EXPECT_EQ(sconce_kind_of(sums), SCONCE_LIST);
  ASSERT_OK(sconce_get_item(sums, 0, &first));
  float read[3];
  ASSERT_OK(sconce_tensor_read(first, read, sizeof read));
  EXPECT_EQ(read[2], 2);
  EXPECT_EQ(sconce_kind_of(numbered), SCONCE_DICT);
  ASSERT_OK(sconce_get_entry(numbered, 1, &entry_key, &entry));
  int64_t number = 0;
  ASSERT_OK(sconce_get_int(entry_key, &number));
  EXPECT_EQ(number, 2);
  EXPECT_OK(sconce_find(numbered, entry_key, &found));
  EXPECT_EQ(sconce_find_text(numbered, "z", &missing), SCONCE_KEY_ERROR);
  EXPECT_EQ(error(), "the dict has no key 'z'");
  EXPECT_EQ(sconce_get_entry(numbered, 2, &missing, nullptr), SCONCE_INDEX_ERROR);
  EXPECT_EQ(sconce_get_entry(sums, 0, &missing, nullptr), SCONCE_TYPE_ERROR);
}

TEST(CApi, PlainValues) {
  Value none, yes, number, real, complex, text, again, shown, empty;
  ASSERT_OK(sconce_none(&none));
  ASSERT_OK(sconce_bool(1, &yes));
  ASSERT_OK(sconce_int(-5, &number));
  ASSERT_OK(sconce_float(2.5, &real));
  ASSERT_OK(sconce_complex(1, 2, &complex));
  ASSERT_OK(sconce_string("a\0b", 3, &text));
  ASSERT_OK(sconce_string(nullptr, 0, &empty));
  ASSERT_OK(sconce_share(text, &again));
  EXPECT_EQ(sconce_kind_of(none), SCONCE_NONE);
  EXPECT_EQ(sconce_kind_of(nullptr), SCONCE_NONE);
  EXPECT_EQ(sconce_kind_of(yes), SCONCE_BOOL);
  EXPECT_EQ(sconce_kind_of(complex), SCONCE_COMPLEX);
  EXPECT_EQ(sconce_kind_of(again), SCONCE_STRING);
  int flag = 0;
  int64_t i = 0;
  double d = 0, imaginary = 0;
  const char* chars = nullptr;
  size_t bytes = 0;
  EXPECT_OK(sconce_get_bool(yes, &flag));
  EXPECT_EQ(flag, 1);
  EXPECT_OK(sconce_get_int(number, &i));
  EXPECT_EQ(i, -5);
  EXPECT_OK(sconce_get_float(number, &d));
  EXPECT_EQ(d, -5);
  EXPECT_OK(sconce_get_complex(complex, &d, &imaginary));
  EXPECT_EQ(imaginary, 2);
  EXPECT_OK(sconce_get_string(text, &chars, &bytes));
  EXPECT_EQ(bytes, 3u);
  EXPECT_EQ(sconce_get_int(real, &i), SCONCE_TYPE_ERROR);
  EXPECT_EQ(error(), "the value is a float, not a int");
  EXPECT_EQ(sconce_get_length(real, &bytes), SCONCE_TYPE_ERROR);
  EXPECT_OK(sconce_repr(real, &shown));
  EXPECT_OK(sconce_get_string(shown, &chars, nullptr));
  EXPECT_STREQ(chars, "2.5");
}

TEST(CApi, ErrorsOfPrograms) {
  Module m;
  ASSERT_OK(sconce_load(data("programs/raise_value.pt").c_str(), &m));
  Value x, y;
  x.v = make_int(-1);
  sconce_value* const args[] = {x};
  EXPECT_EQ(sconce_call(m, "forward", args, 1, &y), SCONCE_SCRIPT_ERROR);
  EXPECT_NE(error().find("Traceback of TorchScript"), std::string::npos) << error();
  EXPECT_NE(std::string(sconce_last_exception()).find("ValueError"), std::string::npos) << sconce_last_exception();
  EXPECT_FALSE(error().ends_with("\n"));
  EXPECT_EQ(y.v, nullptr);
  EXPECT_EQ(sconce_call(m, "frob", args, 1, &y), SCONCE_RUNTIME_ERROR);
  EXPECT_STREQ(sconce_last_exception(), "");
  EXPECT_EQ(sconce_call(m, "forward", nullptr, 0, &y), SCONCE_RUNTIME_ERROR);
  // An operator that fails has the class that Python would raise.
  Module mlp;
  ASSERT_OK(sconce_load(data("formats/MLPdyn.pt2").c_str(), &mlp));
  Value wrong;
  wrong.v = make_int(1);
  sconce_value* const wrong_args[] = {wrong};
  EXPECT_NE(sconce_call(mlp, "forward", wrong_args, 1, &y), SCONCE_OK);
  const int64_t sizes[] = {65, 4};
  Value too_large;
  ASSERT_OK(sconce_tensor_zeros(SCONCE_FLOAT32, 2, sizes, &too_large));
  sconce_value* const large_args[] = {too_large};
  EXPECT_EQ(sconce_call(mlp, "forward", large_args, 1, &y), SCONCE_SCRIPT_ERROR);
  EXPECT_STREQ(sconce_last_exception(), "builtins.RuntimeError");
  // Each thread has its own.
  std::thread([] { EXPECT_STREQ(sconce_last_error(), ""); }).join();
}

TEST(CApi, NullIsRefusedEverywhere) {
  Module m;
  Value x;
  int flag = 0;
  EXPECT_EQ(sconce_load(nullptr, &m), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "path is null");
  EXPECT_EQ(sconce_load("x", nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_load("/nowhere/x.pt", &m), SCONCE_RUNTIME_ERROR);
  EXPECT_NE(error().find("/nowhere/x.pt: cannot be opened"), std::string::npos);
  EXPECT_EQ(sconce_load_memory(nullptr, 5, &m), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_load_memory("", 0, &m), SCONCE_RUNTIME_ERROR);
  EXPECT_EQ(sconce_save(nullptr, "x"), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_call(nullptr, "forward", nullptr, 0, &x), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_list(nullptr, 2, &x), SCONCE_INVALID_ARGUMENT);
  sconce_value* const holes[] = {nullptr};
  EXPECT_EQ(sconce_list(holes, 1, &x), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "items[0] is null");
  EXPECT_EQ(sconce_get_bool(nullptr, &flag), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_string(nullptr, 3, &x), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_tensor_data(nullptr, nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_find_text(nullptr, "x", &x), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_load_library(nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_load_library("/nowhere/lib.so"), SCONCE_RUNTIME_ERROR);
  EXPECT_EQ(sconce_method_count(nullptr), 0u);
  EXPECT_EQ(sconce_method_name(nullptr, 0), nullptr);
  EXPECT_EQ(sconce_state_name(nullptr, 0), nullptr);
  sconce_value_free(nullptr);
  sconce_module_free(nullptr);
}

TEST(CApi, ProcessSettings) {
  EXPECT_EQ(sconce_set_num_threads(0), SCONCE_RUNTIME_ERROR);
  EXPECT_OK(sconce_set_num_threads(2));
  EXPECT_EQ(sconce_num_threads(), 2);
  EXPECT_OK(sconce_set_num_threads(1));
  EXPECT_OK(sconce_manual_seed(7));
  sconce_release_memory();
  // Tensors were made by now: see tests/api/c_allocator.c for the other case.
  Value x;
  ASSERT_OK(sconce_tensor_zeros(SCONCE_FLOAT32, 0, nullptr, &x));
  EXPECT_EQ(sconce_set_allocator([](size_t, size_t, void*) -> void* { return nullptr; }, [](void*, void*) {}, nullptr),
            SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "the allocator must be set before the first tensor is made");
  EXPECT_EQ(sconce_set_allocator(nullptr, nullptr, nullptr), SCONCE_INVALID_ARGUMENT);
}

TEST(CApi, LoadsCustomOperators) { EXPECT_OK(sconce_load_library(SCONCE_LIBRARY_DIR "/squareplus.so")); }

TEST(CApi, Saves) {
  Module m, again;
  ASSERT_OK(sconce_load(data("programs/MLP.pt").c_str(), &m));
  const std::string path = ::testing::TempDir() + "/sconce_c_api.pt";
  ASSERT_OK(sconce_save(m, path.c_str()));
  ASSERT_OK(sconce_load(path.c_str(), &again));
  EXPECT_EQ(sconce_state_count(again), sconce_state_count(m));
  std::remove(path.c_str());
  EXPECT_EQ(sconce_save(m, "/nowhere/x.pt"), SCONCE_RUNTIME_ERROR);
}

TEST(CApi, ManyThreadsMayCall) {
  Module m;
  ASSERT_OK(sconce_load(data("formats/ConvNet.pt2").c_str(), &m));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Value x, y;
      const int64_t sizes[] = {2, 3, 16, 16}, wrong[] = {2, 3, 16, 17};
      ASSERT_OK(sconce_tensor_zeros(SCONCE_FLOAT32, 4, sizes, &x));
      sconce_value* const args[] = {x};
      ASSERT_OK(sconce_call(m, "forward", args, 1, &y));
      Value bad, none;
      ASSERT_OK(sconce_tensor_zeros(SCONCE_FLOAT32, 4, wrong, &bad));
      sconce_value* const bad_args[] = {bad};
      EXPECT_EQ(sconce_call(m, "forward", bad_args, 1, &none), SCONCE_SCRIPT_ERROR);
      EXPECT_NE(error().find("dimension 3 is 17"), std::string::npos);
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
