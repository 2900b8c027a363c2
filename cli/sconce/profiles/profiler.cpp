#include "profiles/profiler.h"

#include <algorithm>

#include <fmt/format.h>

#include "graphs/graph_watch.h"

namespace sconce::cli {

const char* const kInterpreter = "(interpreter)";

const Op* op_of(const runtime::Instruction& instruction) {
  return runtime::opcode_info(instruction.op).operands[3] == 'o' ? instruction.op_call->op : nullptr;
}

namespace {

// "model.py:12": where people wrote it, when that is known.
Range place_of(const runtime::Site* site) {
  if (!site || !site->range) return {};
  const Range original = site->range.original();
  return original ? original : site->range;
}
std::string line_name(const Range& at) {
  return at ? fmt::format("{}:{}", at.source->name(), at.line()) : std::string(kInterpreter);
}
std::string line_text(const Range& at) {
  if (!at) return "";
  std::string_view text = at.source->line_text(static_cast<size_t>(at.line() - at.source->first_line()));
  const size_t start = text.find_first_not_of(" \t");
  return start == text.npos ? "" : std::string(text.substr(start));
}

// "BasicBlock" of "__torch__.torchvision.models.resnet.BasicBlock.forward".
std::string class_name(const std::string& function) {
  const size_t dot = function.rfind('.');
  if (dot == function.npos) return function;
  const size_t before = function.rfind('.', dot - 1);
  return function.substr(before == function.npos ? 0 : before + 1, dot - (before == function.npos ? 0 : before + 1));
}
// "layer1.0", "layer1.0.helper()" of other methods than forward, "batch_norm()" of a function.
std::string scope_name(const ir::InlinedCall& call) {
  const std::string method = call.function.substr(call.function.rfind('.') + 1);
  if (call.object.empty()) return method + "()";
  return method == "forward" ? call.object : call.object + "." + method + "()";
}

std::string inputs_text(const runtime::OpCall& call, const runtime::Instruction& instruction, const Value* registers) {
  std::string out;
  const auto add = [&](uint32_t operand) {
    std::string text = seen_text(registers[operand / 2]);
    out += (out.empty() ? "" : ", ") + (text.empty() ? std::string("-") : text);
  };
  const char* operands = runtime::opcode_info(instruction.op).operands;
  if (operands[1] == '-') {  // any operator: the record has all
    for (const runtime::Operand o : call.args) add(o & ~runtime::kMoves);
  } else {
    add(instruction.b & ~1U);
    if (operands[2] != '-') add(instruction.c & ~1U);
    if (call.args.size() > 2) add(call.args[2] & ~runtime::kMoves);
  }
  return out;
}

void sort_rows(std::vector<ProfileRow>& rows, size_t runs) {
  std::vector<std::pair<uint64_t, size_t>> order;
  order.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) order.emplace_back(median_ns(rows[i].runs, runs), i);
  std::sort(order.begin(), order.end(), [&](const auto& x, const auto& y) {
    const ProfileRow &a = rows[x.second], &b = rows[y.second];
    return std::tie(y.first, b.ns, a.name) < std::tie(x.first, a.ns, b.name);
  });
  std::vector<ProfileRow> sorted;
  sorted.reserve(order.size());
  for (const auto& [median, i] : order) sorted.push_back(std::move(rows[i]));
  rows = std::move(sorted);
}

}  // namespace

std::unique_ptr<InstructionTimer::Thread> Profiler::new_thread() {
  auto track = std::make_unique<Track>();
  tracks_.push_back(track.get());
  return track;
}

void Profiler::begins(Thread& thread, const runtime::Code& code, size_t instruction, const Value* registers) {
  if (!options_.shapes && !options_.trace) return;
  auto& track = static_cast<Track&>(thread);
  if (options_.trace) follow_scope(track, code, instruction, now_ns());
  const runtime::Instruction& i = code.instructions[instruction];
  if (op_of(i)) track.inputs = inputs_text(*i.op_call, i, registers);
}

void Profiler::ended(Thread& thread, uint64_t from, uint64_t to, const runtime::Code*, const Value*) {
  if (!options_.shapes && !options_.trace) return;
  auto& track = static_cast<Track&>(thread);
  const runtime::Instruction& instruction = thread.code->instructions[thread.instruction];
  const Op* op = op_of(instruction);
  if (options_.shapes) {
    track.by_shape[{op ? op->info.name : kInterpreter, op ? track.inputs : ""}].add(to - from);
  }
  if (options_.trace && op) {
    const std::string place = place_of(thread.code->site_of(&instruction)).to_string();
    keep(track, {"operator", op->info.name, from, to, track.number, place, std::move(track.inputs)});
  }
}

void Profiler::run_ended(Thread& thread, bool keep) {
  for (auto& [key, count] : static_cast<Track&>(thread).by_shape) count.end_run(kept_runs(), keep);
}

void Profiler::entered(Thread& thread, const runtime::Code& code, uint64_t at) {
  if (!options_.trace) return;
  auto& track = static_cast<Track&>(thread);
  track.open.push_back({{"method", code.name, at, 0, track.number, "", ""}, nullptr});
  track.scope = nullptr;
}

void Profiler::left(Thread& thread, const runtime::Code&, uint64_t at) {
  if (!options_.trace) return;
  auto& track = static_cast<Track&>(thread);
  while (!track.open.empty() && track.open.back().call) close(track, at);  // modules of the frame
  if (!track.open.empty()) close(track, at);
  track.scope = track.open.empty() ? nullptr : track.open.back().call;
}

// Ends the slices of modules that the instruction is not in, and begins those that it is in.
void Profiler::follow_scope(Track& track, const runtime::Code& code, size_t instruction, uint64_t now) {
  const runtime::Site* site = code.site_of(&code.instructions[instruction]);
  const ir::InlinedCall* scope = site ? site->inlined.get() : nullptr;
  auto& first = track.first[&code];
  const auto [known, is_new] = first.try_emplace(scope, instruction);
  const bool begins_again = !is_new && scope && known->second == instruction;  // the next turn of a loop
  if (scope == track.scope && !begins_again) return;
  std::vector<const ir::InlinedCall*> chain;  // innermost first
  for (const ir::InlinedCall* c = scope; c; c = c->outer.get()) chain.push_back(c);
  size_t frame = track.open.size();  // where the slices of this frame's modules start
  while (frame > 0 && track.open[frame - 1].call) --frame;
  size_t common = 0;
  while (frame + common < track.open.size() && common < chain.size() &&
         track.open[frame + common].call == chain[chain.size() - 1 - common]) {
    ++common;
  }
  if (begins_again && common == chain.size()) --common;
  while (track.open.size() > frame + common) close(track, now);
  for (size_t i = chain.size() - common; i-- > 0;) {
    const ir::InlinedCall& call = *chain[i];
    const std::string name =
        fmt::format("{} {}", scope_name(call), call.object.empty() ? "" : class_name(call.function));
    track.open.push_back(
        {{"module", name.substr(0, name.find_last_not_of(' ') + 1), now, 0, track.number, call.call.to_string(), ""},
         &call});
  }
  track.scope = scope;
}

void Profiler::close(Track& track, uint64_t at) {
  TraceSlice slice = std::move(track.open.back().slice);
  track.open.pop_back();
  slice.end = at;
  keep(track, std::move(slice));
}

void Profiler::keep(Track& track, TraceSlice slice) {
  if (kept_.fetch_add(1, std::memory_order_relaxed) >= kMostSlices) {
    dropped_ = true;
    return;
  }
  track.slices.push_back(std::move(slice));
}

std::vector<TraceSlice> Profiler::slices() const {
  std::vector<TraceSlice> all;
  for (const Track* track : tracks_) all.insert(all.end(), track->slices.begin(), track->slices.end());
  return all;
}

std::vector<ProfileRow> Profiler::rows_by_shape() const {
  std::map<std::pair<std::string, std::string>, Count> counts;
  for (const Track* track : tracks_) {
    for (const auto& [key, count] : track->by_shape) {
      counts[key].calls += count.calls;
      counts[key].ns += count.ns;
      add_runs(counts[key].runs, count.runs);
    }
  }
  std::vector<ProfileRow> rows;
  rows.reserve(counts.size());
  for (const auto& [key, count] : counts)
    rows.push_back({key.first, key.second, count.calls, count.ns, count.ns, count.runs, count.runs});
  return rows;
}

std::vector<ProfileRow> Profiler::rows_by_module() const {
  struct First {
    const runtime::Code* code = nullptr;
    size_t instruction = 0;
    uint64_t calls = 0;
  };
  struct Module {
    ProfileRow row;
    std::unordered_map<const ir::InlinedCall*, First> first;  // of each call of it, the first instruction
  };
  std::map<std::string, Module> modules;
  for_each([&](const runtime::Code& code, size_t instruction, const Count& count) {
    const runtime::Site* site = code.site_of(&code.instructions[instruction]);
    bool is_innermost = true;
    std::string counted = ".";  // a module that calls itself counts once
    const auto add = [&](const std::string& name, const std::string& detail, const ir::InlinedCall* call) {
      Module& m = modules[name];
      m.row.name = name;
      if (m.row.detail.empty()) m.row.detail = detail;
      if (counted.find("\n" + name + "\n") == counted.npos) {
        m.row.ns += count.ns;
        add_runs(m.row.runs, count.runs);
      }
      counted += "\n" + name + "\n";
      if (is_innermost) {
        m.row.self_ns += count.ns;
        add_runs(m.row.self_runs, count.runs);
      }
      is_innermost = false;
      const auto [at, is_new] = m.first.try_emplace(call);
      if (is_new || (at->second.code == &code && at->second.instruction > instruction)) {
        at->second = {&code, instruction, count.calls};
      } else if (at->second.code == &code && at->second.instruction == instruction) {
        at->second.calls += count.calls;  // of another thread
      }
    };
    for (const ir::InlinedCall* c = site ? site->inlined.get() : nullptr; c; c = c->outer.get()) {
      add(scope_name(*c), c->object.empty() ? "" : class_name(c->function), c);
    }
    add(fmt::format("{}()", code.name), "", nullptr);
  });
  std::vector<ProfileRow> rows;
  for (auto& [name, m] : modules) {
    for (const auto& [call, first] : m.first) m.row.calls += first.calls;
    rows.push_back(std::move(m.row));
  }
  return rows;
}

std::vector<ProfileRow> Profiler::rows(By by) const {
  std::vector<ProfileRow> rows;
  if (by == By::module) {
    rows = rows_by_module();
  } else if (by == By::op && options_.shapes) {
    rows = rows_by_shape();
  } else {
    std::map<std::string, ProfileRow> known;
    for_each([&](const runtime::Code& code, size_t instruction, const Count& count) {
      const runtime::Instruction& i = code.instructions[instruction];
      const Op* op = op_of(i);
      const Range at = by == By::line ? place_of(code.site_of(&i)) : Range();
      const std::string name = by == By::line ? line_name(at) : op ? op->info.name : kInterpreter;
      ProfileRow& row = known[name];
      if (row.name.empty()) {
        row.name = name;
        row.detail = line_text(at);
      }
      if (by == By::op || op) row.calls += count.calls;
      row.ns += count.ns;
      row.self_ns += count.ns;
      add_runs(row.runs, count.runs);
      row.self_runs = row.runs;
    });
    for (auto& [name, row] : known) rows.push_back(std::move(row));
  }
  sort_rows(rows, kept_runs());
  return rows;
}

}  // namespace sconce::cli
