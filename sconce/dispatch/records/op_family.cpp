#include "sconce/dispatch/records/op_family.h"

#include <zlib.h>

#include <new>

#include "sconce/dispatch/binding/load_device.h"
#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/same.h"

namespace sconce {
namespace {

void set(Op& op, Key key, const char* kernel) {
  op.kernels[static_cast<int>(key)] = kernel;
  op.mask |= KeySet(key).bits();
}

}  // namespace

void make_ops(const OpFamily& family) noexcept {
  const auto text = [](const PackedTexts& texts, uint16_t place) { return place ? texts.place + place : nullptr; };
  for (size_t i = 0; i < family.count; ++i) {
    const OpRecord& r = family.records[i];
    Op& op = family.ops[i];
    op.family = &family;
    op.info = {.name = family.names + r.name,
               .overload = family.names + r.overload,
               .schema = text(*family.schemas, r.schema),
               .texts = {.body = text(*family.texts, r.body),
                         .derivatives = text(*family.texts, r.derivatives),
                         .doc = text(*family.texts, r.doc)},
               .entry = r.entry ? family.entries + r.entry - 1 : nullptr,
               .traits = r.traits,
               .gradient = r.gradient,
               .functional = r.functional,
               .formulas = r.formulas ? family.formulas[r.formulas - 1] : nullptr,
               .dtypes = r.dtypes,
               .formats = r.formats};
    op.box = r.thunk ? family.thunks[r.thunk - 1] : nullptr;
    set(op, Key::cpu, r.kernel);
    set(op, Key::meta, r.refuses_meta ? SCONCE_BOXED_KERNEL(refuse_meta) : r.kernel);
    if (r.loads_device) set(op, Key::cuda, SCONCE_BOXED_KERNEL(load_device));
    if (r.gradient != Gradient::through) set(op, Key::autograd, family.autograd);
  }
  for (size_t i = 0; i < family.kernel_count; ++i) {
    const OpKernel& k = family.kernels[i];
    set(family.ops[k.op], k.key, k.kernel);
  }
}

void unpack_texts(PackedTexts& texts) {
  texts.once([&] {
    z_stream stream{};
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(texts.deflated));
    stream.avail_in = texts.deflated_size;
    stream.next_out = reinterpret_cast<Bytef*>(texts.place);
    stream.avail_out = texts.size;
    int status = inflateInit2(&stream, -MAX_WBITS);
    if (status == Z_OK) {
      status = inflate(&stream, Z_FINISH);
      inflateEnd(&stream);
    }
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    SCONCE_ASSERT(status == Z_STREAM_END && stream.total_out == texts.size);
  });
}

}  // namespace sconce
