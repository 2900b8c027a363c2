#include "sconce/serialization/tensors/tensor_files.h"

#include <gtest/gtest.h>

#include "sconce/serialization/file/zip_writer.h"
#include "sconce/serialization/pickle/special_tensors.h"
#include "sconce/tensor/quantized_tensor.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

using testing::TemporaryFolder;

Tensor bytes(std::vector<int64_t> sizes) {
  Tensor t = empty_tensor(sizes, DType::uint8);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<uint8_t>()[i] = static_cast<uint8_t>(i);
  return t;
}

Tensor example(DType dtype) {
  Tensor t = empty_tensor({2, 3}, dtype);
  for (size_t i = 0; i < 6 * item_size(dtype); ++i) t.data<uint8_t>()[i] = dtype == DType::bool_ ? i % 2 : i;
  return t;
}

// A tensor of every dtype that NumPy has, one that is not contiguous, an empty one and a number.
NamedTensors examples() {
  NamedTensors all;
  for (DType dtype : kAllDTypes) {
    if (dtype != DType::bfloat16 && !is_float8(dtype)) all.emplace_back(std::string(dtype_name(dtype)), example(dtype));
  }
  all.emplace_back("turned", make_view(bytes({2, 3}), {3, 2}, {1, 3}, 0));
  all.emplace_back("empty", bytes({0, 3}));
  all.emplace_back("a.number", bytes({}));
  return all;
}

void expect_same(const NamedTensors& got, const NamedTensors& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].first, wanted[i].first);
    const Tensor &a = got[i].second, &b = wanted[i].second;
    ASSERT_EQ(a.dtype(), b.dtype()) << got[i].first;
    ASSERT_EQ(a.sizes(), b.sizes()) << got[i].first;
    EXPECT_EQ(a.to_string(), b.to_string()) << got[i].first;
  }
}

TEST(TensorFiles, SafetensorsKeepTensorsAndMetadata) {
  const TemporaryFolder folder;
  TensorFile content{{}, {{"format", "pt"}, {"say \"hi\"\n", "\xc3\xb6"}}, {}};
  for (const auto& [name, t] : examples()) {
    if (t.dtype() != DType::complex128) content.tensors.emplace_back(name, t);
  }
  content.tensors.emplace_back("half", empty_tensor({0}, DType::bfloat16));
  content.tensors.emplace_back("quarter", example(DType::float8_e4m3fn));
  content.tensors.emplace_back("wide quarter", example(DType::float8_e5m2));
  write_safetensors(folder.file("a.safetensors"), content);
  const TensorFile back = read_tensors(folder.file("a.safetensors"));
  expect_same(back.tensors, content.tensors);
  EXPECT_EQ(back.metadata, content.metadata);
  for (const auto& [name, t] : back.tensors) {
    EXPECT_TRUE(t.numel() == 0 || t.storage()->kind == Storage::Kind::foreign) << name;
  }
}

TEST(TensorFiles, NumPyFilesKeepTensors) {
  const TemporaryFolder folder;
  for (const bool deflate : {false, true}) {
    write_npz(folder.file("a.npz"), examples(), deflate);
    expect_same(read_tensors(folder.file("a.npz")).tensors, examples());
  }
  for (const auto& [name, t] : examples()) {
    write_npy(folder.file("a.npy"), t);
    expect_same(read_tensors(folder.file("a.npy")).tensors, {{"", t}});
  }
}

TEST(TensorFiles, StateDictsKeepTensorsAndWhatTheyShare) {
  const TemporaryFolder folder;
  const Tensor base = bytes({4, 5});
  Ref<Dict> inner = make_ref<Dict>(any_type(), any_type());
  inner->set("row", make_view(base, {5}, {1}, 5));
  inner->set(7, std::vector<Tensor>{base, bytes({1})});
  Ref<Dict> outer = make_ref<Dict>(any_type(), any_type());
  outer->set("base", base);
  outer->set("layers", inner);
  outer->set("epoch", 3);
  write_pickled(folder.file("a.pth"), outer);
  const TensorFile back = read_tensors(folder.file("a.pth"));
  expect_same(back.tensors, flatten_tensors(outer));
  std::vector<std::string> names;
  for (const auto& [name, t] : back.tensors) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"base", "layers.row", "layers.7.0", "layers.7.1"}));
  EXPECT_EQ(back.tensors[0].second.storage(), back.tensors[1].second.storage());
  EXPECT_EQ(read_pickled(FileBytes::map(folder.file("a.pth"))).to_dict().find("epoch")->to_int(), 3);
}

TEST(TensorFiles, StateDictsNameDTypesThatHaveNoStorages) {
  const TemporaryFolder folder;
  Ref<Dict> dict = make_ref<Dict>(any_type(), any_type());
  for (DType dtype : kAllDTypes) {
    const Tensor whole = example(dtype);
    dict->set(std::string(dtype_name(dtype)), whole);
    dict->set(std::string(dtype_name(dtype)) + " row", make_view(whole, {3}, {1}, 3));
  }
  write_pickled(folder.file("a.pth"), dict);
  const TensorFile back = read_tensors(folder.file("a.pth"));
  expect_same(back.tensors, flatten_tensors(dict));
  for (size_t i = 0; i < back.tensors.size(); i += 2)
    EXPECT_EQ(back.tensors[i].second.storage(), back.tensors[i + 1].second.storage()) << back.tensors[i].first;
}

// Dtype, sizes and bytes.
std::string values_of(const Tensor& t) {
  EXPECT_TRUE(t.is_contiguous());
  return std::string(dtype_name(t.dtype())) + format_message("{}", {ErrorArg(t.sizes())}) +
         std::string(t.data<const char>(), static_cast<size_t>(t.numel()) * t.item_size());
}

// State dicts as PyTorch wrote them, in every format that has them.
TEST(TensorFiles, ReadsWhatPyTorchWrote) {
  const auto path = [](const std::string& name) { return testing::source_path("tests/conformance/formats/" + name); };
  for (const std::string module : {"MLP", "ConvNet", "Gated", "Interfaced"}) {
    std::map<std::string, Tensor> recorded;  // "t0", "t1", ... in the order of the state dict
    for (const auto& [name, t] : read_tensors(path(module + ".safetensors")).tensors) recorded[name] = t;
    std::map<std::string, std::string> program;
    for (const auto& [name, t] : read_tensors(path(module + ".ptl")).tensors) program[name] = values_of(t);
    for (const char* suffix : {".pth", ".legacy.pth"}) {
      const NamedTensors got = read_tensors(path(module + suffix)).tensors;
      EXPECT_EQ(got.size(), program.size()) << module << suffix;
      for (size_t i = 0; i < got.size(); ++i) {
        const auto& [name, t] = got[i];
        EXPECT_EQ(values_of(t), values_of(recorded.at("t" + std::to_string(i)))) << module << suffix << ": " << name;
        EXPECT_EQ(values_of(t), program[name]) << module << suffix << ": " << name;
      }
    }
  }
  const Value mixed = read_pickled(FileBytes::map(path("mixed.pth")));
  EXPECT_EQ(mixed.to_dict().size(), 14u);
  EXPECT_EQ(mixed.to_dict().find("list")->repr(), "[1, 2.5, 's', None, True, (1, 2)]");
  EXPECT_EQ(mixed.to_dict().find("big")->repr(), "'1180591620717411303424'");
  EXPECT_EQ(mixed.to_dict().find("bytes")->repr(), "'ab'");
  EXPECT_EQ(mixed.to_dict().find("size")->repr(), "(2, 3)");
  EXPECT_EQ(flatten_tensors(mixed).size(), 9u);
}

TEST(TensorFiles, NamesMustBeThereOnce) {
  const TemporaryFolder folder;
  const NamedTensors twice = {{"a", bytes({1})}, {"a", bytes({1})}};
  EXPECT_ERROR(write_npz(folder.file("a.npz"), twice), "two tensors are called 'a'");
  EXPECT_ERROR(write_safetensors(folder.file("a.st"), {twice, {}, {}}), "two tensors are called 'a'");
  EXPECT_ERROR(write_safetensors(folder.file("a.st"), {{{"__metadata__", bytes({1})}}, {}, {}}), "cannot be called");
  EXPECT_ERROR(write_safetensors(folder.file("a.st"), {{{"\xff", bytes({1})}}, {}, {}}), "not valid UTF-8");
}

TEST(TensorFiles, WhatCannotBeWrittenIsNamed) {
  const TemporaryFolder folder;
  const Tensor half = empty_tensor({1}, DType::bfloat16);
  EXPECT_ERROR(write_npy(folder.file("a.npy"), half), "NumPy has no dtype bfloat16");
  EXPECT_ERROR(write_npy(folder.file("a.npy"), example(DType::float8_e5m2)), "NumPy has no dtype float8_e5m2");
  const Tensor wide = empty_tensor({1}, DType::complex128);
  EXPECT_ERROR(write_safetensors(folder.file("a.st"), {{{"c", wide}}, {}, {}}), "have no dtype complex128");
  const Tensor nowhere = empty_tensor({1}, DType::float32, parse_device("meta"));
  EXPECT_ERROR(write_safetensors(folder.file("a.st"), {{{"m", nowhere}}, {}, {}}), "tensor 'm' has no data");
  const Tensor quantised = make_quantized(bytes({2}), per_tensor_quantizer(0.5, 10));
  EXPECT_ERROR(write_safetensors(folder.file("a.st"), {{{"q", quantised}}, {}, {}}), "have no dtype quint8");
  EXPECT_ERROR(write_npy(folder.file("a.npy"), quantised), "NumPy has no dtype quint8");
  Ref<Dict> dict = make_ref<Dict>(any_type(), any_type());
  dict->set("w", make_foreign("complex32", IntList({2})));
  const std::string what = "tensor of complex32 [2]";
  EXPECT_ERROR(flatten_tensors(dict), "'w' is a " + what + ", which is not supported");
  EXPECT_ERROR(write_pickled(folder.file("a.pth"), dict), "tensor 'w' cannot be written: it is a " + what);
  EXPECT_ERROR(write_safetensors(folder.file("a.st"), {{}, {}, {{"w", what}}}), "tensor 'w' cannot be written");
}

TEST(TensorFiles, OtherFilesAreRefusedByKind) {
  const TemporaryFolder folder;
  FileWriter out(folder.file("a.py"));
  out.write("x = 1\n");
  out.commit();
  EXPECT_ERROR(read_tensors(folder.file("a.py")), "is not a file of tensors but a text");
}

TEST(TensorFiles, AnArchiveOfArraysHoldsNothingElse) {
  const TemporaryFolder folder;
  FileWriter out(folder.file("a.npz"));
  ZipWriter zip(out, "");
  zip.add("readme.txt", "hello");
  zip.finish();
  out.commit();
  EXPECT_ERROR(read_npz(FileBytes::map(folder.file("a.npz"))), "record 'readme.txt' is not an array");
}

}  // namespace
}  // namespace sconce
