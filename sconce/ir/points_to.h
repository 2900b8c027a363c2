// Points-to analysis (Andersen's): the places that values may point to. This part of the alias analysis knows no nodes,
// only sets of places, the places that they contain, and inclusion constraints that are solved together.
//
// Note [Places]
// A place stands for everything that one node makes, for example all lists that a ListConstruct in a loop makes. A
// value of a mutable type points to a set of places; a container's place contains places. Values from outside the graph
// (inputs, attributes of objects from outside) are in an outside place, one for each type: values of one type from
// outside may all be the same. A place that escapes (passed to a function, stored in an object from outside) becomes
// part of the outside place of its type, with all that it contains.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sconce/types/type.h"

namespace sconce::ir {

using Place = uint32_t;
using PlaceSet = std::vector<Place>;  // sorted

class Places {
 public:
  // The outside place that may be anything: of Any, objects, ...
  static constexpr Place kAnything = 0;
  using Variable = uint32_t;  // stands for a value

  Places();
  Variable add_variable(TypePtr type);

  // ---- constraints ----
  void add_new(Variable v);                    // v points to a new place; containers contain new ones, too
  void add_new_container(Variable v);          // the same, empty
  void add_outside(Variable v);                // v points outside
  void add_copy(Variable to, Variable from);   // `to` points to all that `from` points to
  void add_store(Variable into, Variable v);   // what `into` points to contains what v points to
  void add_load(Variable to, Variable from);   // `to` points to what is contained in what `from` points to
  void add_reach(Variable to, Variable from);  // `to` points to what can be reached from `from`, itself too, by type
  void add_store_reach(Variable into, Variable from);  // what `into` points to contains what can be reached, by type
  void add_escape(Variable v);                         // everything that can be reached escapes
  void solve();

  // ---- after solve ----
  const PlaceSet& points_to(Variable v) const { return variables_[v].places; }
  const PlaceSet& reach(Variable v) const { return variables_[v].reach; }  // with all that is contained
  bool is_outside(Place p) const { return places_[p].outside; }
  bool overlap(const PlaceSet& a, const PlaceSet& b) const;
  size_t size() const { return places_.size(); }

 private:
  struct PlaceData {
    TypePtr type;
    Place same_as;  // another place that it became part of; itself otherwise
    bool outside = false;
    PlaceSet contents;
  };
  struct VariableData {
    TypePtr type;
    uint32_t mask;  // kinds of things that it can be
    PlaceSet places, reach;
  };
  enum class Kind : uint8_t { copy, store, load, reach, store_reach, escape };
  struct Constraint {
    Kind kind;
    Variable a, b;
  };

  Place find(Place p) const;
  Place add_place(TypePtr type, bool outside);
  void add_inner(Place container, TypePtr type);
  PlaceSet outside_of(TypePtr type);
  void let_out(Place p);
  bool insert(PlaceSet& set, Place p);
  bool insert_all(PlaceSet& set, const PlaceSet& others);
  PlaceSet reach_of(const PlaceSet& from) const;
  PlaceSet loaded(const PlaceSet& from, const VariableData& to);
  PlaceSet reached(const PlaceSet& from, TypePtr type, uint32_t mask);
  bool store(const PlaceSet& into, const PlaceSet& v);
  bool apply(const Constraint& c);
  void normalise(PlaceSet& set) const;

  std::vector<PlaceData> places_;
  std::vector<VariableData> variables_;
  std::vector<Constraint> constraints_;
  std::unordered_map<TypePtr, Place> outside_;  // by skeleton
  bool let_out_ = false;                        // some place escaped during this round
};

}  // namespace sconce::ir
