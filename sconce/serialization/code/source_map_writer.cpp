#include "sconce/serialization/code/source_map_writer.h"

#include <unordered_map>

#include "sconce/serialization/code/source_map.h"
#include "sconce/serialization/pickle/pickle_bytes.h"

namespace sconce {
namespace {

// The strings that places share: lines of sources, names of files. The first is empty. They are views: the sources live
// as long as the file that is written.
class TextTable {
 public:
  TextTable() { add(""); }
  int64_t add(std::string_view text) {
    const auto [found, added] = index_.emplace(text, static_cast<int64_t>(texts_.size()));
    if (added) texts_.push_back(text);
    return found->second;
  }
  void write(PickleBytes& out) const {
    out.begin_tuple(texts_.size());
    for (const std::string_view text : texts_) out.text(text);
    out.end_tuple(texts_.size());
  }

 private:
  std::unordered_map<std::string_view, int64_t> index_;
  std::vector<std::string_view> texts_;
};

// (lines, file, first line); all places of one source share it.
struct SourceEntry {
  SourceEntry(const Source* source, TextTable& texts) {
    if (!source) return;
    const std::string_view text = source->text();
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      lines.push_back(texts.add(text.substr(at, end - at)));
      at = end;
    }
    name = texts.add(source->name());
    first_line = source->first_line();
  }
  void write(PickleBytes& out) {
    if (memo) return out.get(*memo);
    out.global("torch.jit._pickle", "build_intlist");
    out.op('(');
    out.op(']');
    out.op('(');
    for (const int64_t line : lines) out.integer(line);
    out.op('e');
    out.op('t');
    out.op('R');
    out.integer(name);
    out.integer(first_line);
    out.end_tuple(3);
    if (places > 1) memo = out.put();
  }

  std::vector<int64_t> lines;
  int64_t name = 0, first_line = 0;
  size_t places = 0;             // that use it
  std::optional<uint32_t> memo;  // where the pickle has it
};

struct PlaceEntry {
  size_t offset;  // in the code
  SourceEntry* source;
  uint32_t begin, end;
  int64_t tag;
};

// The original text.
Place written_place(const Place& printed) {
  const bool is_written = printed && printed.source->map();
  Place place = is_written ? original_place(printed) : printed;
  if (place.source && place.source->text().empty()) place = {};
  return place;
}

}  // namespace

int64_t SourceMapWriter::id_of(const Source* source) {
  if (!source) return 0;
  if (source == last_.first) return last_.second;
  const auto [known, is_new] = ids_.try_emplace(source);
  if (is_new) {
    const auto next = static_cast<int64_t>(sources_.size()) + 1;
    known->second = sources_.try_emplace({source->name(), source->first_line(), source->text()}, next).first->second;
  }
  last_ = {source, known->second};
  return known->second;
}

std::optional<int64_t> SourceMapWriter::tag_of(const Place& place) {
  const Place p = written_place(place);
  const auto found = tags_.find({id_of(p.source), p.begin, p.end});
  return found == tags_.end() ? std::nullopt : std::optional(found->second);
}

// Written by the opcode: a record has a place for every few bytes of code, so that an object for each of its parts
// would take a third of the time of a save.
std::string SourceMapWriter::write(const PrintedFile& file) {
  TextTable texts;
  std::unordered_map<int64_t, SourceEntry> sources;
  std::vector<PlaceEntry> places;
  places.reserve(file.ranges.size());
  tags_.reserve(tags_.size() + file.ranges.size());
  Key last{-1, 0, 0};
  SourceEntry* source = nullptr;  // of the last place
  for (const PrintedRange& printed : file.ranges) {
    const Place place = written_place(printed.range);
    const Key key{id_of(place.source), place.begin, place.end};
    if (key == last) continue;
    if (key.source != last.source) source = &sources.try_emplace(key.source, place.source, texts).first->second;
    last = key;
    ++source->places;
    const int64_t tag = tags_.try_emplace(key, static_cast<int64_t>(tags_.size())).first->second;
    places.push_back({printed.offset, source, place.begin, place.end, tag});
  }
  PickleBytes out;
  out.text("FORMAT_WITH_STRING_TABLE");
  texts.write(out);
  out.begin_tuple(places.size());
  for (const PlaceEntry& place : places) {
    out.integer(static_cast<int64_t>(place.offset));
    place.source->write(out);
    out.integer(place.begin);
    out.integer(place.end);
    out.end_tuple(3);
    out.integer(place.tag);
    out.end_tuple(3);
  }
  out.end_tuple(places.size());
  out.end_tuple(3);
  return std::move(out).finish();
}

}  // namespace sconce
