#include "sconce/testing/random_program.h"

#include <random>
#include <string_view>

namespace sconce::testing {
namespace {

constexpr int kDeepest = 3;

class Generator {
 public:
  Generator(const ProgramTexts& texts, unsigned seed) : texts_(texts), random_(seed) {}

  std::string body(int depth, bool in_loop) {
    const std::string indent(2 * static_cast<size_t>(depth) + 2, ' ');
    const size_t statements = texts_.statements.size();
    std::string out;
    for (size_t i = 0, count = 1 + below(depth == 0 ? 14 : 5); i < count; ++i) {
      const size_t choice = below(statements + 5);
      if (choice < statements || depth == kDeepest) {
        out += filled(texts_.statements[choice % statements], indent);
      } else if (choice < statements + 2) {
        out += filled(texts_.conditions[below(texts_.conditions.size())], indent) + body(depth + 1, in_loop);
        if (below(2)) out += filled("else:", indent) + body(depth + 1, in_loop);
      } else if (choice < statements + 4) {
        out += filled(below(2) ? "for q in range(2):" : "for q in range($n % 4):", indent) + body(depth + 1, true);
      } else if (in_loop) {
        out += filled(std::string(texts_.leaves) + (below(2) ? "\n  break" : "\n  continue"), indent);
      }
    }
    return out.empty() ? filled("$n = $n", indent) : out;
  }

 private:
  size_t below(size_t n) { return random_() % n; }

  char hole(char kind) {
    switch (kind) {
      case 't':
        return "abc"[below(3)];
      case 'n':
        return "ij"[below(2)];
      case 'l':
        return "lk"[below(2)];
      default:
        return static_cast<char>('2' + below(5));
    }
  }

  std::string filled(std::string_view text, const std::string& indent) {
    std::string out = indent;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n')
        out += "\n" + indent;
      else
        out += text[i] == '$' ? hole(text[++i]) : text[i];
    }
    return out + "\n";
  }

  const ProgramTexts& texts_;
  std::mt19937 random_;
};

}  // namespace

std::string random_body(const ProgramTexts& texts, unsigned seed) { return Generator(texts, seed).body(0, false); }

}  // namespace sconce::testing
