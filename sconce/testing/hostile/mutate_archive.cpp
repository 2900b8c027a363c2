#include "sconce/testing/hostile/mutate_archive.h"

#include <algorithm>
#include <string_view>

#include "sconce/serialization/file/zip_reader.h"

namespace sconce::testing {
namespace {

size_t below(Random& random, size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); }

// A place in the bytes and a length of at most `most` from there.
std::pair<size_t, size_t> part_of(const std::string& bytes, Random& random, size_t most) {
  const size_t at = below(random, bytes.size());
  return {at, 1 + below(random, std::min(most, bytes.size() - at))};
}

// Where tokens begin, with the end of the last one.
using Cuts = std::vector<size_t>;

size_t operand_size(const std::string& bytes, size_t at) {
  const auto byte = [&](size_t k) { return at + k < bytes.size() ? static_cast<uint8_t>(bytes[at + k]) : size_t{0}; };
  switch (bytes[at]) {
    case '\x80':
    case 'K':
    case 'q':
    case 'h':
      return 1;
    case 'M':
      return 2;
    case 'J':
    case 'r':
    case 'j':
      return 4;
    case 'G':
      return 8;
    case '\x8a':
    case 'U':
      return 1 + byte(1);
    case 'X':
      return 4 + (byte(1) | byte(2) << 8 | byte(3) << 16);
    case 'c': {
      const size_t first = bytes.find('\n', at);
      const size_t second = first == bytes.npos ? first : bytes.find('\n', first + 1);
      return second == bytes.npos ? 0 : second - at;
    }
    default:
      return 0;
  }
}

Cuts cut_pickle(const std::string& bytes) {
  Cuts cuts{0};
  while (cuts.back() < bytes.size())
    cuts.push_back(std::min(bytes.size(), cuts.back() + 1 + operand_size(bytes, cuts.back())));
  return cuts;
}

Cuts cut_code(const std::string& text) {
  const auto is_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
  Cuts cuts{0};
  while (cuts.back() < text.size()) {
    size_t end = cuts.back() + 1;
    if (is_word(text[cuts.back()])) {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    cuts.push_back(end);
  }
  return cuts;
}

// Deletes, repeats, exchanges or replaces tokens.
void shuffle_tokens(std::string& bytes, const Cuts& cuts, Random& random) {
  if (cuts.size() < 3) return mutate_bytes(bytes, random);
  const size_t n = cuts.size() - 1;
  const auto token = [&](size_t i, size_t count = 1) {
    const size_t end = std::min(n, i + count);
    return bytes.substr(cuts[i], cuts[end] - cuts[i]);
  };
  const size_t a = below(random, n), b = below(random, n);
  const size_t count = 1 + below(random, 4);
  switch (below(random, 5)) {
    case 0:
      bytes.erase(cuts[a], token(a, count).size());
      break;
    case 1:
      bytes.insert(cuts[b], token(a, count));
      break;
    case 2:
      bytes.replace(cuts[a], token(a).size(), token(b));
      break;
    case 3: {
      std::string repeated;
      const std::string one = token(a, count);
      const size_t times = 1 + below(random, 200);
      for (size_t i = 0; i < times; ++i) repeated += one;
      bytes.insert(cuts[a], repeated);
      break;
    }
    default: {
      const std::string first = token(std::min(a, b)), second = token(std::max(a, b));
      bytes.replace(cuts[std::max(a, b)], second.size(), first);
      bytes.replace(cuts[std::min(a, b)], first.size(), second);
    }
  }
}

constexpr int64_t kNumbers[] = {
    0,         1,        -1,  2,    3,    7,     8,     63,        64,        127,
    128,       255,      256, -128, 1000, 65535, 65536, INT32_MAX, INT32_MIN, int64_t{1} << 32,
    INT64_MAX, INT64_MIN};

std::string pickled_number(int64_t v) {
  std::string text = "\x8a\x08";
  for (int i = 0; i < 8; ++i) text += static_cast<char>(v >> 8 * i);
  return text;
}

}  // namespace

void mutate_bytes(std::string& bytes, Random& random) {
  if (bytes.empty()) {
    bytes = static_cast<char>(random());
    return;
  }
  const auto [at, length] = part_of(bytes, random, 32);
  switch (below(random, 7)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.erase(at, length);
      break;
    case 3:
      bytes.insert(at, bytes.substr(below(random, bytes.size()), length));
      break;
    case 4:
      for (size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(random());
      break;
    case 5:
      bytes.resize(at);
      break;
    default:
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, below(random, 2) ? '\xff' : '\0');
  }
}

void mutate_pickle(std::string& bytes, Random& random) {
  const Cuts cuts = cut_pickle(bytes);
  if (below(random, 3) != 0 || cuts.size() < 3) return shuffle_tokens(bytes, cuts, random);
  // Another number, or a text of another length, in the place of one.
  const size_t start = below(random, cuts.size() - 1);
  for (size_t k = 0; k + 1 < cuts.size(); ++k) {
    const size_t i = (start + k) % (cuts.size() - 1);
    const char op = bytes[cuts[i]];
    const size_t length = cuts[i + 1] - cuts[i];
    if (op == 'K' || op == 'M' || op == 'J' || op == '\x8a') {
      bytes.replace(cuts[i], length, pickled_number(kNumbers[below(random, std::size(kNumbers))]));
      return;
    }
    if (op == 'X' && length > 5) {
      std::string text = bytes.substr(cuts[i] + 5, length - 5);
      mutate_bytes(text, random);
      std::string whole = "X";
      for (int b = 0; b < 4; ++b) whole += static_cast<char>(text.size() >> 8 * b);
      bytes.replace(cuts[i], length, whole + text);
      return;
    }
  }
}

void mutate_code(std::string& text, Random& random) {
  constexpr std::string_view kWords[] = {"(",
                                         ")",
                                         "[",
                                         "]",
                                         ":",
                                         "=",
                                         "\n",
                                         "  ",
                                         "self",
                                         "x",
                                         "torch",
                                         "annotate",
                                         "List",
                                         "int",
                                         "Tensor",
                                         "Optional",
                                         "Tuple",
                                         "while",
                                         "for",
                                         "if",
                                         "return",
                                         "def",
                                         "class",
                                         "0",
                                         "-1",
                                         "9223372036854775807",
                                         "9999999999999999999",
                                         "1e999",
                                         "None",
                                         "True",
                                         "CONSTANTS.c0",
                                         "ops.prim.",
                                         "__torch__.",
                                         "lambda",
                                         "\"",
                                         "#",
                                         "*",
                                         "**"};
  if (below(random, 4) == 0) {
    const std::string word(kWords[below(random, std::size(kWords))]);
    const Cuts cuts = cut_code(text);
    const size_t i = below(random, cuts.size() - 1);
    text.replace(cuts[i], below(random, 2) ? cuts[std::min(i + 1, cuts.size() - 1)] - cuts[i] : 0, word);
  } else if (below(random, 4) == 0) {
    mutate_bytes(text, random);
  } else {
    shuffle_tokens(text, cut_code(text), random);
  }
}

ArchiveMutator::ArchiveMutator(const std::string& bytes) {
  const ZipReader zip(FileBytes::copy(std::as_bytes(std::span(bytes)), "archive"));
  for (const ZipReader::Record& record : zip.records()) {
    ZipPart part;
    part.name = record.name;
    part.content = zip.read(record);
    part.deflate = record.deflated;
    parts_.push_back(std::move(part));
  }
}

std::string ArchiveMutator::mutate(Random& random) const {
  std::vector<ZipPart> parts = parts_;
  ZipEnd end;
  const size_t changes = 1 + below(random, 4);
  const bool lies = below(random, 16) == 0, cut = below(random, 64) == 0;
  for (size_t i = 0; i < changes && !parts.empty(); ++i) {
    // Large records, which are storages, are not better targets than small ones.
    ZipPart& part = parts[below(random, parts.size())];
    ZipPart& other = parts[below(random, parts.size())];
    switch (below(random, 24)) {
      case 0:
        std::swap(part.content, other.content);
        break;
      case 1:
        parts.erase(parts.begin() + (&part - parts.data()));
        break;
      case 2:
        part.name = other.name;
        break;
      case 3:
        mutate_bytes(part.name, random);
        break;
      case 4:
        part.content.clear();
        break;
      case 5:
        part.deflate = !part.deflate;
        break;
      default:
        if (part.name.ends_with("pkl")) {
          mutate_pickle(part.content, random);
        } else if (part.name.ends_with(".py")) {
          mutate_code(part.content, random);
        } else {
          mutate_bytes(part.content, random);
        }
    }
  }
  if (lies && !parts.empty()) {
    ZipPart& part = parts[below(random, parts.size())];
    const auto number = static_cast<uint64_t>(kNumbers[below(random, std::size(kNumbers))]);
    switch (below(random, 10)) {
      case 0:
        part.size = number;
        break;
      case 1:
        part.stored_size = number;
        break;
      case 2:
        part.offset = number;
        break;
      case 3:
        part.crc = static_cast<uint32_t>(number);
        break;
      case 4:
        part.method = static_cast<uint16_t>(number);
        break;
      case 5:
        part.flags = static_cast<uint16_t>(number);
        break;
      case 6:
        end.entries = number;
        break;
      case 7:
        end.directory_offset = number;
        break;
      case 8:
        end.directory_size = number;
        break;
      default:
        part.size = part.stored_size = number;
    }
  }
  std::string bytes = pack_zip(parts, end);
  if (cut) bytes.resize(below(random, bytes.size()));
  if (lies && below(random, 2)) {
    // Somewhere in the directory, or anywhere.
    const size_t from = below(random, 2) ? bytes.size() - std::min<size_t>(bytes.size(), 400) : 0;
    std::string tail = bytes.substr(from);
    mutate_bytes(tail, random);
    bytes.replace(from, bytes.npos, tail);
  }
  return bytes;
}

}  // namespace sconce::testing
