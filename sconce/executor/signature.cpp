#include "sconce/executor/signature.h"

#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/gemm/provider.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/promotion.h"

namespace sconce::executor {
namespace {

void append_text(std::string_view text, Words& words) {
  words.push_back(text.size());
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
    words.push_back(word);
  }
}

struct Geometry {
  SmallVector<TensorImpl*, 8>& tensors;
  bool records;
  bool operator()(const Tensor& t, Words& words) const {
    if (!is_plain(t) || (records && t.requires_grad())) return false;
    const TensorImpl& impl = *t.impl();
    words.push_back(impl.meta & ~kUnsigned);
    const auto rank = static_cast<size_t>(t.dim());
    const int64_t* dims = t.sizes().data();  // strides stand behind sizes
    for (size_t i = 0; i < 2 * rank; ++i) words.push_back(static_cast<uint64_t>(dims[i]));
    uint64_t same = 0;
    for (const TensorImpl* other : tensors) {
      if (other == t.impl()) break;
      ++same;
    }
    words.push_back(same);
    tensors.push_back(t.impl());
    return true;
  }
};

struct Identity {
  bool operator()(const Tensor& t, Words& words) const {
    words.push_back(reinterpret_cast<uint64_t>(t.impl()));
    return true;
  }
};

template <class F>
bool append(const Value& v, Words& words, const F& tensor) {
  words.push_back(static_cast<uint64_t>(v.tag()));
  switch (v.tag()) {
    case Tag::none:
      return true;
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::device:
    case Tag::object:
      words.push_back(v.bits());
      return true;
    case Tag::tensor:
      return tensor(v.to_tensor(), words);
    case Tag::string:
      append_text(v.to_string_ref(), words);
      return true;
    case Tag::complex: {
      const std::complex<double> c = v.to_complex();
      words.push_back(std::bit_cast<uint64_t>(c.real()));
      words.push_back(std::bit_cast<uint64_t>(c.imag()));
      return true;
    }
    case Tag::list: {
      const List& list = v.to_list();
      words.push_back(list.size());
      for (size_t i = 0; i < list.size(); ++i) {
        if (!append(list.get(i), words, tensor)) return false;
      }
      return true;
    }
    case Tag::tuple:
      words.push_back(v.to_tuple().items.size());
      for (const Value& item : v.to_tuple().items) {
        if (!append(item, words, tensor)) return false;
      }
      return true;
    case Tag::dict: {
      words.push_back(v.to_dict().size());
      bool known = true;
      v.to_dict().for_each([&](const Value& key, const Value& item) {
        known = known && append(key, words, tensor) && append(item, words, tensor);
      });
      return known;
    }
    default:
      return false;
  }
}

}  // namespace

bool records_gradients() { return grad_enabled() && (thread_modes.exclude & KeySet(Key::autograd).bits()) == 0; }

bool is_plain(const Tensor& t) {
  constexpr KeySet kPlain{Key::cpu, Key::cuda, Key::view, Key::autograd};
  return (t.keys() - kPlain).empty() && (t.keys().has(Key::cpu) || t.keys().has(Key::cuda)) &&
         t.dim() <= TensorImpl::kInlineRank;
}

bool append_arguments(std::span<const Value> args, Words& words, SmallVector<TensorImpl*, 8>& tensors) {
  const Geometry geometry{tensors, records_gradients()};
  for (const Value& v : args) {
    if (!append(v, words, geometry)) return false;
  }
  return true;
}

bool append_identity(const Value& v, Words& words) { return append(v, words, Identity()); }

uint64_t modes_word() {
  const ThreadModes& modes = thread_modes;
  if (modes.include != 0 || uses_onednn()) return 0;
  // The level is not 0.
  return uint64_t{modes.exclude} | uint64_t{modes.exclude_grad} << 16 | uint64_t{modes.inference} << 32 |
         static_cast<uint64_t>(default_dtype()) << 40 | static_cast<uint64_t>(cpu_level()) << 48 |
         static_cast<uint64_t>(is_deterministic()) << 56;
}

bool append_modes(Words& words) {
  const uint64_t word = modes_word();
  if (word == 0) return false;
  words.push_back(word);
  return true;
}

}  // namespace sconce::executor
