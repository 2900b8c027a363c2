// torch.save files, byte by byte: zip and legacy.
#include <gtest/gtest.h>

#include "sconce/serialization/file/zip_writer.h"
#include "sconce/serialization/pickle/opaque_objects.h"
#include "sconce/serialization/pickle/special_tensors.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/quantized_tensor.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

using namespace std::string_literals;

// What a torch.save file holds whose data.pkl has these opcodes, and whose one storage has these bytes.
Value load(const std::string& opcodes, const std::string& storage = "\0\0\x80\x3f\0\0\0\x40"s, char protocol = 2) {
  const testing::TemporaryFolder folder;
  FileWriter out(folder.file("a.pth"));
  ZipWriter zip(out, "a");
  zip.add("data.pkl", "\x80"s + protocol + opcodes + ".");
  zip.add("data/0", storage);
  zip.add("version", "3\n");
  zip.finish();
  out.commit();
  return read_pickled(FileBytes::map(folder.file("a.pth")));
}

std::string str(const std::string& t) { return "X"s + static_cast<char>(t.size()) + "\0\0\0"s + t; }
std::string storage(const std::string& kind, const std::string& count) {
  return "(" + str("storage") + "ctorch\n" + kind + "\n" + str("0") + str("cpu") + count + "tQ";
}
const std::string kTwoFloats = storage("FloatStorage", "K\2");

TEST(Pickled, RebuildsTensors) {
  const Tensor t = load("ctorch._utils\n_rebuild_tensor_v2\n(" + kTwoFloats + "K\1K\1\x85K\1\x85\x89}tR").to_tensor();
  EXPECT_EQ(t.sizes(), IntList({1}));
  EXPECT_EQ(t.data<float>()[0], 2);
  EXPECT_ERROR(load("ctorch._utils\n_rebuild_tensor_v2\n(" + kTwoFloats + "K\1K\2\x85K\1\x85\x89}tR"), "out of bounds");
  EXPECT_ERROR(load(storage("FloatStorage", "K\3")), "record 'data/0' has 8 bytes, its tensors need 12");
  EXPECT_ERROR(load(storage("FloatStorage", "J\xff\xff\xff\xff")), "negative");
  EXPECT_ERROR(load(storage("StringStorage", "K\1")), "storages of class 'StringStorage' are not supported");
}

TEST(Pickled, AppliesConjugationAndSign) {
  const std::string complex = storage("ComplexFloatStorage", "K\1");
  const Value v =
      load("ctorch._utils\n_rebuild_tensor_v2\n(" + complex + "K\0K\1\x85K\1\x85\x89}}"s + str("conj") + "\x88stR");
  EXPECT_EQ(v.to_tensor().data<float>()[1], 2);
  EXPECT_TRUE(has_conj_bit(v.to_tensor()));
  EXPECT_EQ(item_of(v.to_tensor()).to_complex(), std::complex<double>(1, -2));
  EXPECT_ERROR(
      load("ctorch._utils\n_rebuild_tensor_v2\n(" + kTwoFloats + "K\0K\1\x85K\1\x85\x89}}"s + str("conj") + "\x88stR"),
      "a tensor of dtype float32 has the conjugate bit");
}

TEST(Pickled, ReadsQuantisedTensors) {
  const auto quantised = [](const std::string& parts) {
    return load("ctorch._utils\n_rebuild_qtensor\n(" + storage("QInt8Storage", "K\x08") + "K\0K\x08\x85K\1\x85("s +
                parts + "t\x89}tR");
  };
  const std::string scale = "G\x3f\xe0\0\0\0\0\0\0"s, scheme = "ctorch\nper_tensor_affine\n";
  const Tensor t = quantised(scheme + scale + "K\x0a").to_tensor();
  EXPECT_EQ(t.dtype(), DType::qint8);
  EXPECT_EQ(quantizer_of(t).scale, 0.5);
  EXPECT_EQ(quantizer_of(t).zero_point, 10);
  EXPECT_ERROR(quantised(scheme + scale + "M\xff\1"s), "zero_point 511 is above upper bound");
  EXPECT_ERROR(quantised(scheme + "G\x7f\xf8\0\0\0\0\0\0K\0"s), "needs a finite scale");
  EXPECT_ERROR(quantised("ctorch\nper_tensor_symmetric\n" + scale + "K\x0a"), "is not supported");
  EXPECT_ERROR(quantised("ctorch\nper_channel_affine\n" + scale + "K\x0a"), "needs scales, zero points and an axis");
}

TEST(Pickled, RecognisesTensorsThatItDoesNotSupport) {
  const Value f = load("ctorch._utils\n_rebuild_tensor_v3\n(" + storage("UntypedStorage", "K\x08") +
                       "K\0K\x08\x85K\1\x85\x89}ctorch\nfloat8_e5m2fnuz\ntR"s);
  EXPECT_EQ(describe_special_tensor(f), "tensor of float8_e5m2fnuz (8,)");
}

TEST(Pickled, ReadsWhatPythonWrites) {
  EXPECT_EQ(load("cbuiltins\nset\n](K\1K\2e\x85R").repr(), "[1, 2]");
  EXPECT_EQ(load("c__builtin__\nset\n](K\1K\2e\x85R").repr(), "[1, 2]");
  EXPECT_EQ(load("ccollections\nOrderedDict\n)R(" + str("a") + "K\1u}" + str("_metadata") + "}sb").repr(), "{'a': 1}");
  EXPECT_EQ(load("c_codecs\nencode\n" + str("\xc3\xbf") + str("latin1") + "\x86R").to_string_ref(), "\xff");
  EXPECT_EQ(load("ctorch\nSize\nK\2K\3\x86\x85R").repr(), "(2, 3)");
  EXPECT_EQ(load("ctorch\nfloat64\n").to_int(), 7);
  EXPECT_EQ(load("ctorch\ndevice\n" + str("cuda") + "K\1\x86R").repr(), "device(type='cuda', index=1)");
  EXPECT_EQ(load("\x8a\x09\0\0\0\0\0\0\0\0\x40"s).repr(), "'1180591620717411303424'");
  EXPECT_EQ(load("\x8a\x09\0\0\0\0\0\0\0\0\xc0"s).repr(), "'-1180591620717411303424'");
  EXPECT_EQ(load("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\0"s).to_int(), INT64_MAX);
}

TEST(Pickled, ReadsLaterProtocols) {
  EXPECT_EQ(load("\x95\x0e\0\0\0\0\0\0\0\x8c\x01k\x94\x8c\x01v\x94\x86\x94\x8f\x28\x68\0\x90\x86"s, "", 4).repr(),
            "(('k', 'v'), ['k'])");
  EXPECT_EQ(load("\x8c\x05torch\x8c\x04Size\x93K\2\x85\x85R"s, "", 4).repr(), "(2,)");
  EXPECT_EQ(load("\x96\x02\0\0\0\0\0\0\0xy"s, "", 5).to_string_ref(), "xy");
  EXPECT_ERROR(load("N", "", 6), "protocol 6; known are 2 to 5");
  EXPECT_ERROR(load("\x95\xff\xff\xff\xff\xff\xff\xff\xffN"s, "", 4), "a frame is longer than the pickle");
}

TEST(Pickled, NamesWhatItRefuses) {
  EXPECT_ERROR(load("ctorch.jit._pickle\nrestore_type_tag\n]" + str("List[int]") + "\x86R"),
               "the type tag 'List[int]'");
  EXPECT_ERROR(load("cm\nK\nN\x81"), "'m.K' needs a tuple of arguments");
}

// Objects of unknown classes: (class, arguments, state, items, entries).
TEST(Pickled, KeepsObjectsOfUnknownClasses) {
  EXPECT_EQ(describe_opaque(load("c__torch__.m\nK\n)\x81}b")), "object of class '__torch__.m.K'");
  EXPECT_EQ(describe_opaque(load("ctorch.nn.parameter\nParameter\n)R")),
            "object of class 'torch.nn.parameter.Parameter'");
  EXPECT_EQ(describe_opaque(load("]ctorch\nSize\na").to_list().get(0)), "class 'torch.Size'");
  EXPECT_EQ(describe_opaque(load("ctorch\nSize\n\x85").to_tuple().items[0]), "class 'torch.Size'");
  EXPECT_EQ(describe_opaque(load("cos\nsystem\n" + str("ls") + "\x85R")), "object of class 'os.system'");
  EXPECT_EQ(describe_opaque(load("ccopy_reg\n_reconstructor\ncm\nK\nc__builtin__\nobject\nN\x87R")),
            "object of class 'm.K'");
  const Value object = load("cm\nK\nK\1\x85\x81}" + str("a") + "K\2sb(K\3K\4e(" + str("k") + "K\5u");
  EXPECT_EQ(opaque_arguments(object).repr(), "(1,)");
  EXPECT_EQ(opaque_state(object).repr(), "{'a': 2}");
  EXPECT_EQ(opaque_items(object).size(), 2u);
  EXPECT_EQ(opaque_entries(object).find("k")->to_int(), 5);
  EXPECT_EQ(load("}cm\nColor\nK\1\x85RK\7s").repr(), "{'m.Color(1,)': 7}");
  EXPECT_EQ(opaque_arguments(load("\x8c\x01m\x8c\x01K\x93K\1\x85}\x92"s, "", 4)).repr(), "((1,), {})");
}

TEST(Pickled, ObjectsInsideOfThemselvesAreNamed) {
  const Value object = load("cm\nK\n)\x81q\0}"s + str("me") + "h\0sb"s);
  const Value* inner = opaque_state(object).to_dict().find("me");
  EXPECT_EQ(describe_opaque(*inner), "object of class 'm.K'");
  EXPECT_TRUE(opaque_state(*inner).is_none());
  const Value twice = load("]cm\nK\n)\x81q\0ah\0a"s);
  EXPECT_TRUE(twice.to_list().get(0).is_same(twice.to_list().get(1)));
  EXPECT_ERROR(load("]cm\nK\n)\x81q\0ah\0}b"s), "an object is changed after it was put into a container");
}

const std::string kFloat32 =
    "cnumpy\ndtype\n" + str("f4") + "\x89\x88\x87R(K\3" + str("<") + "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"s;

std::string array(const std::string& shape, const std::string& dtype, const char* fortran, const std::string& data) {
  return "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85"
         "C\1b\x87R(K\1"s +
         shape + dtype + fortran + data + "tb";
}

TEST(Pickled, ReadsArraysOfNumPy) {
  const std::string data = "C\x10\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40"s;
  const Tensor t = load(array("K\2K\2\x86", kFloat32, "\x89", data)).to_tensor();
  EXPECT_EQ(t.dtype(), DType::float32);
  EXPECT_EQ(t.sizes(), IntList({2, 2}));
  EXPECT_EQ(t.data<float>()[3], 4);
  EXPECT_EQ(load(array("K\2K\2\x86", kFloat32, "\x88", data)).to_tensor().strides(), IntList({1, 2}));
  EXPECT_ERROR(load(array("K\3K\2\x86", kFloat32, "\x89", data)), "an array of float32 [3, 2] does not fill 16 bytes");
  EXPECT_ERROR(load(array("K\2K\2\x86", kFloat32, "\x89", "C\0"s)), "does not fill 0 bytes");
  const Value texts = load(array("K\1\x85", "cnumpy\ndtype\n" + str("U1") + "\x89\x88\x87R", "\x89", "C\4abcd"s));
  EXPECT_EQ(describe_opaque(texts), "object of class 'numpy.core.multiarray._reconstruct'");
  const std::string memoized = array("K\2K\2\x86", kFloat32, "\x89", data);
  const std::string twice =
      "]" + memoized.substr(0, memoized.find("(K\1")) + "q\0"s + memoized.substr(memoized.find("(K\1")) + "ah\0a"s;
  EXPECT_EQ(load(twice).to_list().get(1).to_tensor().numel(), 4);
}

TEST(Pickled, ReadsScalarsOfNumPy) {
  const auto scalar = [](const std::string& dtype, const std::string& data) {
    return load("cnumpy._core.multiarray\nscalar\n" + dtype + data + "\x86R");
  };
  EXPECT_EQ(scalar(kFloat32, "C\4\0\0\0\x40"s).to_double(), 2);
  EXPECT_EQ(scalar("cnumpy\ndtype\n" + str("i8") + "\x89\x88\x87R", "C\x08\5\0\0\0\0\0\0\0"s).to_int(), 5);
  EXPECT_ERROR(scalar(kFloat32, "C\2\0\0"s), "an array of float32 [] does not fill 2 bytes");
  EXPECT_EQ(load("cnumpy._core.numeric\n_frombuffer\n(C\4\0\0\0\x40"s + kFloat32 + "K\1\x85" + str("C") + "tR")
                .to_tensor()
                .numel(),
            1);
}

const std::string kMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s;
const std::string kVersion = "\x80\x02M\xe9\x03."s;
const std::string kMachine = "\x80\x02}"s + str("little_endian") + "\x88s.";

std::string legacy(const std::string& opcodes, const std::string& keys, const std::string& data) {
  return kMagic + kVersion + kMachine + "\x80\x02" + opcodes + ".\x80\x02" + keys + "." + data;
}

Value load_legacy(const std::string& bytes) {
  return read_pickled(FileBytes::copy(std::as_bytes(std::span(bytes)), "f"));
}

const std::string kCount = "\x02\0\0\0\0\0\0\0"s, kData = kCount + "\0\0\x80\x3f\0\0\0\x40"s,
                  kKeys = "]" + str("0") + "a";

TEST(LegacyPickled, ReadsTensors) {
  const Tensor t = load_legacy(legacy(kTwoFloats, kKeys, kData)).to_tensor();
  EXPECT_EQ(t.sizes(), IntList({2}));
  EXPECT_EQ(t.data<float>()[1], 2);
  EXPECT_EQ(load_legacy(legacy("K\3", "]", "")).to_int(), 3);
}

TEST(LegacyPickled, ReadsViewsOfStorages) {
  const std::string view =
      "(" + str("storage") + "ctorch\nFloatStorage\n" + str("0") + str("cpu") + "K\2" + str("1") + "K\1K\1\x87tQ";
  EXPECT_EQ(load_legacy(legacy(view, kKeys, kData)).to_tensor().data<float>()[0], 2);
}

TEST(LegacyPickled, RefusesBrokenFiles) {
  const auto expect = [](const std::string& bytes, const std::string& part) { EXPECT_ERROR(load_legacy(bytes), part); };
  expect("", "f: is not a torch.save file");
  expect(legacy(kTwoFloats, kKeys, ""), "ends before its storages do");
  expect(legacy(kTwoFloats, kKeys, kCount + "abc"), "ends before its storages do");
  expect(legacy(kTwoFloats, "]", ""), "storage '0' is not there");
  expect(legacy(kTwoFloats, "](" + str("0") + str("0") + "e", kData + kData), "storage '0' is there twice");
  expect(legacy("N", kKeys, kData), "storage '0' is used by nothing");
  expect(legacy(kTwoFloats, kKeys, kData + "x"), "1 bytes after the last storage belong to none");
  expect(legacy(kTwoFloats, kKeys, "\x03"s + kData.substr(1) + "1234"),
         "storage '0' has 3 elements, its tensors need 2");
  expect(legacy(storage("FloatStorage", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s), kKeys, kData), "f: ");
  expect(kMagic + "\x80\x02K\1.", "has the format version 1, known is 1001");
  expect(kMagic + kVersion + "\x80\x02}" + str("little_endian") + "\x89s.", "big-endian files are not supported");
  std::string tar(512, '\0');
  tar.replace(0, 6, "pickle");
  tar.replace(257, 5, "ustar");
  expect(tar, "f: is a tar file of PyTorch 0.1");
  const std::string whole = legacy(kTwoFloats, kKeys, kData);
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_ERROR(load_legacy(whole.substr(0, n)), "f: ");
}

}  // namespace
}  // namespace sconce
