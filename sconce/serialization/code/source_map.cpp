#include "sconce/serialization/code/source_map.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sconce/base/once.h"
#include "sconce/serialization/pickle/pickle_reader.h"

namespace sconce {
namespace {

// Thousands of places share the lines of a long text.
class DebugContext final : public PlainContext {
 public:
  bool shares_freely() const override { return true; }
};

// A record is (first, (source, begin, end), tag): from byte `first` of the code on, the text comes from bytes begin to
// end of the source. PyTorch has written them in two ways:
//
//   (record, ...)                                     first: a source is (text, file or None, line), and the oldest
//                                                     have no tag
//   ("FORMAT_WITH_STRING_TABLE", texts, records)      since: a source is ([index of a text, ...], index of the file's
//                                                     name, line), and its text is these texts, one after the other
//
// `line` is the number that the first line of the text has in the file.
class RecordReader {
 public:
  RecordReader(const std::string& bytes, const std::string& name)
      : name_(name), room_(kFreeDebugText + kMaxDebugText * bytes.size()) {
    DebugContext context;
    whole_ = read_pickle(bytes, name, context);
  }

  std::vector<DebugRange> read() {
    const std::vector<Value>& parts = part(whole_, 0);
    if (parts.empty() || !parts[0].is_string()) return read_records(parts, nullptr);
    SCONCE_CHECK(parts[0].to_string_ref() == "FORMAT_WITH_STRING_TABLE", "{}: has an unknown format", name_);
    part(whole_, 3);
    return read_records(part(parts[2], 0), &part(parts[1], 0));
  }

 private:
  // `texts`: the table of texts; null for records that have none.
  std::vector<DebugRange> read_records(const std::vector<Value>& records, const std::vector<Value>* texts) {
    std::vector<DebugRange> places;
    for (const Value& record : records) {
      const std::vector<Value>& fields = part(record, 2);
      const std::vector<Value>& range = part(fields[1], 3);
      DebugRange place{static_cast<uint32_t>(fields[0].to_int()), {}, fields.size() > 2 ? fields[2].to_int() : -1};
      if (const SourcePtr source = shared_source(range[0], texts)) {
        const auto size = static_cast<int64_t>(source->text().size());
        const int64_t begin = std::clamp<int64_t>(range[1].to_int(), 0, size);
        const int64_t end = std::clamp<int64_t>(range[2].to_int(), begin, size);
        place.range = {source, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
      }
      places.push_back(std::move(place));
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const DebugRange& a, const DebugRange& b) { return a.first < b.first; });
    return places;
  }

  // The items of a tuple that has at least so many.
  const std::vector<Value>& part(const Value& v, size_t least) const {
    SCONCE_CHECK(v.is_tuple() && v.to_tuple().items.size() >= least, "{}: a tuple of {} items was expected", name_,
                 least);
    return v.to_tuple().items;
  }
  const std::string& text(const std::vector<Value>& texts, int64_t i) const {
    SCONCE_CHECK(i >= 0 && static_cast<uint64_t>(i) < texts.size(), "{}: there is no text {}", name_, i);
    return texts[static_cast<size_t>(i)].to_string_ref();
  }
  // Places share the tuple of their source: its lines are looked at once, however many places there are.
  SourcePtr shared_source(const Value& source, const std::vector<Value>* texts) {
    const std::vector<Value>& fields = part(source, 3);
    const auto [known, is_new] = by_tuple_.try_emplace(source.counted());
    if (is_new) known->second = texts ? source_of(fields, *texts) : plain_source_of(fields);
    return known->second;
  }
  SourcePtr source_of(const std::vector<Value>& source, const std::vector<Value>& texts) {
    const IntList lines = source[0].to_list().ints();
    if (lines.empty()) return nullptr;
    const int first_line = line_of(source);
    SourcePtr& found = sources_[{std::vector<int64_t>(lines.begin(), lines.end()), first_line}];
    if (!found) {
      std::string whole;
      for (int64_t i : lines) {
        const std::string& line = text(texts, i);
        take_room(line.size());
        whole += line;
      }
      found = std::make_shared<Source>(text(texts, source[1].to_int()), whole, first_line);
    }
    return found;
  }
  SourcePtr plain_source_of(const std::vector<Value>& source) {
    SCONCE_CHECK(source[0].is_string() && (source[1].is_string() || source[1].is_none()),
                 "{}: a text and the name of a file were expected", name_);
    const std::string& text = source[0].to_string_ref();
    if (text.empty()) return nullptr;
    take_room(text.size());
    return std::make_shared<Source>(source[1].is_none() ? "<string>" : source[1].to_string_ref(), text,
                                    line_of(source));
  }
  int line_of(const std::vector<Value>& source) const {
    const int64_t line = source[2].to_int();
    SCONCE_CHECK(line >= 0 && line <= INT32_MAX, "{}: there is no line {}", name_, line);
    return static_cast<int>(line);
  }
  void take_room(size_t bytes) {
    SCONCE_CHECK(bytes <= room_, "{}: its texts are too long", name_);
    room_ -= bytes;
  }

  const std::string& name_;
  size_t room_;  // bytes of text that may still come
  Value whole_;
  std::unordered_map<const void*, SourcePtr> by_tuple_;
  std::map<std::pair<std::vector<int64_t>, int64_t>, SourcePtr> sources_;
};

class DebugRanges final : public SourceMap {
 public:
  explicit DebugRanges(std::function<std::string()> read) : read_(std::move(read)) {}

  // Throws std::bad_alloc: the next call reads the record again.
  void ensure_read() const override {
    once_([&] { places_ = read_now(); });
  }

  Range original(const Range& written) const noexcept override {
    try {
      ensure_read();
    } catch (...) {  // an error is shown without the place
      return Range();
    }
    const Range* found = find(written.begin);
    return found ? *found : Range();
  }

  // Behind ensure_read. Null when it is not known.
  const Range* find(uint32_t begin) const {
    const auto after = std::upper_bound(places_.begin(), places_.end(), begin,
                                        [](uint32_t at, const DebugRange& p) { return at < p.first; });
    return after == places_.begin() ? nullptr : &(after - 1)->range;
  }

 private:
  // A broken record is read once, too: it knows no places.
  std::vector<DebugRange> read_now() const {
    static const std::string name = "debug record";
    try {
      return RecordReader(read_(), name).read();
    } catch (const Error&) {
      return {};
    }
  }

  const std::function<std::string()> read_;
  mutable Once once_;
  mutable std::vector<DebugRange> places_;
};

}  // namespace

Range original_place(const Range& range) {
  if (!range.source) return Range();
  if (const SourceMap* map = range.source->map()) map->ensure_read();
  return range.original();
}

Place original_place(const Place& place) {
  const SourceMap* map = place ? place.source->map() : nullptr;
  if (!map) return {};
  map->ensure_read();
  const SourcePtr borrowed(SourcePtr(), place.source);
  return map->original({borrowed, place.begin, place.end});
}

std::shared_ptr<const SourceMap> read_source_map(std::function<std::string()> read) {
  return std::make_shared<DebugRanges>(std::move(read));
}

std::vector<DebugRange> read_debug_ranges(const std::string& bytes, const std::string& name) {
  return RecordReader(bytes, name).read();
}

}  // namespace sconce
