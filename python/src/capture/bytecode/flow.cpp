#include "capture/bytecode/flow.h"

#include "capture/bytecode/stack_depth.h"

namespace sconce::python::capture {

Flow::Flow(const Code& code) : code_(code) {
  header_.assign(code.instructions.size(), false);
  for (size_t at = 0; at < code.instructions.size(); ++at) {
    const Instruction& i = code.instructions[at];
    if (is_jump(i.op) && i.target <= static_cast<int>(at) && !header_[i.target])
      header_[i.target] = reached(i.target, true)[at];  // compilers put handlers behind all else: they jump back, too
  }
  find_joins();
}

std::vector<int> Flow::successors(int at) const {
  const Instruction& i = code_.instructions[at];
  std::vector<int> next;
  if (!ends_flow(i.op)) next.push_back(at + 1);
  if (is_jump(i.op)) next.push_back(i.target);
  if ((i.op == Op::raise_varargs || i.op == Op::reraise) && i.handler >= 0)
    next.push_back(code_.handlers[i.handler].target);
  return next;
}

std::vector<bool> Flow::reached(int from, bool raising) const {
  std::vector<bool> seen(code_.instructions.size());
  std::vector<int> open = {from};
  seen[from] = true;
  while (!open.empty()) {
    const int now = open.back();
    open.pop_back();
    std::vector<int> next = successors(now);
    if (const int handler = code_.instructions[now].handler; raising && handler >= 0)
      next.push_back(code_.handlers[handler].target);
    for (const int n : next) {
      if (seen[n]) continue;
      seen[n] = true;
      open.push_back(n);
    }
  }
  return seen;
}

// Immediate post-dominators (Cooper, Harvey, Kennedy) towards the last return.
void Flow::find_joins() {
  const int count = static_cast<int>(code_.instructions.size());
  join_.assign(count, -1);
  const std::vector<int> depths = stack_depths(code_);
  int end = -1;
  for (const bool raising : {false, true}) {
    const std::vector<bool> seen = reached(0, raising);
    for (int at = 0; at < count && (end < 0 || !raising); ++at)
      if (seen[at] && code_.instructions[at].op == Op::return_value) end = at;
  }
  before_.resize(count);
  for (int at = 0; at < count; ++at)
    if (depths[at] >= 0)
      for (const int next : successors(at)) before_[next].push_back(at);
  if (end < 0) return;
  // Order in which all that follows an instruction comes first: a walk back from the end.
  std::vector<int> order(count, -1), sequence;
  std::vector<std::pair<int, size_t>> open = {{end, 0}};
  std::vector<bool> seen(count);
  seen[end] = true;
  while (!open.empty()) {
    auto& [at, next] = open.back();
    if (next < before_[at].size()) {
      const int b = before_[at][next++];
      if (!seen[b]) {
        seen[b] = true;
        open.push_back({b, 0});
      }
    } else {
      sequence.push_back(at);
      open.pop_back();
    }
  }
  for (size_t i = 0; i < sequence.size(); ++i) order[sequence[i]] = static_cast<int>(i);
  join_[end] = end;
  for (bool again = true; again;) {
    again = false;
    for (size_t i = sequence.size(); i-- > 0;) {
      const int at = sequence[i];
      if (at == end) continue;
      int found = -1;
      for (int next : successors(at)) {
        if (order[next] < 0 || join_[next] < 0) continue;
        if (found < 0) {
          found = next;
          continue;
        }
        int other = next;
        while (found != other) {
          while (order[found] < order[other]) found = join_[found];
          while (order[other] < order[found]) other = join_[other];
        }
      }
      if (found != join_[at]) {
        join_[at] = found;
        again = true;
      }
    }
  }
  join_[end] = -1;
}

// What leads to a jump back to the header without coming by it.
std::vector<bool> Flow::loop_of(int header) const {
  const int count = static_cast<int>(code_.instructions.size());
  std::vector<bool> inside(count);
  inside[header] = true;
  std::vector<int> open;
  const auto add = [&](int at) {
    if (at <= header || inside[at]) return;
    inside[at] = true;
    open.push_back(at);
  };
  for (int at = header; at < count; ++at)
    if (is_jump(code_.instructions[at].op) && code_.instructions[at].target == header) add(at);
  while (!open.empty()) {
    const int now = open.back();
    open.pop_back();
    for (const int earlier : before_[now]) add(earlier);
  }
  return inside;
}

int Flow::after_loop(int header) const {
  const std::vector<bool> inside = loop_of(header);
  int at = join_[header];
  while (at >= 0 && inside[at]) at = join_[at];
  return at;
}

std::vector<bool> loop_around(const Code& code, int at) {
  const size_t count = code.instructions.size();
  std::vector<std::vector<int>> after(count), before(count);
  for (size_t i = 0; i < count; ++i) {
    const Instruction& in = code.instructions[i];
    if (!ends_flow(in.op) && i + 1 < count) after[i].push_back(static_cast<int>(i) + 1);
    if (is_jump(in.op)) after[i].push_back(in.target);
    if (in.handler >= 0) after[i].push_back(code.handlers[static_cast<size_t>(in.handler)].target);
    for (const int next : after[i]) before[static_cast<size_t>(next)].push_back(static_cast<int>(i));
  }
  const auto reached = [&](const std::vector<std::vector<int>>& edges) {
    std::vector<bool> seen(count);
    std::vector<int> open = edges[static_cast<size_t>(at)];
    while (!open.empty()) {
      const auto now = static_cast<size_t>(open.back());
      open.pop_back();
      if (seen[now]) continue;
      seen[now] = true;
      open.insert(open.end(), edges[now].begin(), edges[now].end());
    }
    return seen;
  };
  std::vector<bool> loop = reached(after);
  if (!loop[static_cast<size_t>(at)]) return {};
  const std::vector<bool> leads = reached(before);
  for (size_t i = 0; i < count; ++i) loop[i] = loop[i] && leads[i];
  return loop;
}

}  // namespace sconce::python::capture
