#include "sconce/serialization/code/source_map_writer.h"

#include <unordered_map>

#include "sconce/serialization/pickle/pickle_writer.h"

namespace sconce {
namespace {

Value tuple_of(std::vector<Value> items) { return make_ref<Tuple>(std::move(items)); }

// The strings that places share: lines of sources, names of files. The first is empty.
class TextTable {
 public:
  TextTable() { add(""); }
  int64_t add(std::string_view text) {
    const auto [found, added] = index_.emplace(text, static_cast<int64_t>(texts_.size()));
    if (added) texts_.emplace_back(text);
    return found->second;
  }
  Value take() { return tuple_of(std::move(texts_)); }

 private:
  std::unordered_map<std::string, int64_t> index_;
  std::vector<Value> texts_;
};

// (lines, file, first line)
Value source_entry(const Source* source, TextTable& texts) {
  std::vector<int64_t> lines;
  if (!source) return tuple_of({Value(IntList(lines)), 0, 0});
  const std::string_view text = source->text();
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(texts.add(text.substr(at, end - at)));
    at = end;
  }
  return tuple_of({Value(IntList(lines)), texts.add(source->name()), int64_t{source->first_line()}});
}

// The original text.
Range written_range(const Range& printed) {
  const bool is_written = printed.source && printed.source->map();
  Range range = is_written ? printed.original() : printed;
  if (!range.source || range.source->text().empty()) range = {};
  return range;
}

}  // namespace

int64_t SourceMapWriter::id_of(const SourcePtr& source) {
  if (!source) return 0;
  const auto [known, is_new] = ids_.try_emplace(source);
  if (is_new) {
    const auto next = static_cast<int64_t>(sources_.size()) + 1;
    known->second = sources_.try_emplace({source->name(), source->first_line(), source->text()}, next).first->second;
  }
  return known->second;
}

std::optional<int64_t> SourceMapWriter::tag_of(const Range& range) {
  const Range r = written_range(range);
  const auto found = tags_.find({id_of(r.source), r.begin, r.end});
  return found == tags_.end() ? std::nullopt : std::optional(found->second);
}

std::string SourceMapWriter::write(const PrintedFile& file) {
  TextTable texts;
  std::unordered_map<int64_t, Value> entries;  // shared in the pickle, too
  std::vector<Value> places;
  Place last(-1, 0, 0);
  for (const PrintedRange& printed : file.ranges) {
    const Range range = written_range(printed.range);
    const int64_t id = id_of(range.source);
    const Place place(id, range.begin, range.end);
    if (place == last) continue;
    last = place;
    const auto [entry, added] = entries.try_emplace(id);
    if (added) entry->second = source_entry(range.source.get(), texts);
    const int64_t tag = tags_.try_emplace(place, static_cast<int64_t>(tags_.size())).first->second;
    places.push_back(tuple_of({static_cast<int64_t>(printed.offset),
                               tuple_of({entry->second, int64_t{range.begin}, int64_t{range.end}}), tag}));
  }
  StorageTable none;
  return write_pickle(tuple_of({"FORMAT_WITH_STRING_TABLE", texts.take(), tuple_of(std::move(places))}), none);
}

}  // namespace sconce
