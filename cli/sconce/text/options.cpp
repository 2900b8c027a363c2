#include "text/options.h"

#include <optional>

#include <CLI/CLI.hpp>

namespace sconce::cli {

Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::required() const { return Option(option_->required()); }
Option Option::expected(int least, int most) const { return Option(option_->expected(least, most)); }
Option Option::allow_extra_args(bool allowed) const { return Option(option_->allow_extra_args(allowed)); }
Option Option::delimiter(char between) const { return Option(option_->delimiter(between)); }
Option Option::group(const std::string& name) const { return Option(option_->group(name)); }
Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }
Option Option::each(const std::function<void(const std::string&)>& seen) const { return Option(option_->each(seen)); }
Option Option::check(const std::function<std::string(const std::string&)>& refusal) const {
  return Option(option_->check(refusal));
}
size_t Option::count() const { return option_->count(); }

App App::add_subcommand(const std::string& name, const std::string& description) const {
  return App(*parser_->add_subcommand(name, description));
}

void App::footer(const std::string& text) const { parser_->footer(text); }
void App::set_help_flag() const { parser_->set_help_flag(); }
void App::allow_extras() const { parser_->allow_extras(); }
std::vector<std::string> App::remaining() const { return parser_->remaining(); }

template <class T>
Option App::add_option(const std::string& name, T& value, const std::string& help) const {
  return Option(parser_->add_option(name, value, help));
}
template Option App::add_option(const std::string&, std::string&, const std::string&) const;
template Option App::add_option(const std::string&, int&, const std::string&) const;
template Option App::add_option(const std::string&, int64_t&, const std::string&) const;
template Option App::add_option(const std::string&, double&, const std::string&) const;
template Option App::add_option(const std::string&, uint64_t&, const std::string&) const;
template Option App::add_option(const std::string&, std::optional<uint64_t>&, const std::string&) const;
template Option App::add_option(const std::string&, std::optional<double>&, const std::string&) const;
template Option App::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option App::add_option(const std::string&, std::vector<int>&, const std::string&) const;

Option App::add_option_function(const std::string& name, const std::function<void(const std::string&)>& given,
                                const std::string& help) const {
  return Option(parser_->add_option_function<std::string>(name, given, help));
}
Option App::add_flag(const std::string& name, bool& value, const std::string& help) const {
  return Option(parser_->add_flag(name, value, help));
}
Option App::add_flag_function(const std::string& name, const std::function<void(int64_t)>& given,
                              const std::string& help) const {
  return Option(parser_->add_flag_function(name, given, help));
}

}  // namespace sconce::cli
