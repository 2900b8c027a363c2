#include "text/table.h"

#include <algorithm>

namespace sconce::cli {

size_t text_width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {  // a colour: ESC [ 3 1 m
      i = std::min(text.find('m', i), text.size());
    } else {
      width += (text[i] & 0xc0) != 0x80;  // bytes 10xxxxxx continue a character
    }
  }
  return width;
}

Table::Table(std::vector<std::string> titles) : titles_(std::move(titles)), right_(titles_.size()) {
  for (size_t i = 0; i < titles_.size(); ++i) {
    right_[i] = titles_[i].ends_with('>');
    if (right_[i]) titles_[i].pop_back();
  }
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(titles_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::to_string(size_t indent) const {
  const bool titled = std::any_of(titles_.begin(), titles_.end(), [](const std::string& t) { return !t.empty(); });
  std::vector<size_t> widths;
  for (size_t c = 0; c < titles_.size(); ++c) {
    size_t width = text_width(titles_[c]);
    for (const auto& row : rows_) width = std::max(width, text_width(row[c]));
    widths.push_back(width);
  }
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line(indent, ' ');
    for (size_t c = 0; c < cells.size(); ++c) {
      const std::string padding(widths[c] - text_width(cells[c]), ' ');
      line += right_[c] ? padding + cells[c] : cells[c] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  if (titled) add_line(titles_);
  for (const auto& row : rows_) add_line(row);
  return out;
}

}  // namespace sconce::cli
