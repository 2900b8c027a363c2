#include "sconce/serialization/tensors/legacy_pickled.h"

#include <cstring>
#include <unordered_map>

#include "sconce/serialization/archive/saved_context.h"
#include "sconce/serialization/tensors/file_tensor.h"

namespace sconce {
namespace {

using namespace std::string_view_literals;

// LONG1 of 0x1950a86a20f9469cfc6c, which opens every such file.
constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;
constexpr size_t kFrameSize = 9;     // FRAME, which protocols 4 and 5 begin with, and the length of the frame
constexpr int64_t kVersion = 1001;   // of the format
constexpr size_t kMaxShownKey = 40;  // characters of a key in a message

bool is_tar(std::string_view bytes) {
  constexpr size_t kTarMark = 257;
  if (bytes.size() < 512 || bytes.substr(kTarMark, 5) != "ustar") return false;
  const std::string_view first = bytes.substr(0, bytes.find('\0'));
  return first == "sys_info" || first == "pickle" || first == "tensors" || first == "storages";
}

// Where the first pickle ends; 0 when it is not the magic number.
size_t end_of_magic(std::string_view bytes) {
  if (bytes.size() < 2 || bytes[0] != '\x80') return 0;
  size_t at = 2;
  if (bytes.substr(at).starts_with('\x95')) at += kFrameSize;
  return at <= bytes.size() && bytes.substr(at).starts_with(kMagic) ? at + kMagic.size() : 0;
}

struct Claim {
  DType dtype;
  int64_t count;
};

// The bytes of storages come after the pickle that uses them. So it is read twice: first to know which there are and
// where it ends, over tensors without memory...
class ClaimContext final : public SavedContext {
 public:
  using SavedContext::SavedContext;
  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override {
    const DType type = dtype.value_or(DType::uint8);
    const auto [claim, added] = claims.try_emplace(key, Claim{type, count});
    SCONCE_CHECK(added || (claim->second.dtype == type && claim->second.count == count), "storage '{}' has two sizes",
                 std::string_view(key).substr(0, kMaxShownKey));
    int64_t bytes = 0;
    SCONCE_CHECK(!__builtin_mul_overflow(count, static_cast<int64_t>(item_size(type)), &bytes),
                 "{}: storage '{}' claims to have {} elements", file(), std::string_view(key).substr(0, kMaxShownKey),
                 count);
    return empty_tensor({count}, type, parse_device("meta"));
  }
  std::unordered_map<std::string, Claim> claims;
};

// ... then with the storages.
class LegacyContext final : public SavedContext {
 public:
  LegacyContext(std::string file, const std::unordered_map<std::string, Tensor>& storages)
      : SavedContext(std::move(file)), storages_(storages) {}
  Tensor storage(const std::string& key, std::optional<DType>, int64_t) override { return storages_.at(key); }

 private:
  const std::unordered_map<std::string, Tensor>& storages_;
};

class LegacyReader {
 public:
  explicit LegacyReader(const FileBytesPtr& file)
      : file_(file),
        name_(file->name()),
        bytes_(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()) {}

  Value read() {
    SCONCE_CHECK(!is_tar(bytes_), "{}: is a tar file of PyTorch 0.1; save it again with a newer PyTorch", name_);
    at_ = end_of_magic(bytes_);
    SCONCE_CHECK(at_ != 0, "{}: is not a torch.save file", name_);
    ClaimContext claims(name_);
    const Value version = next(claims);
    SCONCE_CHECK(version.is_int() && version.to_int() == kVersion, "{}: has the format version {}, known is {}", name_,
                 version.repr(), kVersion);
    const Value machine = next(claims);
    const Value* little = machine.is_dict() ? machine.to_dict().find("little_endian") : nullptr;
    SCONCE_CHECK(little && little->is_bool(), "{}: does not say the order of its bytes", name_);
    SCONCE_CHECK(little->to_bool(), "{}: big-endian files are not supported", name_);
    const size_t object_at = at_;
    next(claims);
    const size_t object_end = at_;
    read_storages(next(claims), claims);
    LegacyContext context(name_, storages_);
    return read_pickle(bytes_.substr(object_at, object_end - object_at), name_, context);
  }

 private:
  Value next(SavedContext& context) {
    size_t used = 0;
    Value v = read_pickle(bytes_.substr(at_), name_, context, &used);
    at_ += used;
    return v;
  }

  // For each key the number of elements, as 8 bytes, and the elements.
  void read_storages(const Value& keys, const ClaimContext& context) {
    SCONCE_CHECK(keys.is_list(), "{}: has no list of storages", name_);
    for (const Value& item : keys.to_list().values()) {
      const std::string& key = item.to_string_ref();
      const auto claim = context.claims.find(key);
      SCONCE_CHECK(claim != context.claims.end() && !storages_.contains(key), "{}: storage '{}' is {}", name_,
                   std::string_view(key).substr(0, kMaxShownKey),
                   claim == context.claims.end() ? "used by nothing" : "there twice");
      const auto [dtype, wanted] = claim->second;
      int64_t count = 0, size = 0;
      SCONCE_CHECK(bytes_.size() - at_ >= sizeof count, "{}: ends before its storages do", name_);
      std::memcpy(&count, bytes_.data() + at_, sizeof count);
      at_ += sizeof count;
      SCONCE_CHECK(count == wanted, "{}: storage '{}' has {} elements, its tensors need {}", name_, key, count, wanted);
      SCONCE_CHECK(!__builtin_mul_overflow(count, static_cast<int64_t>(item_size(dtype)), &size) &&
                       static_cast<uint64_t>(size) <= bytes_.size() - at_,
                   "{}: ends before its storages do", name_);
      const std::span<std::byte> content = file_->bytes().subspan(at_, static_cast<size_t>(size));
      storages_.emplace(key, tensor_in_file(file_, content, dtype, {count}));
      at_ += static_cast<size_t>(size);
    }
    SCONCE_CHECK(at_ == bytes_.size(), "{}: {} bytes after the last storage belong to none", name_,
                 bytes_.size() - at_);
    for (const auto& [key, claim] : context.claims) {
      SCONCE_CHECK(storages_.contains(key), "{}: storage '{}' is not there", name_, key);
    }
  }

  const FileBytesPtr& file_;
  const std::string& name_;
  std::string_view bytes_;
  size_t at_ = 0;
  std::unordered_map<std::string, Tensor> storages_;
};

}  // namespace

bool looks_like_legacy_pickled(std::string_view bytes) { return is_tar(bytes) || end_of_magic(bytes) != 0; }

Value read_legacy_pickled(const FileBytesPtr& file) { return LegacyReader(file).read(); }

}  // namespace sconce
