// Superinstructions at the ends of counting loops.
#include "sconce/runtime/bytecode/compiler.h"

namespace sconce::runtime {
namespace {

bool fits_16_bits(int64_t v) { return v >= INT16_MIN && v <= INT16_MAX; }

}  // namespace

//       add_int s s x                          add_int_for s x i -> top
//       jump -> end                            jump -> exit
//       ...                            =>      ...
//       add_int_imm s s 1                      add_int_imm_for s 1 i -> top
// end:  for_loop i n -> top              exit:
// exit:
// Every way to the end of the loop that ends in an addition gets a fused copy of it; the original is removed when no
// other way leads to it.
void BytecodeCompiler::fuse_loop_ends() {
  std::vector<std::vector<size_t>> jumps_at(drafts_.size() + 1);  // jumps (numbers in jumps_) by their targets
  std::unordered_map<size_t, size_t> jump_of;                     // instruction -> number in jumps_
  for (size_t j = 0; j < jumps_.size(); ++j) {
    jumps_at[static_cast<size_t>(jumps_[j].second->at)].push_back(j);
    jump_of.emplace(jumps_[j].first, j);
  }
  const auto can_fuse = [&](size_t at) {
    const DraftInstruction& d = drafts_[at];
    return (d.op == Opcode::add_int && (d.a == d.b || d.a == d.c)) ||
           (d.op == Opcode::add_int_imm && d.a == d.b && fits_16_bits(d.tail.integer));
  };
  const auto fuse = [&](size_t at, Draft counter, Label* top) {
    DraftInstruction& d = drafts_[at];
    if (d.op == Opcode::add_int) {
      d.op = Opcode::add_int_for;
      d.b = d.a == d.b ? d.c : d.b;
    } else {
      d.op = Opcode::add_int_imm_for;
      d.b = static_cast<uint16_t>(d.tail.integer);
    }
    d.c = counter;
    jumps_.emplace_back(at, top);
  };
  for (size_t end = 1; end < drafts_.size(); ++end) {
    if (drafts_[end].op != Opcode::for_loop || drafts_[end].b != drafts_[end].a + 2) continue;
    const Draft counter = drafts_[end].a;
    Label* top = jumps_[jump_of.at(end)].second;
    size_t others = jumps_at[end].size();
    for (const size_t j : jumps_at[end]) {
      const size_t from = jumps_[j].first;
      if (drafts_[from].op != Opcode::jump || from == 0 || !jumps_at[from].empty() || !can_fuse(from - 1)) continue;
      fuse(from - 1, counter, top);
      Label& exit = labels_.emplace_back();
      exit.at = static_cast<int64_t>(end) + 1;
      jumps_[j].second = &exit;
      --others;
    }
    if (others != 0 || !can_fuse(end - 1)) continue;
    fuse(end - 1, counter, top);
    std::erase_if(jumps_, [&](const auto& jump) { return jump.first == end; });
    jump_of.clear();
    for (size_t j = 0; j < jumps_.size(); ++j) jump_of.emplace(jumps_[j].first, j);
    jumps_at.assign(drafts_.size() + 1, {});
    for (size_t j = 0; j < jumps_.size(); ++j) jumps_at[static_cast<size_t>(jumps_[j].second->at)].push_back(j);
    drafts_[end].deleted = true;
  }
  remove_deleted();
}

void BytecodeCompiler::remove_deleted() {
  std::vector<size_t> moved(drafts_.size() + 1);
  size_t next = 0;
  for (size_t i = 0; i < drafts_.size(); ++i) {
    moved[i] = next;
    next += !drafts_[i].deleted;
  }
  moved[drafts_.size()] = next;
  if (next == drafts_.size()) return;
  std::erase_if(drafts_, [](const DraftInstruction& d) { return d.deleted; });
  for (Label& label : labels_)
    label.at = label.at < 0 ? label.at : static_cast<int64_t>(moved[static_cast<size_t>(label.at)]);
  for (auto& [at, label] : jumps_) at = moved[at];
  for (Site& site : code_->sites) site.first = static_cast<uint32_t>(moved[site.first]);
}

}  // namespace sconce::runtime
