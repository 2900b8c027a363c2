#include "sconce/serialization/code/source_map.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "sconce/serialization/pickle/pickle_reader.h"

namespace sconce {
namespace {

// ("FORMAT_WITH_STRING_TABLE", texts, records): from byte `first` of the code on, the text comes from bytes begin
// to end of the lines, which begin at line `line` of the file. Each record is (first, ((lines, file, line),
// begin, end), tag).
class RecordReader {
 public:
  RecordReader(const std::string& bytes, const std::string& name) : name_(name), room_(kMaxDebugText * bytes.size()) {
    PlainContext context;
    whole_ = read_pickle(bytes, name, context);
  }

  std::vector<DebugRange> read() {
    const std::vector<Value>& parts = part(whole_, 3);
    SCONCE_CHECK(parts[0].is_string() && parts[0].to_string_ref() == "FORMAT_WITH_STRING_TABLE",
                 "{}: has an unknown format", name_);
    std::vector<DebugRange> places;
    for (const Value& record : part(parts[2], 0)) {
      const std::vector<Value>& fields = part(record, 2);
      const std::vector<Value>& range = part(fields[1], 3);
      DebugRange place{static_cast<uint32_t>(fields[0].to_int()), {}, fields.size() > 2 ? fields[2].to_int() : -1};
      if (const SourcePtr source = source_of(part(range[0], 3), part(parts[1], 0))) {
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

 private:
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
  SourcePtr source_of(const std::vector<Value>& source, const std::vector<Value>& texts) {
    const IntList lines = source[0].to_list().ints();
    if (lines.empty()) return nullptr;
    const int64_t first_line = source[2].to_int();
    SCONCE_CHECK(first_line >= 0 && first_line <= INT32_MAX, "{}: there is no line {}", name_, first_line);
    SourcePtr& found = sources_[{std::vector<int64_t>(lines.begin(), lines.end()), first_line}];
    if (!found) {
      std::string whole;
      for (int64_t i : lines) {
        const std::string& line = text(texts, i);
        SCONCE_CHECK(line.size() <= room_, "{}: its texts are too long", name_);
        room_ -= line.size();
        whole += line;
      }
      found = std::make_shared<Source>(text(texts, source[1].to_int()), whole, static_cast<int>(first_line));
    }
    return found;
  }

  const std::string& name_;
  size_t room_;  // bytes of text that may still come
  Value whole_;
  std::map<std::pair<std::vector<int64_t>, int64_t>, SourcePtr> sources_;
};

class DebugRanges final : public SourceMap {
 public:
  explicit DebugRanges(std::function<std::string()> read) : read_(std::move(read)) {}

  Range original(const Range& written) const noexcept override {
    try {
      std::call_once(once_, [&] { places_ = read_now(); });
      const auto after = std::upper_bound(places_.begin(), places_.end(), written.begin,
                                          [](uint32_t at, const DebugRange& p) { return at < p.first; });
      return after == places_.begin() ? Range() : (after - 1)->range;
    } catch (const std::exception&) {
      return {};
    }
  }

 private:
  std::vector<DebugRange> read_now() const {
    static const std::string name = "debug record";
    return RecordReader(read_(), name).read();
  }

  const std::function<std::string()> read_;
  mutable std::once_flag once_;
  mutable std::vector<DebugRange> places_;
};

}  // namespace

std::shared_ptr<const SourceMap> read_source_map(std::function<std::string()> read) {
  return std::make_shared<DebugRanges>(std::move(read));
}

std::vector<DebugRange> read_debug_ranges(const std::string& bytes, const std::string& name) {
  return RecordReader(bytes, name).read();
}

}  // namespace sconce
