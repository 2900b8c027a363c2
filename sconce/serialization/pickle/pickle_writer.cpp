#include "sconce/serialization/pickle/pickle_writer.h"

#include <map>
#include <unordered_set>

#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/serialization/file/utf8.h"
#include "sconce/serialization/pickle/pickle_bytes.h"
#include "sconce/serialization/pickle/pickle_parts.h"
#include "sconce/serialization/pickle/special_tensors.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/quantized_tensor.h"
#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/types/class_info.h"

namespace sconce {

std::string StorageTable::key_of(const Tensor& t) {
  const auto [found, added] = by_storage_.emplace(t.storage(), storages_.size());
  if (added) {
    const auto bytes = static_cast<int64_t>(t.storage()->nbytes);
    const Tensor flat = make_tensor(Ref<Storage>::share(t.storage()), DType::uint8, {bytes}, {1}, 0);
    storages_.emplace_back(std::to_string(storages_.size()) + suffix_, host_copy(flat));
  }
  return storages_[found->second].first;
}

namespace {

class Writer {
 public:
  Writer(StorageTable& storages, const PickleOptions& options)
      : storages_(storages), options_(options), parts_(options.state_of, options.name) {}

  std::string write(const Value& v) {
    shared_ = shared_parts(v, parts_);
    value(v);
    return std::move(out_).finish();
  }

 private:
  void value(const Value& v) {
    switch (v.tag()) {
      case Tag::none:
        return out_.op('N');
      case Tag::boolean:
        return out_.op(v.to_bool() ? '\x88' : '\x89');
      case Tag::integer:
        return out_.integer(v.to_int());
      case Tag::real:
        return out_.real(v.to_double());
      case Tag::device:
        return device(v.to_device());
      case Tag::string:
        return text(v.to_string_ref());
      case Tag::complex:
        return complex(v.to_complex());
      default:
        break;
    }
    const void* id = pickle_identity(v);
    const bool shared = shared_.contains(id);
    if (const auto found = memo_.find(id); shared && found != memo_.end()) return out_.get(found->second);
    container(v);
    if (shared) memo_.emplace(id, out_.put());
  }

  void container(const Value& v) {
    switch (v.tag()) {
      case Tag::tensor:
        return tensor(v.to_tensor());
      case Tag::list:
        return list(v);
      case Tag::dict:
        return dict(v);
      case Tag::tuple: {
        if (is_special_tensor(v)) parts_.refuse("a " + describe_special_tensor(v) + " cannot be saved");
        const size_t n = v.to_tuple().items.size();
        out_.begin_tuple(n);
        parts_of(v);
        return out_.end_tuple(n);
      }
      case Tag::enum_:
        refuse_plain(v.to_enum().type);
        out_.global(v.to_enum().type->name());
        parts_of(v);
        return out_.op('R');
      case Tag::object:
        return object(v);
      default:
        parts_.refuse("a value of type " + v.type()->annotation() + " cannot be saved");
    }
  }
  void parts_of(const Value& v) {
    parts_.for_each(v, [this](const Value& part) { value(part); });
  }

  void refuse_plain(TypePtr type) {
    if (options_.plain) {
      parts_.refuse("an object of class '" + type->name() + "' can be saved only with its code, in an archive");
    }
  }

  // Strings that are not UTF-8 were bytes, which protocol 2 writes as _codecs.encode(text, "latin1").
  void text(const std::string& t) {
    if (!options_.plain || is_utf8(t)) return out_.text(t);
    std::string characters;
    for (const char c : t) {
      const auto byte = static_cast<uint8_t>(c);
      if (byte >= 0x80) characters += static_cast<char>(0xc0 | byte >> 6);
      characters += static_cast<char>(byte >= 0x80 ? 0x80 | (byte & 0x3f) : byte);
    }
    out_.global("_codecs", "encode");
    out_.text(characters);
    out_.text("latin1");
    out_.op('\x86');
    out_.op('R');
  }

  void complex(std::complex<double> v) {
    out_.global("builtins", "complex");
    out_.real(v.real());
    out_.real(v.imag());
    out_.op('\x86');
    out_.op('R');
  }

  void device(Device d) {
    const std::string name = to_string(d);
    if (const auto found = devices_.find(name); found != devices_.end()) return out_.get(found->second);
    out_.global("torch", "device");
    const size_t colon = name.find(':');
    if (options_.plain && colon != name.npos) {
      out_.text(name.substr(0, colon));
      out_.integer(d.index);
      out_.op('\x86');
    } else {
      out_.text(name);
      out_.op('\x85');
    }
    out_.op('R');
    devices_.emplace(name, out_.put());
  }

  // ---- containers ----
  void items(const Value& v) {
    const List& list = v.to_list();
    out_.op(']');
    if (options_.plain && list.empty()) return;
    out_.op('(');
    if (list.is_ints() || list.is_doubles() || list.is_bools()) {
      for (size_t i = 0; i < list.size(); ++i) value(list.get(i));
    } else {
      parts_of(v);
    }
    out_.op('e');
  }
  void list(const Value& v) {
    if (options_.plain) return items(v);
    const TypePtr element = v.to_list().element_type();
    const char* build = element->is(TypeKind::int_)     ? "build_intlist"
                        : element->is(TypeKind::float_) ? "build_doublelist"
                        : element->is(TypeKind::bool_)  ? "build_boollist"
                        : element->is(TypeKind::tensor) ? "build_tensorlist"
                                                        : nullptr;
    if (build) {
      out_.global("torch.jit._pickle", build);
      out_.op('(');
      items(v);
      out_.op('t');
      return out_.op('R');
    }
    out_.global("torch.jit._pickle", "restore_type_tag");
    items(v);
    tag(v);
  }
  void dict(const Value& v) {
    const Dict& d = v.to_dict();
    if (!options_.plain) {
      out_.global("torch.jit._pickle", "restore_type_tag");
      out_.op('}');
    } else if (is_state_dict(d)) {
      out_.global("collections", "OrderedDict");
      out_.op(')');
      out_.op('R');
    } else {
      out_.op('}');
    }
    if (!options_.plain || d.size() != 0) {
      out_.op('(');
      parts_of(v);
      out_.op('u');
    }
    if (!options_.plain) tag(v);
  }
  // Of a file, or of a module; a program's Dict[str, Tensor] stays a dict.
  static bool is_state_dict(const Dict& d) {
    bool all = d.size() != 0 && d.value_type() != tensor_type();
    d.for_each([&](const Value& key, const Value& value) { all &= key.is_string() && value.is_tensor(); });
    return all;
  }
  void tag(const Value& v) {
    out_.text(v.type()->annotation());
    out_.op('\x86');
    out_.op('R');
  }

  void object(const Value& v) {
    const TypePtr type = v.to_object().type();
    refuse_plain(type);
    if (is_custom_class(type) && !parts_.state_of(v)) {
      parts_.refuse("Cannot serialize custom bound C++ class " + type->name() +
                    ". Please define serialization methods via def_pickle() for this class.");
    }
    if (!type->name().starts_with("__torch__.")) {
      parts_.refuse("an object of class '" + type->name() + "' cannot be saved: its class has no code");
    }
    out_.global(type->name());
    out_.op(')');
    out_.op('\x81');
    if (parts_.state_of(v)) {
      parts_of(v);
      return out_.op('b');
    }
    const auto& attributes = type->class_info()->attributes;
    out_.op('}');
    out_.op('(');
    size_t i = 0;
    parts_.for_each(v, [&](const Value& part) {
      out_.text(attributes[i++].name);
      value(part);
    });
    out_.op('u');
    out_.op('b');
  }

  // ---- tensors ----

  // Python has no classes of storages for limited dtypes: a checkpoint names the dtype beside bytes. Archives name one.
  bool is_untyped(const Tensor& t) const { return options_.plain && is_limited(t.dtype()); }

  void storage(const Tensor& t) {
    const auto place = std::make_pair(static_cast<const Storage*>(t.storage()), t.dtype());
    if (const auto found = stored_.find(place); found != stored_.end()) return out_.get(found->second);
    if (options_.plain) {
      // PyTorch's loader keeps the first type of a storage.
      const auto other = stored_.lower_bound({place.first, DType{}});
      if (other != stored_.end() && other->first.first == place.first) {
        parts_.refuse("two tensors with the same memory have different dtypes, which cannot be saved");
      }
    }
    out_.op('(');
    out_.text("storage");
    if (is_untyped(t))
      out_.global("torch.storage", "UntypedStorage");
    else
      out_.global("torch", std::string(dtype_legacy_name(t.dtype())) + "Storage");
    out_.text(storages_.key_of(t));
    out_.text(to_string(t.device()));
    out_.integer(static_cast<int64_t>(t.storage()->nbytes / (is_untyped(t) ? 1 : t.item_size())));
    out_.op('t');
    out_.op('Q');
    stored_.emplace(place, out_.put());
  }
  void sizes(IntList list) {
    out_.op('(');
    for (const int64_t n : list) out_.integer(n);
    out_.op('t');
  }
  void quantizer(const Quantizer& q) {
    out_.op('(');
    out_.global("torch", qscheme_name(q.scheme).substr(std::string_view("torch.").size()));
    if (q.per_channel()) {
      tensor(q.scales);
      tensor(q.zero_points);
      out_.integer(q.axis);
    } else {
      out_.real(q.scale);
      out_.integer(q.zero_point);
    }
    out_.op('t');
  }
  // A layout as Python pickles it.
  void layout(Layout l) {
    out_.global("torch.serialization", "_get_layout");
    out_.text("torch." + std::string(layout_name(l)));
    out_.op('\x85');
    out_.op('R');
  }

  // Archives number the layout, and know two of them; checkpoints name it.
  void sparse(const Tensor& t) {
    const SparseParts& parts = sparse_parts(t);
    const bool coo = parts.layout == Layout::sparse;
    if (!options_.plain && !coo && parts.layout != Layout::sparse_csr) {
      parts_.refuse("a tensor of layout " + std::string(layout_name(parts.layout)) +
                    " cannot be saved in an archive, only those of sparse_coo and sparse_csr can");
    }
    const bool parameter = options_.plain && t.requires_grad();
    if (parameter) {
      out_.global("torch._utils", "_rebuild_parameter");
      out_.op('(');
    }
    out_.global("torch._utils", "_rebuild_sparse_tensor");
    out_.op('(');
    if (options_.plain) {
      layout(parts.layout);
      out_.op('(');
    } else {
      out_.integer(static_cast<int64_t>(parts.layout));
      sizes(t.sizes());
      out_.op(t.requires_grad() ? '\x88' : '\x89');
    }
    if (coo) {
      tensor(parts.indices);
    } else {
      tensor(parts.compressed);
      tensor(parts.plain);
    }
    tensor(parts.values);
    if (options_.plain) {
      out_.global("torch", "Size");
      sizes(t.sizes());
      out_.op('\x85');
      out_.op('R');
      if (coo) out_.op(parts.coalesced ? '\x88' : '\x89');
      out_.op('t');
    } else {
      no_hooks();
    }
    out_.op('t');
    out_.op('R');
    if (parameter) end_parameter();
  }

  void no_hooks() {
    out_.global("collections", "OrderedDict");
    out_.op(')');
    out_.op('R');
  }
  void end_parameter() {
    out_.op('\x88');
    no_hooks();
    out_.op('t');
    out_.op('R');
  }

  void tensor(const Tensor& t) {
    if (is_sparse_tensor(t)) return sparse(t);
    if (t.is_meta()) parts_.refuse("a tensor on device meta cannot be saved: it has no memory");
    const auto offset = static_cast<const char*>(t.data()) - static_cast<const char*>(t.storage()->data);
    if (t.numel() != 0 && offset % static_cast<ptrdiff_t>(t.item_size()) != 0) {
      parts_.refuse("the elements of a tensor lie between those of its memory, which cannot be saved");
    }
    // PyTorch's _rebuild_tensor_v3 fails for a tensor that requires grad; a parameter gets the flag from around it.
    const bool parameter = is_untyped(t) && t.requires_grad();
    if (parameter) {
      out_.global("torch._utils", "_rebuild_parameter");
      out_.op('(');
    }
    const bool quantised = is_quantized(t.dtype());
    out_.global("torch._utils", quantised       ? "_rebuild_qtensor"
                                : is_untyped(t) ? "_rebuild_tensor_v3"
                                                : "_rebuild_tensor_v2");
    out_.op('(');
    storage(t);
    out_.integer(t.storage_offset());
    sizes(t.sizes());
    sizes(t.strides());
    if (quantised) quantizer(quantizer_of(t));
    out_.op(t.requires_grad() && !parameter ? '\x88' : '\x89');
    no_hooks();
    if (is_untyped(t)) out_.global("torch", dtype_name(t.dtype()));
    if (has_math_bits(t)) math_bits(t);
    out_.op('t');
    out_.op('R');
    if (parameter) end_parameter();
  }

  // {"conj": True}, as the last argument.
  void math_bits(const Tensor& t) {
    out_.op('}');
    out_.op('(');
    if (has_conj_bit(t)) {
      text("conj");
      out_.op('\x88');
    }
    if (has_neg_bit(t)) {
      text("neg");
      out_.op('\x88');
    }
    out_.op('u');
  }

  StorageTable& storages_;
  const PickleOptions& options_;
  PickleParts parts_;
  std::unordered_set<const void*> shared_;
  PickleBytes out_;
  std::unordered_map<const void*, uint32_t> memo_;
  std::map<std::string, uint32_t> devices_;
  std::map<std::pair<const Storage*, DType>, uint32_t> stored_;
};

}  // namespace

std::string write_pickle(const Value& v, StorageTable& storages, const PickleOptions& options) {
  return Writer(storages, options).write(v);
}

}  // namespace sconce
