// Ratchet list of methods that do not arrive in a dialect:
//
//   exported/Effects.pt2: forward  aten::linalg_inv_ex
//
// folder/file, the method, two blanks, the operators that stay outside. A method that is not listed must arrive, one
// that is listed must stay for these operators alone: the list shrinks, or says what has changed. Lines of folders that
// were not lowered are not looked at. Blank lines and lines that begin with # are comments.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace sconce::cli {

class OutsideList {
 public:
  // Throws Error with file and line when it cannot be read or a line has no operators.
  explicit OutsideList(std::string path);

  // Of a method that was lowered: the operators that stay outside, none when it arrives.
  void add(const std::string& archive, const std::string& method, const std::set<std::string>& operators);
  // What differs, a line each.
  std::vector<std::string> differences() const;
  // Rewrites the file: lines of the folders that were lowered are made anew.
  void update() const;

 private:
  std::string path_;
  std::vector<std::string> comments_;
  std::map<std::string, std::string> known_, found_;  // operators, by method
  std::set<std::string> folders_;                     // that were lowered
};

// Names of operators that another compiler has decompositions of, as PyTorch writes them: "aten.add.Tensor".
class PeerDecompositions {
 public:
  explicit PeerDecompositions(const std::string& path);
  // Whether it leaves the operator as it is, too. Writes and calls are no question of decompositions.
  bool leaves(const std::string& name) const;

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace sconce::cli
