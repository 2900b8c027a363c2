// Command-line options, as commands declare them; CLI11 parses them. A facade: CLI11 is all header, and a source that
// includes it takes 8 s to compile, one that includes this 3. The methods are CLI11's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sconce::cli {

// An option that was added. Its methods return it again.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option type_name(const std::string& name) const;
  Option required() const;
  Option expected(int least, int most) const;  // most may be -1: any number
  Option allow_extra_args(bool allowed) const;
  Option delimiter(char between) const;
  Option group(const std::string& name) const;
  Option needs(Option other) const;
  Option each(const std::function<void(const std::string&)>& seen) const;
  Option check(const std::function<std::string(const std::string&)>& refusal) const;  // empty: the text is fine
  size_t count() const;                                                               // how often it was given

 private:
  CLI::Option* option_;
};

// A command, or the whole program.
class App {
 public:
  explicit App(CLI::App& parser) : parser_(&parser) {}

  CLI::App& parser() const { return *parser_; }
  App add_subcommand(const std::string& name, const std::string& description) const;
  void footer(const std::string& text) const;
  void set_help_flag() const;                  // none: --help is a word like others
  void allow_extras() const;                   // words that are no options are kept
  std::vector<std::string> remaining() const;  // those words

  // Of these types: what options.cpp instantiates.
  template <class T>
  Option add_option(const std::string& name, T& value, const std::string& help = "") const;
  Option add_option_function(const std::string& name, const std::function<void(const std::string&)>& given,
                             const std::string& help) const;
  Option add_flag(const std::string& name, bool& value, const std::string& help) const;
  Option add_flag_function(const std::string& name, const std::function<void(int64_t)>& given,
                           const std::string& help) const;

 private:
  CLI::App* parser_;
};

}  // namespace sconce::cli
