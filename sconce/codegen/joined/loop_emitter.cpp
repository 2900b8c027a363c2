// Registers: rdi has the addresses at the entry, rsi the number of elements, rcx counts them. Addresses of operands are
// in kAddresses for the whole loop. Vectors are allocated one instruction after the other: when none is free, the one
// that is needed last is given up, which is free for loads and constants and a store to the stack for others (Belady's
// rule; exact, since a body has no branches).
#include "sconce/codegen/joined/loop_emitter.h"

#if defined(__x86_64__)

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/codegen/joined/machine_code.h"

#define XBYAK_NO_OP_NAMES
#include <xbyak/xbyak.h>

namespace sconce::codegen {
namespace {

SCONCE_VARIANT(spilled_value, "nest.joined.spill",
               "a value without a register: kept in the frame until it is used again", "level 3");
SCONCE_VARIANT(many_constants, "nest.joined.pinned", "more numbers and single elements than are kept in registers",
               "level 3");

using Xbyak::Address;
using Xbyak::Operand;
using Xbyak::Reg64;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr size_t kRoom = 1 << 16;  // bytes of code; a body of 64 calls has some thousand
constexpr int kNever = 1 << 30;
constexpr int kPinned = 5;  // constants that stay in registers for the whole loop

class Emitter : Xbyak::CodeGenerator {
 public:
  Emitter(const Body& body, int level, void* room)
      : CodeGenerator(kRoom, room),
        body_(body),
        wide_(level >= 4),
        registers_(wide_ ? 32 : 16),
        bytes_(wide_ ? 64 : 32),
        lanes_(bytes_ / body.width) {}

  size_t run() {
    find_uses();
    prologue();
    L(top_);
    // Two vectors of AVX2 are a group.
    const int times = wide_ ? 1 : 2;
    for (shift_ = 0; shift_ < times; ++shift_) emit_body();
    add(rcx, times * lanes_);
    cmp(rcx, rsi);
    jb(top_, T_NEAR);
    epilogue();
    return getSize();
  }

 private:
  static Reg64 address_register(size_t k) {
    using Xbyak::Operand;
    constexpr int kAddresses[kMaxBodyOperands] = {Operand::RAX, Operand::RDX, Operand::R8,  Operand::R9,  Operand::R10,
                                                  Operand::R11, Operand::RDI, Operand::RBX, Operand::RBP, Operand::R12,
                                                  Operand::R13, Operand::R14, Operand::R15};
    return Reg64(kAddresses[k]);
  }

  // --- facts about the body

  bool is_invariant(uint16_t v) const { return invariant_[v]; }

  void find_uses() {
    const size_t n = body_.insts.size();
    uses_.assign(n, {});
    invariant_.assign(n, false);
    for (size_t v = 0; v < n; ++v) {
      const Inst& i = body_.insts[v];
      if (i.op == Prim::constant) invariant_[v] = true;
      if (i.op == Prim::load) invariant_[v] = body_.operands[i.number].uniform;
      const uint16_t from[] = {i.a, i.b, i.c};
      bool all = operands_of(i.op) > 0;
      for (int k = 0; k < operands_of(i.op); ++k) all &= invariant_[from[k]];
      if (all) invariant_[v] = true;
      // What is computed before the loop is not a use in it.
      if (all) continue;
      for (int k = 0; k < operands_of(i.op); ++k) uses_[from[k]].push_back(static_cast<int>(v));
    }
    for (const uint16_t r : body_.results) uses_[r].push_back(static_cast<int>(n));
  }

  int next_use(uint16_t v) const {
    for (const int at : uses_[v]) {
      if (at >= now_) return at;
    }
    return kNever;
  }
  // After the instruction at hand.
  bool dies(uint16_t v) const {
    for (const int at : uses_[v]) {
      if (at > now_) return false;
    }
    return true;
  }

  // --- registers

  Xmm vector(int index) const { return wide_ ? static_cast<Xmm>(Zmm(index)) : static_cast<Xmm>(Ymm(index)); }

  int take() {
    for (int r = 0; r < registers_; ++r) {
      if (holder_[r] == kFree) {
        holder_[r] = kTemporary;
        return r;
      }
    }
    int victim = -1, furthest = -1;
    for (int r = 0; r < registers_; ++r) {
      if (holder_[r] < 0 || locked_[r]) continue;
      const auto v = static_cast<uint16_t>(holder_[r]);
      if (is_pinned(v)) continue;
      const int next = next_use(v);
      if (next > furthest) furthest = next, victim = r;
    }
    SCONCE_ASSERT(victim >= 0);
    const auto v = static_cast<uint16_t>(holder_[victim]);
    if (spilled_value(!has_home(v) && furthest != kNever)) {
      save(v, victim);
    }
    place_[v] = -1;
    holder_[victim] = kTemporary;
    return victim;
  }
  void give(int r) { holder_[r] = kFree; }

  bool is_pinned(uint16_t v) const { return pinned_[v]; }

  void save(uint16_t v, int r) {
    if (frame_slots_ == kFrameSlots) throw Xbyak::Error(Xbyak::ERR_CODE_IS_TOO_BIG);
    home_[v] = frame_slots_++;
    vmovups(frame(home_[v]), vector(r));
  }

  Address frame(int slot) { return ptr[rsp + slot * bytes_]; }

  // Whether an instruction's value can be read again from memory.
  bool has_home(uint16_t v) const { return home_[v] >= 0 || body_.insts[v].op == Prim::constant || is_whole_load(v); }
  // A load of lanes as they are.
  bool is_whole_load(uint16_t v) const {
    const Inst& i = body_.insts[v];
    return i.op == Prim::load && static_cast<int>(item_size(body_.operands[i.number].dtype)) == body_.width;
  }

  Address memory(uint16_t v) {
    const Inst& i = body_.insts[v];
    if (home_[v] >= 0) return frame(home_[v]);
    if (i.op == Prim::constant) return pool(i.bits);
    return element_address(i.number);
  }

  // The vector at hand of an operand.
  Address element_address(size_t operand) {
    const Reg64 base = address_register(operand);
    const BodyOperand& o = body_.operands[operand];
    if (o.uniform) return ptr[base];
    const int item = static_cast<int>(item_size(o.dtype));
    return ptr[base + rcx * item + shift_ * lanes_ * item];
  }

  Address pool(uint64_t bits) {
    const auto [at, added] = pool_.try_emplace(bits, static_cast<int>(pool_.size()));
    (void)added;
    return ptr[rip + constants_ + at->second * bytes_];
  }

  // The value in a register, which stays locked until the instruction is done.
  Xmm in_register(uint16_t v) {
    if (place_[v] < 0) {
      const int r = take();
      if (has_home(v)) {
        vmovups(vector(r), memory(v));
      } else {
        SCONCE_ASSERT(body_.insts[v].op == Prim::load);
        load(vector(r), body_.insts[v]);
      }
      place_[v] = r;
      holder_[r] = v;
    }
    locked_[place_[v]] = true;
    return vector(place_[v]);
  }

  // The last source of an instruction may be memory: it is, where nobody needs the value again.
  template <class Use>
  void with_source(uint16_t v, const Use& use) {
    if (place_[v] < 0 && has_home(v) && (dies(v) || is_invariant(v))) {
      const Address a = memory(v);
      use(static_cast<const Operand&>(a));
      return;
    }
    const Xmm r = in_register(v);
    use(static_cast<const Operand&>(r));
  }

  void load(const Xmm& d, const Inst& i) {
    const Address a = element_address(i.number);
    const bool four = body_.width == 4;
    switch (body_.operands[i.number].dtype) {
      case DType::bool_:
      case DType::uint8:
        four ? vpmovzxbd(d, a) : vpmovzxbq(d, a);
        break;
      case DType::int8:
        four ? vpmovsxbd(d, a) : vpmovsxbq(d, a);
        break;
      case DType::int16:
        four ? vpmovsxwd(d, a) : vpmovsxwq(d, a);
        break;
      case DType::int32:
        four ? vmovups(d, a) : vpmovsxdq(d, a);
        break;
      case DType::bfloat16:
        vpmovzxwd(d, a);
        vpslld(d, d, 16);
        break;
      case DType::float16:
        vcvtph2ps(d, a);
        break;
      case DType::float32:
        four ? vmovups(d, a) : vcvtps2pd(d, a);
        break;
      default:
        vmovups(d, a);
    }
  }

  // --- the loop

  void prologue() {
    place_.assign(body_.insts.size(), -1);
    home_.assign(body_.insts.size(), -1);
    pinned_.assign(body_.insts.size(), false);
    const size_t count = body_.operands.size();
    for (size_t k = kFirstSaved; k < count; ++k) push(address_register(k));
    mov(r11, rsp);  // the frame is aligned; where it was stands behind it
    sub(rsp, kFrameBytes);
    and_(rsp, -64);
    mov(ptr[rsp + kFrameSlots * 64], r11);
    mov(rcx, rdi);
    for (size_t k = 0; k < count; ++k) mov(address_register(k), ptr[rcx + static_cast<int>(k) * 8]);
    xor_(ecx, ecx);
    // What does not change is computed once. It is kept on the stack; the most used of it, in registers.
    now_ = 0;
    for (size_t v = 0; v < body_.insts.size(); ++v) {
      const Inst& i = body_.insts[v];
      if (!invariant_[v] || i.op == Prim::constant || is_whole_load(static_cast<uint16_t>(v))) continue;
      now_ = static_cast<int>(v);
      const int r = compute(static_cast<uint16_t>(v));
      save(static_cast<uint16_t>(v), r);
      release_all();
    }
    std::vector<uint16_t> candidates;
    for (size_t v = 0; v < body_.insts.size(); ++v) {
      if (invariant_[v] && !uses_[v].empty()) candidates.push_back(static_cast<uint16_t>(v));
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](uint16_t a, uint16_t b) { return uses_[a].size() > uses_[b].size(); });
    if (many_constants(candidates.size() > kPinned)) candidates.resize(kPinned);
    for (const uint16_t v : candidates) {
      in_register(v);
      pinned_[v] = true;
      locked_[place_[v]] = false;
    }
    align(32);
  }

  void release_all() {
    for (int r = 0; r < registers_; ++r) {
      locked_[r] = false;
      if (holder_[r] >= 0 && is_pinned(static_cast<uint16_t>(holder_[r]))) continue;
      if (holder_[r] >= 0) place_[static_cast<size_t>(holder_[r])] = -1;
      holder_[r] = kFree;
    }
  }

  void emit_body() {
    const int frame_before = frame_slots_;
    std::vector<int> homes = home_;
    for (size_t v = 0; v < body_.insts.size(); ++v) {
      const Inst& i = body_.insts[v];
      if (invariant_[v] || i.op == Prim::load || uses_[v].empty()) continue;
      now_ = static_cast<int>(v);
      const int r = compute(static_cast<uint16_t>(v));
      place_[v] = r;
      holder_[r] = static_cast<int>(v);
      finish_instruction();
    }
    // Stores come last: an operand may be the same memory as a result.
    now_ = static_cast<int>(body_.insts.size());
    const size_t first = body_.operands.size() - body_.results.size();
    for (const uint16_t v : body_.results) {  // nor may what is stored be loaded again after the first store
      if (body_.insts[v].op != Prim::load || invariant_[v] || body_.results.size() == 1) continue;
      const Xmm x = in_register(v);
      save(v, x.getIdx());
      locked_[x.getIdx()] = false;
    }
    for (size_t k = 0; k < body_.results.size(); ++k) {
      const Xmm x = in_register(body_.results[k]);
      store(first + k, x);
      for (int r = 0; r < registers_; ++r) locked_[r] = false;
    }
    release_all();
    home_ = homes;
    frame_slots_ = frame_before;
  }

  void finish_instruction() {
    for (int r = 0; r < registers_; ++r) {
      locked_[r] = false;
      if (holder_[r] < 0) continue;
      const auto v = static_cast<uint16_t>(holder_[r]);
      if (is_pinned(v) || !dies(v)) continue;
      place_[v] = -1;
      holder_[r] = kFree;
    }
  }

  void epilogue() {
    vzeroupper();
    mov(rsp, ptr[rsp + kFrameSlots * 64]);
    for (size_t k = body_.operands.size(); k-- > kFirstSaved;) pop(address_register(k));
    ret();
    align(64);
    L(constants_);
    std::vector<uint64_t> list(pool_.size());
    for (const auto& [bits, at] : pool_) list[static_cast<size_t>(at)] = bits;
    for (const uint64_t bits : list) {
      for (int k = 0; k < bytes_; k += body_.width) body_.width == 4 ? dd(static_cast<uint32_t>(bits)) : dq(bits);
    }
  }

  // --- instructions

  bool four() const { return body_.width == 4; }

  // The result's register: that of nobody yet.
  int compute(uint16_t v) {
    const Inst& i = body_.insts[v];
    switch (i.op) {
      case Prim::load: {
        const int d = take();
        load(vector(d), i);
        return d;
      }
      case Prim::fma:
        return fused(i);
      case Prim::select:
        return select(i);
      case Prim::maximum:
      case Prim::minimum:
      case Prim::fmax:
      case Prim::fmin:
        return extremum(i);
      case Prim::eq:
      case Prim::ne:
      case Prim::lt:
      case Prim::le:
      case Prim::gt:
      case Prim::ge:
        return i.real ? compare_floats(i) : compare_integers(i);
      default:
        return operands_of(i.op) == 1 ? unary(i) : binary(i);
    }
  }

  int binary(const Inst& i) {
    if (i.op == Prim::mul && !i.real && !four() && !wide_) return multiply_quads(i);
    const Xmm a = in_register(i.a);
    int d = -1;
    with_source(i.b, [&](const Operand& b) {
      d = take();
      const Xmm out = vector(d);
      switch (i.op) {
        case Prim::add:
          i.real ? (four() ? vaddps(out, a, b) : vaddpd(out, a, b)) : (four() ? vpaddd(out, a, b) : vpaddq(out, a, b));
          break;
        case Prim::sub:
          i.real ? (four() ? vsubps(out, a, b) : vsubpd(out, a, b)) : (four() ? vpsubd(out, a, b) : vpsubq(out, a, b));
          break;
        case Prim::mul:
          i.real ? (four() ? vmulps(out, a, b) : vmulpd(out, a, b))
                 : (four() ? vpmulld(out, a, b) : vpmullq(out, a, b));
          break;
        case Prim::div:
          four() ? vdivps(out, a, b) : vdivpd(out, a, b);
          break;
        case Prim::bit_and:
          vandps(out, a, b);
          break;
        case Prim::bit_or:
          vorps(out, a, b);
          break;
        default:
          vxorps(out, a, b);
      }
    });
    return d;
  }

  // The low 64 bits of products; AVX2 multiplies 32.
  int multiply_quads(const Inst& i) {
    const Xmm a = in_register(i.a), b = in_register(i.b);
    const int d = take(), t = take();
    const Xmm out = vector(d), high = vector(t);
    vpshufd(high, b, 0xb1);
    vpmulld(high, high, a);  // low * high and high * low
    vpsrlq(out, high, 32);
    vpaddd(high, high, out);
    vpsllq(high, high, 32);
    vpmuludq(out, a, b);
    vpaddq(out, out, high);
    give(t);
    return d;
  }

  int unary(const Inst& i) {
    const Xmm a = in_register(i.a);
    const int d = take();
    const Xmm out = vector(d);
    const auto round = [&](uint8_t mode) {
      if (wide_) {
        four() ? vrndscaleps(out, a, mode) : vrndscalepd(out, a, mode);
      } else {
        four() ? vroundps(out, a, mode) : vroundpd(out, a, mode);
      }
    };
    switch (i.op) {
      case Prim::sqrt:
        four() ? vsqrtps(out, a) : vsqrtpd(out, a);
        break;
      case Prim::round:
        round(8);
        break;
      case Prim::floor:
        round(9);
        break;
      case Prim::ceil:
        round(10);
        break;
      case Prim::trunc:
        round(11);
        break;
      case Prim::to_float:
        vcvtdq2ps(out, a);
        break;
      case Prim::to_int:
        vcvttps2dq(out, a);
        break;
      case Prim::abs:
        absolute(out, a);
        break;
      case Prim::round_bf16:
        round_bf16(out, a);
        break;
      case Prim::round_f16: {
        const Xmm half = wide_ ? static_cast<Xmm>(Ymm(d)) : Xmm(d);
        vcvtps2ph(half, a, 0);
        vcvtph2ps(out, half);
        break;
      }
      default:
        wrap(out, a, i.dtype);
    }
    return d;
  }

  void absolute(const Xmm& out, const Xmm& a) {
    if (four()) return vpabsd(out, a);
    if (wide_) return vpabsq(out, a);
    const int t = take();  // the sign in every bit; (a ^ sign) - sign
    vpxor(out, out, out);
    vpcmpgtq(vector(t), out, a);
    vpxor(out, a, vector(t));
    vpsubq(out, out, vector(t));
    give(t);
  }

  // round_to_bfloat16 of vec.h: half of the dropped bits, and one more for an odd number, is added; NaN is one NaN.
  void round_bf16(const Xmm& out, const Xmm& a) {
    const int t = take();
    const Xmm more = vector(t);
    vpsrld(more, a, 16);
    vandps(more, more, pool(1));
    vpaddd(more, more, a);
    vpaddd(more, more, pool(0x7fff));
    vandps(more, more, pool(0xffff0000));
    if (wide_) {
      vcmpps(k1, a, a, kUnordered);
      vmovaps(out, more);
      vmovaps(out | k1, pool(0x7fc00000));
    } else {
      vcmpps(out, a, a, kUnordered);
      vblendvps(out, more, pool(0x7fc00000), out);
    }
    give(t);
  }

  void wrap(const Xmm& out, const Xmm& a, DType to) {
    if (to == DType::uint8) return vandps(out, a, pool(0xff));
    const int drop = to == DType::int8 ? 24 : 16;
    vpslld(out, a, drop);
    vpsrad(out, out, drop);
  }

  int fused(const Inst& i) {
    // d = a * b + c, over c if it is not needed any more, else over a copy of it.
    const Xmm a = in_register(i.a);
    int d;
    if (place_[i.c] >= 0 && dies(i.c) && !is_pinned(i.c) && i.c != i.a && i.c != i.b) {
      d = place_[i.c];
      place_[i.c] = -1;
      holder_[d] = kTemporary;
    } else if (place_[i.c] < 0 && has_home(i.c)) {
      d = take();
      vmovups(vector(d), memory(i.c));
    } else {
      const Xmm c = in_register(i.c);
      d = take();
      vmovaps(vector(d), c);
    }
    with_source(i.b, [&](const Operand& b) { four() ? vfmadd231ps(vector(d), a, b) : vfmadd231pd(vector(d), a, b); });
    return d;
  }

  int select(const Inst& i) {
    const Xmm m = in_register(i.a);
    int d = -1;
    if (wide_) {
      const Xmm b = in_register(i.b);
      with_source(i.c, [&](const Operand& c) {
        d = take();
        vmovaps(vector(d), m);
        vpternlogd(vector(d), b, c, 0xca);
      });
      return d;
    }
    const Xmm c = in_register(i.c);
    with_source(i.b, [&](const Operand& b) {
      d = take();
      vblendvps(vector(d), c, b, m);
    });
    return d;
  }

  enum { kUnordered = 3 };

  // Where x is NaN, `out` becomes `from`.
  void take_where_nan(const Xmm& out, const Xmm& from, const Xmm& x) {
    if (wide_) {
      four() ? vcmpps(k1, x, x, kUnordered) : vcmppd(k1, x, x, kUnordered);
      four() ? vmovaps(out | k1, from) : vmovapd(out | k1, from);
      return;
    }
    const int t = take();
    four() ? vcmpps(vector(t), x, x, kUnordered) : vcmppd(vector(t), x, x, kUnordered);
    vblendvps(out, out, from, vector(t));
    give(t);
  }

  // Is it a constant that is a number (not NaN)?
  bool is_number(uint16_t v, bool not_zero) const {
    const Inst& i = body_.insts[v];
    if (i.op != Prim::constant) return false;
    const double x = four() ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(i.bits)))
                            : std::bit_cast<double>(i.bits);
    return x == x && !(not_zero && x == 0);
  }

  // maxps(x, y) is x > y ? x : y, so y where either is NaN or both are equal.
  int extremum(const Inst& i) {
    const bool greater = i.op == Prim::maximum || i.op == Prim::fmax;
    if (!i.real) return integer_extremum(i, greater);
    const auto emit = [&](const Xmm& out, const Xmm& x, const Operand& y) {
      if (greater) {
        four() ? vmaxps(out, x, y) : vmaxpd(out, x, y);
      } else {
        four() ? vminps(out, x, y) : vminpd(out, x, y);
      }
    };
    const bool nan_wins = i.op == Prim::maximum || i.op == Prim::minimum;
    // With the operands exchanged, NaN of the first is kept at once; a constant that is not 0 has no second spelling.
    const bool exchanged = nan_wins && is_number(i.b, true);
    const Xmm first = in_register(exchanged ? i.b : i.a);
    const uint16_t second = exchanged ? i.a : i.b;
    if (exchanged || (nan_wins && is_number(i.a, false)) || (!nan_wins && is_number(i.b, false))) {
      int d = -1;
      with_source(second, [&](const Operand& y) {
        d = take();
        emit(vector(d), first, y);
      });
      return d;
    }
    const Xmm a = first, b = in_register(i.b);
    const int d = take();
    emit(vector(d), a, b);
    take_where_nan(vector(d), a, nan_wins ? a : b);
    return d;
  }

  int integer_extremum(const Inst& i, bool greater) {
    const Xmm a = in_register(i.a), b = in_register(i.b);
    const int d = take();
    const Xmm out = vector(d);
    if (four()) {
      greater ? vpmaxsd(out, a, b) : vpminsd(out, a, b);
    } else if (wide_) {
      greater ? vpmaxsq(out, a, b) : vpminsq(out, a, b);
    } else {
      vpcmpgtq(out, a, b);
      greater ? vblendvpd(out, b, a, out) : vblendvpd(out, a, b, out);
    }
    return d;
  }

  int compare_floats(const Inst& i) {
    constexpr uint8_t kPredicates[] = {0, 4, 17, 18, 30, 29};  // eq, ne (or unordered), lt, le, gt, ge; all quiet
    const uint8_t predicate = kPredicates[static_cast<int>(i.op) - static_cast<int>(Prim::eq)];
    const Xmm a = in_register(i.a);
    int d = -1;
    with_source(i.b, [&](const Operand& b) {
      d = take();
      if (wide_) {
        four() ? vcmpps(k1, a, b, predicate) : vcmppd(k1, a, b, predicate);
        four() ? vpmovm2d(vector(d), k1) : vpmovm2q(vector(d), k1);
      } else {
        four() ? vcmpps(vector(d), a, b, predicate) : vcmppd(vector(d), a, b, predicate);
      }
    });
    return d;
  }

  int compare_integers(const Inst& i) {
    const Xmm a = in_register(i.a), b = in_register(i.b);
    const int d = take();
    const Xmm out = vector(d);
    if (wide_) {
      constexpr uint8_t kPredicates[] = {0, 4, 1, 2, 6, 5};
      const uint8_t predicate = kPredicates[static_cast<int>(i.op) - static_cast<int>(Prim::eq)];
      four() ? vpcmpd(k1, a, b, predicate) : vpcmpq(k1, a, b, predicate);
      four() ? vpmovm2d(out, k1) : vpmovm2q(out, k1);
      return d;
    }
    const auto greater = [&](const Xmm& x, const Xmm& y) { four() ? vpcmpgtd(out, x, y) : vpcmpgtq(out, x, y); };
    if (i.op == Prim::eq || i.op == Prim::ne) {
      four() ? vpcmpeqd(out, a, b) : vpcmpeqq(out, a, b);
    } else if (i.op == Prim::gt || i.op == Prim::le) {
      greater(a, b);
    } else {
      greater(b, a);
    }
    if (i.op == Prim::ne || i.op == Prim::le || i.op == Prim::ge)
      vxorps(out, out, pool(four() ? 0xffffffff : ~uint64_t{0}));
    return d;
  }

  // --- stores

  void store(size_t operand, const Xmm& x) {
    const BodyOperand& o = body_.operands[operand];
    const Address a = element_address(operand);
    if (o.mask) return store_mask(a, x);
    switch (o.dtype) {
      case DType::float16:
        return vcvtps2ph(a, x, 0);
      case DType::bfloat16:
      case DType::int16:
      case DType::int8:
      case DType::uint8:
        return store_narrow(a, x, o.dtype);
      default:
        vmovups(a, x);
    }
  }

  void store_mask(const Address& a, const Xmm& m) {
    const int t = take(), u = take();
    if (wide_) {
      vandps(vector(t), m, pool(1));
      four() ? vpmovdb(a, Zmm(t)) : vpmovqb(a, Zmm(t));
    } else {
      const Xmm low(t), high(u);
      vextracti128(high, Ymm(m.getIdx()), 1);
      if (four()) {
        vpackssdw(low, Xmm(m.getIdx()), high);
      } else {
        vshufps(low, Xmm(m.getIdx()), high, 0x88);  // the lower halves of four masks
        vpackssdw(low, low, low);
      }
      vpacksswb(low, low, low);
      vpand(low, low, bytes_of_one());
      four() ? vmovq(a, low) : vmovd(a, low);
    }
    give(t);
    give(u);
  }

  Address bytes_of_one() { return pool(four() ? 0x01010101 : 0x0101010101010101); }

  // The low 8 or 16 bits of integers; the upper 16 of floats.
  void store_narrow(const Address& a, const Xmm& x, DType dtype) {
    const bool is_byte = dtype == DType::int8 || dtype == DType::uint8;
    const int t = take(), u = take();
    const Xmm part = vector(t);
    if (dtype == DType::bfloat16) {
      vpsrld(part, x, 16);
    } else {
      vandps(part, x, pool(is_byte ? 0xff : 0xffff));
    }
    if (wide_) {
      is_byte ? vpmovdb(a, Zmm(t)) : vpmovdw(a, Zmm(t));
    } else {
      const Xmm low(t), high(u);
      vextracti128(high, Ymm(t), 1);
      vpackusdw(low, low, high);
      if (is_byte) {
        vpackuswb(low, low, low);
        vmovq(a, low);
      } else {
        vmovdqu(a, low);
      }
    }
    give(t);
    give(u);
  }

  static constexpr int kFree = -1, kTemporary = -2;
  static constexpr int kFrameSlots = 96;
  static constexpr int kFrameBytes = kFrameSlots * 64 + 64;
  static constexpr size_t kFirstSaved = 7;  // of the address registers, those that belong to the caller

  const Body& body_;
  const bool wide_;
  const int registers_, bytes_, lanes_;
  int shift_ = 0;  // which vector of a turn
  int now_ = 0;    // the instruction at hand
  int frame_slots_ = 0;
  std::vector<std::vector<int>> uses_;
  std::vector<bool> invariant_, pinned_;
  std::vector<int> place_;  // register of each value, or -1
  std::vector<int> home_;   // its slot of the frame, or -1
  int holder_[32] = {kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree,
                     kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree,
                     kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree, kFree};
  bool locked_[32] = {};
  std::map<uint64_t, int> pool_;
  Xbyak::Label top_, constants_;
};

}  // namespace

std::vector<uint8_t> emit_loop(const Body& body, int level) {
  if (body.operands.size() > kMaxBodyOperands) return {};
  // Aligned, so that what is aligned in it is so in a page.
  constexpr size_t kAlignment = 64;
  std::vector<uint8_t> room(kRoom + kAlignment);
  uint8_t* start = room.data() + (kAlignment - reinterpret_cast<uintptr_t>(room.data()) % kAlignment);
  try {
    Emitter emitter(body, level, start);
    const size_t size = emitter.run();
    return {start, start + size};
  } catch (const Xbyak::Error&) {  // too much code: the values run by themselves
    return {};
  }
}

}  // namespace sconce::codegen

#else  // can_join() says no

namespace sconce::codegen {

std::vector<uint8_t> emit_loop(const Body&, int) { return {}; }

}  // namespace sconce::codegen

#endif
