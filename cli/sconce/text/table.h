// Table: rows of text in aligned columns, for people to read.
//
//   Table table({"name", "count>"});        '>' aligns a column to the right
//   table.add({"relu", "17"});
//   fmt::print("{}", table.to_string());
//
//   name  count
//   relu     17
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sconce::cli {

class Table {
 public:
  // Titles of the columns. Without any title no line of titles is printed: {"", ">"} is two columns.
  explicit Table(std::vector<std::string> titles);

  // One cell a column; missing ones at the end are empty.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Lines with two spaces between columns and `indent` spaces in front, nothing at their ends.
  std::string to_string(size_t indent = 0) const;

 private:
  std::vector<std::string> titles_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that a UTF-8 text takes on a terminal, taking one for each character.
size_t text_width(std::string_view text);

}  // namespace sconce::cli
