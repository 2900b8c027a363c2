#include "sconce/loops/fuse.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <queue>
#include <unordered_map>

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/tensor/strides.h"

namespace sconce::loops {
namespace {

SCONCE_VARIANT(merged_groups, "fuse.merge", "two groups of calls that cost less together");
SCONCE_VARIANT(computed_again, "fuse.again", "a value that costs less to compute again than to keep");

int64_t numel_of(const Dims& sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return n;
}

// Whether a tensor of these sizes can be read in a loop over `space`.
bool broadcasts_to(const Dims& sizes, const Dims& space) {
  if (sizes.size() > space.size()) return false;
  const size_t skip = space.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1 && sizes[d] != space[skip + d]) return false;
  }
  return true;
}

// The strides of rows and columns, where a tensor that is read in a loop over `space` can be walked as rows of the last
// size. False otherwise.
bool as_rows(const GraphValue& value, const Dims& space, Dims& strides) {
  if (space.empty() || !broadcasts_to(value.sizes, space)) return false;
  const Dims all = expanded_strides(value.sizes, value.strides, space);
  const size_t last = space.size() - 1;
  const int64_t column = space[last] == 1 ? 1 : all[last];
  if (column != 0 && column != 1) return false;
  int64_t row = 0, next = 0;
  bool found = false;
  for (size_t d = last; d-- > 0;) {
    if (space[d] == 1) continue;
    if (!found) row = all[d];
    if (found && all[d] != next) return false;
    found = true;
    next = all[d] * space[d];
  }
  strides = {found ? row : column * space[last], column};
  return true;
}

// The nodes of a group as bits would be quicker to compare, but groups are small and graphs may be large.
using Members = std::vector<int32_t>;  // sorted

bool contains(const Members& members, int32_t node) { return std::binary_search(members.begin(), members.end(), node); }

Members merged(const Members& a, const Members& b) {
  Members out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

class Fuser {
 public:
  Fuser(const FuseGraph& graph, const Machine& machine)
      : graph_(graph),
        machine_(machine),
        makers_(graph.values.size(), -1),
        readers_(graph.values.size()),
        before_(graph.nodes.size()),
        after_(graph.nodes.size()),
        copied_(graph.nodes.size(), false),
        seen_by_(graph.nodes.size(), 0) {
    int32_t last_opaque = -1;
    for (size_t k = 0; k < graph.nodes.size(); ++k) {
      const auto node = static_cast<int32_t>(k);
      const GraphNode& n = graph.nodes[k];
      for (const int32_t v : n.inputs) {
        if (makers_[v] >= 0) link(makers_[v], node);
        readers_[v].push_back(node);
      }
      for (const int32_t v : n.outputs) makers_[v] = node;
      for (const int32_t earlier : n.after) link(earlier, node);
      if (n.call == nullptr) {
        if (last_opaque >= 0) link(last_opaque, node);  // they keep their order
        last_opaque = node;
      }
    }
  }

  std::vector<Group> run() {
    for (size_t k = 0; k < graph_.nodes.size(); ++k) {
      const auto node = static_cast<int32_t>(k);
      groups_.push_back({{node}, 0, {}, is_call(node), 0});
      group_of_.push_back(node);
    }
    for (Work& g : groups_) {
      if (g.alive) g.cost = cost(g.members);
    }
    merge_all();
    recompute();
    return schedule();
  }

 private:
  struct Work {
    Members members;
    double cost;
    std::string why;
    bool alive;           // still a group of calls
    uint32_t merges = 0;  // that made it
  };
  // Two groups that could be merged, as they were when it was found out.
  struct Pair {
    int32_t a, b;
    double gain;
    uint32_t a_merges, b_merges;
    // The largest gain comes first; of equal ones the earliest, so that answers do not depend on anything else.
    bool operator<(const Pair& other) const {
      if (gain != other.gain) return gain < other.gain;
      return a != other.a ? a > other.a : b > other.b;
    }
  };

  void link(int32_t from, int32_t to) {
    after_[from].push_back(to);
    before_[to].push_back(from);
  }

  bool is_call(int32_t node) const {
    const LoopCall* call = graph_.nodes[node].call;
    return call != nullptr && fusible(*call);
  }
  int32_t output_of(int32_t node) const { return graph_.nodes[node].outputs[0]; }
  const Dims& sizes_of(int32_t node) const { return graph_.values[output_of(node)].sizes; }

  const Dims& space_of(const Members& members) const {
    const Dims* space = &sizes_of(members[0]);
    for (const int32_t m : members) {
      const Dims& s = sizes_of(m);
      if (numel_of(s) > numel_of(*space) || (numel_of(s) == numel_of(*space) && s.size() > space->size())) space = &s;
    }
    return *space;
  }

  // Values that the members read and do not make, and values that they must write.
  std::vector<int32_t> reads(const Members& members) const {
    std::vector<int32_t> list;
    for (const int32_t m : members) {
      for (const int32_t v : graph_.nodes[m].inputs) {
        if (makers_[v] >= 0 && contains(members, makers_[v])) continue;
        if (std::find(list.begin(), list.end(), v) == list.end()) list.push_back(v);
      }
    }
    return list;
  }
  bool is_written(int32_t node, const Members& members) const {
    if (graph_.nodes[node].visible) return true;
    const auto& readers = readers_[output_of(node)];
    return std::any_of(readers.begin(), readers.end(),
                       [&](int32_t r) { return copied_[r] || (!contains(members, r) && !computes_itself(r, node)); });
  }
  // Whether the group of a reader has a copy of the node.
  bool computes_itself(int32_t reader, int32_t node) const {
    return is_call(reader) && contains(groups_[group_of_[reader]].members, node);
  }

  double bytes_of(int32_t value) const {
    const GraphValue& v = graph_.values[value];
    return static_cast<double>(numel_of(v.sizes)) * static_cast<double>(item_size(v.dtype));
  }

  // See Note [Costs].
  double cost(const Members& members) const {
    const auto elements = static_cast<double>(numel_of(space_of(members)));
    double read = 0, written = 0, compute = 0;
    for (const int32_t v : reads(members)) read += bytes_of(v);
    for (const int32_t m : members) {
      if (is_written(m, members)) written += bytes_of(output_of(m));
      const LoopCall& call = *graph_.nodes[m].call;
      compute += element_ns(call, machine_);
      if (members.size() > 1 && call.loops && call.loops->math) compute += machine_.tile_pass_ns;
    }
    const double working_set = read + written;
    const bool in_memory = working_set > static_cast<double>(machine_.l3);
    return machine_.call_ns + move_ns(read + (in_memory ? 2 : 1) * written, working_set, machine_) + elements * compute;
  }

  bool fits(const Members& members) const {
    if (members.size() > kMaxCalls) return false;
    const Dims& space = space_of(members);
    size_t buffers = reads(members).size();
    if (has_rows(members) && !fits_rows(members, space)) return false;
    for (const int32_t m : members) {
      if (!broadcasts_to(sizes_of(m), space)) return false;
      if (!is_written(m, members)) continue;
      ++buffers;
      if (numel_of(sizes_of(m)) != numel_of(space)) return false;  // an element would be written again and again
    }
    return buffers <= kMaxBuffers;
  }

  bool is_row(int32_t node) const { return graph_.nodes[node].call->is_row(); }
  bool has_rows(const Members& members) const {
    return std::any_of(members.begin(), members.end(), [&](int32_t m) { return is_row(m); });
  }
  // With a row operator, every member is over the same rows, and every tensor can be walked by them. What is kept
  // between stages needs buffers, too: no more than one for each member.
  bool fits_rows(const Members& members, const Dims& space) const {
    Dims strides;
    const std::vector<int32_t> read = reads(members);
    size_t written = 0;
    for (const int32_t m : members) {
      if (!(sizes_of(m) == space) || !as_rows(graph_.values[output_of(m)], space, strides)) return false;
      written += is_written(m, members);
      if (!is_row(m)) continue;
      const auto& inputs = graph_.nodes[m].inputs;
      for (size_t k = 1; k < inputs.size(); ++k) {
        const GraphValue& parameter = graph_.values[inputs[k]];
        const bool made_here = makers_[inputs[k]] >= 0 && contains(members, makers_[inputs[k]]);
        if (made_here || parameter.sizes.size() != 1 || parameter.sizes[0] != space.back() ||
            (parameter.sizes[0] != 1 && parameter.strides[0] != 1))
          return false;
      }
    }
    for (const int32_t v : read) {
      if (!as_rows(graph_.values[v], space, strides)) return false;
    }
    return members.size() == 1 || read.size() + written + members.size() <= kMaxBuffers;
  }

  // Whether something outside stands between members: then they cannot run at once.
  bool has_path_outside(const Members& members) {
    const int32_t last = members.back();
    const uint32_t now = ++search_;
    std::vector<int32_t>& stack = stack_;
    stack.clear();
    for (const int32_t m : members) {
      for (const int32_t next : after_of(m)) {
        if (next <= last && !contains(members, next)) stack.push_back(next);
      }
    }
    while (!stack.empty()) {
      const int32_t node = stack.back();
      stack.pop_back();
      if (seen_by_[node] == now) continue;
      seen_by_[node] = now;
      // A group runs as a whole, so that everything behind any of its members is behind it.
      for (const int32_t mate : groups_[group_of_[node]].members) {
        for (const int32_t next : after_of(mate)) {
          if (contains(members, next)) return true;
          if (next <= last && seen_by_[next] != now) stack.push_back(next);
        }
      }
    }
    return false;
  }
  const std::vector<int32_t>& after_of(int32_t node) const { return after_[node]; }

  // Members of two groups touch if one reads what the other makes, or both read the same.
  void add_pairs(int32_t group, std::priority_queue<Pair>& pairs) {
    std::vector<int32_t> others;
    const auto note = [&](int32_t node) {
      const int32_t g = group_of_[node];
      if (g != group && groups_[g].alive && std::find(others.begin(), others.end(), g) == others.end())
        others.push_back(g);
    };
    for (const int32_t m : groups_[group].members) {
      for (const int32_t v : graph_.nodes[m].inputs) {
        if (makers_[v] >= 0 && is_call(makers_[v])) note(makers_[v]);
        if (readers_[v].size() > kMostSiblings) continue;
        for (const int32_t r : readers_[v]) {
          if (is_call(r)) note(r);
        }
      }
      for (const int32_t r : readers_[output_of(m)]) {
        if (is_call(r)) note(r);
      }
    }
    for (const int32_t other : others) {
      const Members both = merged(groups_[group].members, groups_[other].members);
      if (!fits(both)) continue;
      const double gain = groups_[group].cost + groups_[other].cost - cost(both);
      if (!merged_groups(gain > 0) || has_path_outside(both)) continue;
      const int32_t a = std::min(group, other), b = std::max(group, other);
      pairs.push({a, b, gain, groups_[a].merges, groups_[b].merges});
    }
  }

  void merge_all() {
    std::priority_queue<Pair> pairs;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].alive) add_pairs(static_cast<int32_t>(g), pairs);
    }
    while (!pairs.empty()) {
      const Pair pair = pairs.top();
      pairs.pop();
      Work &a = groups_[pair.a], &b = groups_[pair.b];
      if (!a.alive || !b.alive || a.merges != pair.a_merges || b.merges != pair.b_merges) continue;
      // Another merge may have put something between them since.
      const Members both = merged(a.members, b.members);
      if (has_path_outside(both)) continue;
      const double together = cost(both);
      a.why = costs_text(a.cost + b.cost, together);
      a.members = both;
      a.cost = together;
      a.merges++;
      b.alive = false;
      for (const int32_t m : both) group_of_[m] = pair.a;
      add_pairs(pair.a, pairs);
    }
  }

  // A value that is written only for other groups of calls is computed by them, where that is cheaper.
  void recompute() {
    for (size_t k = graph_.nodes.size(); k-- > 0;) {
      const auto node = static_cast<int32_t>(k);
      if (!is_call(node) || graph_.nodes[k].visible || is_row(node)) continue;
      Work& home = groups_[group_of_[node]];
      if (!is_written(node, home.members)) continue;
      std::vector<int32_t> takers;
      bool possible = true;
      for (const int32_t r : readers_[output_of(node)]) {
        if (contains(home.members, r) && !copied_[r]) continue;
        possible &= is_call(r) && !copied_[r];
        if (possible && std::find(takers.begin(), takers.end(), group_of_[r]) == takers.end())
          takers.push_back(group_of_[r]);
      }
      // What it reads must be there for others: not a value that its own group keeps to itself.
      for (const int32_t v : graph_.nodes[k].inputs) possible &= makers_[v] < 0 || is_available(makers_[v]);
      if (possible) try_recompute(node, takers);
    }
  }
  bool is_available(int32_t node) const { return !is_call(node) || is_written(node, groups_[group_of_[node]].members); }

  void try_recompute(int32_t node, const std::vector<int32_t>& takers) {
    const int32_t home = group_of_[node];
    double apart = groups_[home].cost;
    for (const int32_t t : takers) apart += groups_[t].cost;
    // The new state is tried, and taken back if it is not better.
    std::vector<std::pair<int32_t, Work>> saved{{home, groups_[home]}};
    for (const int32_t t : takers) {
      if (t != home) saved.emplace_back(t, groups_[t]);
    }
    bool fitting = true;
    double copies = 0;
    for (const int32_t t : takers) {
      groups_[t].members = merged(groups_[t].members, {node});
      fitting &= fits(groups_[t].members);
    }
    const auto& readers = readers_[output_of(node)];
    const bool used_at_home =
        std::any_of(readers.begin(), readers.end(), [&](int32_t r) { return contains(groups_[home].members, r); });
    if (!used_at_home) std::erase(groups_[home].members, node);
    if (groups_[home].members.empty()) {
      groups_[home].alive = false;
      groups_[home].cost = 0;
    } else {
      groups_[home].cost = cost(groups_[home].members);
      copies += groups_[home].cost;
    }
    for (const int32_t t : takers) {
      groups_[t].cost = cost(groups_[t].members);
      copies += groups_[t].cost;
    }
    if (!computed_again(fitting && copies < apart)) {
      for (auto& [g, was] : saved) groups_[g] = std::move(was);
      return;
    }
    for (const int32_t t : takers) {
      std::string& why = groups_[t].why;
      why += (why.empty() ? "computes node " : ", computes node ") + std::to_string(node) + " again";
    }
    if (!used_at_home) group_of_[node] = takers[0];
    copied_[node] = used_at_home || takers.size() > 1;
  }

  static std::string costs_text(double apart, double together) {
    char text[64];
    std::snprintf(text, sizeof text, "%.4g us instead of %.4g", together / 1000, apart / 1000);
    return text;
  }

  std::vector<Group> schedule() const {
    std::vector<int32_t> list;  // groups; of nodes that are no calls, the node's own
    for (size_t g = 0; g < groups_.size(); ++g) {
      const bool opaque = !is_call(static_cast<int32_t>(g));
      if (opaque || groups_[g].alive) list.push_back(static_cast<int32_t>(g));
    }
    // The group whose last member came first is next, among those that wait for nothing.
    std::stable_sort(list.begin(), list.end(),
                     [&](int32_t a, int32_t b) { return groups_[a].members.back() < groups_[b].members.back(); });
    // A group waits for every node in front of a member that it does not compute itself.
    std::vector<int32_t> waits(list.size(), 0);
    std::vector<std::vector<int32_t>> places(graph_.nodes.size());  // of the groups with a node
    for (size_t i = 0; i < list.size(); ++i) {
      const Members& members = groups_[list[i]].members;
      for (const int32_t m : members) {
        places[m].push_back(static_cast<int32_t>(i));
        for (const int32_t earlier : before_[m]) waits[i] += !contains(members, earlier);
      }
    }
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    for (size_t i = 0; i < list.size(); ++i) {
      if (waits[i] == 0) ready.push(static_cast<int32_t>(i));
    }
    std::vector<bool> done(graph_.nodes.size(), false);
    std::vector<Group> out;
    while (!ready.empty()) {
      const Work& group = groups_[list[static_cast<size_t>(ready.top())]];
      ready.pop();
      out.push_back({group.members, group.why});
      for (const int32_t m : group.members) {
        if (done[m]) continue;
        done[m] = true;
        for (const int32_t next : after_[m]) {
          for (const int32_t place : places[next]) {
            if (contains(groups_[list[place]].members, m)) continue;
            if (--waits[place] == 0) ready.push(place);
          }
        }
      }
    }
    SCONCE_ASSERT(out.size() == list.size());
    return out;
  }

  static constexpr size_t kMostSiblings = 16;  // readers of one value that are tried with each other

  const FuseGraph& graph_;
  const Machine& machine_;
  std::vector<int32_t> makers_;
  std::vector<std::vector<int32_t>> readers_, before_, after_;
  std::vector<Work> groups_;
  std::vector<int32_t> group_of_;
  std::vector<bool> copied_;  // computed by several groups; group_of_ is one of them
  // Of searches for paths: which of them saw a node last.
  std::vector<uint32_t> seen_by_;
  uint32_t search_ = 0;
  std::vector<int32_t> stack_;
};

}  // namespace

std::vector<Group> fuse(const FuseGraph& graph, const Machine& machine) { return Fuser(graph, machine).run(); }

NestBuilder::NestBuilder(const FuseGraph& graph, const std::vector<Group>& schedule)
    : graph_(graph), schedule_(schedule), groups_of_(graph.nodes.size()), readers_(graph.values.size()) {
  for (size_t g = 0; g < schedule.size(); ++g) {
    for (const int32_t n : schedule[g].nodes) groups_of_[n].push_back(static_cast<int32_t>(g));
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int32_t v : graph.nodes[n].inputs) readers_[v].push_back(static_cast<int32_t>(n));
  }
}

// Whether a group that does not compute the node reads its value.
bool NestBuilder::is_read_elsewhere(int32_t node) const {
  const auto& own = groups_of_[node];
  for (const int32_t reader : readers_[graph_.nodes[node].outputs[0]]) {
    for (const int32_t g : groups_of_[reader]) {
      if (std::find(own.begin(), own.end(), g) == own.end()) return true;
    }
  }
  return false;
}

BuiltNest build_nest(const FuseGraph& graph, const std::vector<Group>& schedule, size_t group) {
  return NestBuilder(graph, schedule).build(group);
}

BuiltNest NestBuilder::build(size_t group) const {
  const FuseGraph& graph = graph_;
  const std::vector<int32_t>& nodes = schedule_[group].nodes;
  BuiltNest built;
  Nest& nest = built.nest;
  const auto value_of = [&](int32_t node) -> const GraphValue& { return graph.values[graph.nodes[node].outputs[0]]; };
  for (const int32_t n : nodes) {
    SCONCE_CHECK(graph.nodes[n].call != nullptr, "build_nest: node {} of group {} is no pointwise call", n, group);
    const Dims& s = value_of(n).sizes;
    const int64_t more = numel_of(s) - numel_of(nest.sizes);
    if (n == nodes[0] || more > 0 || (more == 0 && s.size() > nest.sizes.size())) nest.sizes = s;
  }
  const Dims space = nest.sizes;
  const bool rows = std::any_of(nodes.begin(), nodes.end(), [&](int32_t n) { return graph.nodes[n].call->is_row(); });
  if (rows) {
    SCONCE_CHECK(!space.empty(), "build_nest: a row operator on a tensor without dimensions");
    const int64_t columns = space.back();
    nest.sizes = {columns == 0 ? 0 : numel_of(space) / columns, columns};
  }
  std::unordered_map<int32_t, size_t> made, buffer_of;
  const auto buffer = [&](int32_t v, bool written) {
    const GraphValue& value = graph.values[v];
    Buffer b{value.dtype, {}, written};
    if (!rows) {
      b.strides = expanded_strides(value.sizes, value.strides, space);
    } else {
      SCONCE_CHECK(as_rows(value, space, b.strides), "build_nest: value {} of sizes {} cannot be walked by rows of {}",
                   v, IntList(value.sizes), IntList(space));
    }
    nest.buffers.push_back(b);
    built.values.push_back(v);
    return nest.buffers.size() - 1;
  };
  for (const int32_t n : nodes) {
    LoopCall call = *graph.nodes[n].call;
    call.inputs.clear();
    for (const int32_t v : graph.nodes[n].inputs) {
      if (const auto found = made.find(v); found != made.end()) {
        call.inputs.push_back(from_call(found->second));
        continue;
      }
      const auto [known, is_new] = buffer_of.try_emplace(v);
      if (is_new) known->second = buffer(v, false);
      call.inputs.push_back(from_buffer(known->second));
    }
    made[graph.nodes[n].outputs[0]] = nest.calls.size();
    nest.calls.push_back(std::move(call));
  }
  for (size_t k = 0; k < nodes.size(); ++k) {
    const int32_t n = nodes[k], v = graph.nodes[n].outputs[0];
    if (groups_of_[n].front() != static_cast<int32_t>(group)) continue;  // written by an earlier one
    const bool wanted = graph.nodes[n].visible || is_read_elsewhere(n);
    if (wanted) nest.stores.push_back({static_cast<uint16_t>(k), static_cast<uint16_t>(buffer(v, true))});
  }
  return built;
}

std::string to_string(const FuseGraph& graph, const std::vector<Group>& schedule) {
  std::string out;
  for (size_t g = 0; g < schedule.size(); ++g) {
    const Group& group = schedule[g];
    const GraphNode& first = graph.nodes[group.nodes[0]];
    if (first.call == nullptr) {
      out += "node " + std::to_string(group.nodes[0]) + "\n";
      continue;
    }
    out += "nest";
    for (const int32_t n : group.nodes) out += " " + std::to_string(n);
    if (!group.why.empty()) out += ": " + group.why;
    out += "\n";
  }
  return out;
}

}  // namespace sconce::loops
