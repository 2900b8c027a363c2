#include "sconce/serialization/source_map.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "sconce/serialization/pickle_reader.h"

namespace sconce {
namespace {

// Debug records are numbers and texts: they may refer to nothing.
class NoContext final : public PickleContext {
 public:
  Tensor storage(const std::string&, std::optional<DType>, int64_t) override { refuse("a tensor"); }
  TypePtr find_class(const std::string& name) override { refuse(name); }
  TypePtr find_type(std::string_view text) override { refuse(text); }
  Value build(TypePtr, Value) override { refuse("an object"); }

 private:
  [[noreturn]] static void refuse(std::string_view what) { fail("{} has no place in a debug record", what); }
};

// ("FORMAT_WITH_STRING_TABLE", texts, records): from byte `first` of the code on, the text comes from bytes begin to
// end of the lines, which begin at line `line` of the file. Each record is (first, ((lines, file, line), begin, end),
// tag).
class DebugRanges final : public SourceMap {
 public:
  explicit DebugRanges(std::function<std::string()> read) : read_(std::move(read)) {}

  Range original(const Range& written) const noexcept override {
    try {
      std::call_once(once_, [&] { load(); });
      const auto after = std::upper_bound(places_.begin(), places_.end(), written.begin,
                                          [](uint32_t at, const Place& p) { return at < p.first; });
      return after == places_.begin() ? Range() : (after - 1)->range;
    } catch (const std::exception&) {
      return {};
    }
  }

 private:
  struct Place {
    uint32_t first;
    Range range;
  };

  void load() const {
    NoContext context;
    const Value whole = read_pickle(read_(), "debug record", context);
    const std::vector<Value>& parts = whole.to_tuple().items;
    SCONCE_CHECK(parts.size() == 3 && parts[0].to_string_ref() == "FORMAT_WITH_STRING_TABLE", "an unknown format");
    const std::vector<Value>& texts = parts[1].to_tuple().items;
    std::map<std::pair<std::vector<int64_t>, int64_t>, SourcePtr> sources;
    for (const Value& record : parts[2].to_tuple().items) {
      const std::vector<Value>& fields = record.to_tuple().items;
      const std::vector<Value>& range = fields.at(1).to_tuple().items;
      const std::vector<Value>& source = range.at(0).to_tuple().items;
      const std::vector<int64_t> lines = source.at(0).to_list().ints().vec();
      Place place{static_cast<uint32_t>(fields.at(0).to_int()), {}};
      if (!lines.empty()) {
        SourcePtr& found = sources[{lines, source.at(2).to_int()}];
        if (!found) {
          std::string text;
          for (int64_t i : lines) text += texts.at(static_cast<size_t>(i)).to_string_ref();
          found = std::make_shared<Source>(texts.at(static_cast<size_t>(source.at(1).to_int())).to_string_ref(), text,
                                           static_cast<int>(source.at(2).to_int()));
        }
        const auto size = static_cast<int64_t>(found->text().size());
        const int64_t begin = std::clamp<int64_t>(range.at(1).to_int(), 0, size);
        const int64_t end = std::clamp<int64_t>(range.at(2).to_int(), begin, size);
        place.range = {found, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
      }
      places_.push_back(std::move(place));
    }
    std::stable_sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.first < b.first; });
  }

  const std::function<std::string()> read_;
  mutable std::once_flag once_;
  mutable std::vector<Place> places_;
};

}  // namespace

std::shared_ptr<const SourceMap> read_source_map(std::function<std::string()> read) {
  return std::make_shared<DebugRanges>(std::move(read));
}

}  // namespace sconce
