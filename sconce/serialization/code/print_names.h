// Name generation: names of variables in printed code.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace sconce {

// A word that may stand as a name: no keyword, no digit first.
bool is_identifier(std::string_view name);
// A name that was made for a value without one: "_", "_12". It says nothing, and is made anew.
bool is_made_name(std::string_view name);

// Gives out names that nothing else in a function has. Numbers go on through a file: x, x0, x1, ... and _0, _1, ... for
// values without a name.
class NameTable {
 public:
  void start_function();
  // `wanted` made a valid name, with a number when it is taken; empty: a made name.
  std::string unique(std::string_view wanted);

 private:
  // What is known of a name, through the file.
  struct Numbers {
    bool is_identifier;
    size_t next;  // the first number that it was not given
  };
  bool take(const std::string& name);
  std::unordered_set<std::string> used_;  // in the function
  std::unordered_map<std::string, Numbers> names_;
};

}  // namespace sconce
