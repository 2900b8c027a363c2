#include "files/inputs.h"

#include <sys/stat.h>

#include <charconv>
#include <memory>

#include <fmt/format.h>

#include "commands/commands.h"
#include "files/input_file.h"
#include "files/model_file.h"
#include "files/program_file.h"
#include "sconce/dispatch/schema.h"
#include "sconce/ops.h"

namespace sconce::cli {
namespace {

bool is_file(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// "weights.npz:bias" where weights.npz is a file.
std::optional<InputFile> as_file(const std::string& text) {
  if (is_file(text)) return InputFile{text, ""};
  const size_t colon = text.rfind(':');
  if (colon != text.npos && is_file(text.substr(0, colon)))
    return InputFile{text.substr(0, colon), text.substr(colon + 1)};
  return {};
}

bool looks_like_path(const std::string& text) {
  if (text.find_first_of("()[]{}'\" ") != text.npos) return false;
  if (text.find('/') != text.npos) return true;
  for (const char* end : {".npy", ".npz", ".safetensors", ".png", ".jpg", ".jpeg", ".wav", ".pth", ".pt"}) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

class Reader {
 public:
  Reader(const InputOptions& options, const ModelFile& model, const std::string& method)
      : options_(options), model_(model), schema_(model.method(method).schema()) {}

  CallValues read() {
    for (const std::string& raw : options_.values) {
      const std::string text = raw.starts_with(' ') ? raw.substr(1) : raw;  // "-1", "[2]": see main.cpp
      if (const auto file = as_file(text)) {
        add_file(*file, "");
      } else if (const auto keyword = split_keyword(text)) {
        if (const auto named_file = as_file(keyword->second)) {
          add_file(*named_file, keyword->first);
        } else {
          add(keyword->first, literal(keyword->second, argument(keyword->first)));
        }
      } else {
        add("", literal(text, next_argument()));
      }
    }
    for (const std::string& text : options_.random) {
      const auto keyword = split_keyword(text);
      add(keyword ? keyword->first : "", random_tensor(keyword ? keyword->second : text));
    }
    return std::move(out_);
  }

 private:
  void add_file(const InputFile& file, const std::string& name) {
    std::vector<std::pair<std::string, Value>> values = read_input_file(file, options_.pictures);
    if (!name.empty()) {
      if (values.size() != 1)
        throw UsageError(
            fmt::format("{}={}: the file has {} tensors; FILE:NAME takes one of them", name, file.path, values.size()));
      return add(name, std::move(values[0].second));
    }
    // By name where all of the names are those of arguments, else in order.
    bool by_name = !values.empty();
    for (const auto& [key, value] : values) by_name = by_name && argument(key);
    for (auto& [key, value] : values) add(by_name ? key : "", std::move(value));
  }

  // `to`: the argument that it is for, or null. Where that is a str, whatever is not one is taken as it stands.
  Value literal(const std::string& text, const Argument* to) {
    const bool wants_text = to && (to->type == string_type() || to->type == optional_type(string_type()));
    if (looks_like_path(text) && !wants_text) throw UsageError(fmt::format("there is no file '{}'", text));
    try {
      if (!empty_program_) empty_program_ = std::make_unique<script::Program>("");
      ProgramFile* program = model_.program();
      const Value v = evaluate(program ? program->program() : *empty_program_, with_one_kind_of_number(text), "INPUT");
      const bool fits = v.is_string() || (v.is_none() && to && to->type != string_type());
      return wants_text && !fits ? Value(text) : v;
    } catch (const CompileError& e) {
      if (wants_text) return Value(text);
      throw UsageError(
          fmt::format("'{0}' is neither a file nor a value: {1} (a text is written \"'{0}'\")", text, e.reason()));
    }
  }

  const Argument* argument(const std::string& name) const {
    const auto at = schema_.find_argument(name);
    return at && name != "self" ? &schema_.arguments[*at] : nullptr;
  }

  const Argument* next_argument() const {
    const size_t first = !schema_.arguments.empty() && schema_.arguments[0].name == "self" && model_.module() ? 1 : 0;
    const size_t position = first + out_.args.size();
    return position < schema_.arguments.size() ? &schema_.arguments[position] : nullptr;
  }

  void add(const std::string& name, Value v) {
    const Argument* to = name.empty() ? next_argument() : argument(name);
    if (to && v.is_tensor() && to->type == list_type(tensor_type())) v = list_of_one(v.to_tensor());
    if (name.empty())
      out_.args.push_back(std::move(v));
    else
      out_.kwargs.emplace_back(name, std::move(v));
  }

  static Value list_of_one(const Tensor& t) {
    const bool picture = t.dim() == 4 && t.size(0) == 1;
    return Value(std::vector<Tensor>{picture ? t.squeeze(0) : t});
  }

  const InputOptions& options_;
  const ModelFile& model_;
  const Schema schema_;
  CallValues out_;
  std::unique_ptr<script::Program> empty_program_;  // what values are evaluated in when the program is no text
};

}  // namespace

const char* const kInputHelp =
    "An INPUT is a file or a value; NAME=INPUT gives a keyword argument.\n"
    "  x.npy                  its tensor\n"
    "  x.npz, x.safetensors   its tensors, by name where the names are those of the arguments, else in order;\n"
    "                         x.npz:NAME is one of them\n"
    "  x.pth                  what torch.save wrote: a tensor, or any value; x.pth:NAME is one of its tensors\n"
    "  x.png, x.jpg           float32 [1, 3, H, W], from 0 to 1, see --image-size and --normalize\n"
    "  x.wav                  float32 [channels, samples], from -1 to 1\n"
    "  3, [1, 2], 'text', None, (1, 2.5), torch.ones(2, 3)\n"
    "                         an expression of the language\n";

void add_random_options(App command, InputOptions& o) {
  command
      .add_option("--random", o.random,
                  "One more input: a random tensor of this shape; floats are normally distributed, integers are below "
                  "10 or HIGH; NAME=1x3 for a keyword argument; repeatable")
      .type_name("1x3x224x224[:DTYPE[:HIGH]]")
      .allow_extra_args(false);
  add_picture_options(command, o.pictures);
}

void add_input_options(App command, InputOptions& o) {
  command.add_option("INPUT", o.values, "Files and values, see below").type_name("");
  add_random_options(command, o);
}

CallValues read_inputs(const InputOptions& options, const ModelFile& model, const std::string& method) {
  return Reader(options, model, method).read();
}

Tensor random_tensor(const std::string& text) {
  constexpr int64_t kDefaultHigh = 10;
  constexpr size_t kMaxDims = 64;
  const auto refuse = [&](const char* why) {
    throw UsageError(
        fmt::format("--random takes a shape like 1x3x224x224, 2x16:int64 or 2x16:int64:1000, got '{}'{}", text, why));
  };
  const size_t colon = text.find(':'), second = colon == text.npos ? text.npos : text.find(':', colon + 1);
  std::string_view shape = std::string_view(text).substr(0, colon);
  std::vector<int64_t> sizes;
  const auto take_number = [&](std::string_view& from) {
    int64_t n = 0;
    const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), n);
    if (error != std::errc() || n < 0) refuse("");
    from.remove_prefix(static_cast<size_t>(end - from.data()));
    return n;
  };
  while (!shape.empty()) {
    sizes.push_back(take_number(shape));
    if (sizes.size() > kMaxDims) refuse(": too many dimensions");
    if (shape.empty()) break;
    if (shape[0] != 'x' || shape.size() == 1) refuse("");
    shape.remove_prefix(1);
  }
  DType dtype = DType::float32;
  if (colon != text.npos && !dtype_from_name(std::string_view(text).substr(colon + 1, second - colon - 1), &dtype))
    refuse(": there is no such dtype");
  if (is_floating(dtype) || is_complex(dtype)) {
    if (second != text.npos) refuse(": a highest value is for integers");
    return randn(sizes, dtype);
  }
  int64_t high = dtype == DType::bool_ ? 2 : kDefaultHigh;
  if (second != text.npos) {
    std::string_view rest = std::string_view(text).substr(second + 1);
    high = take_number(rest);
    if (!rest.empty() || high == 0) refuse("");
  }
  return randint(high, sizes, dtype);
}

}  // namespace sconce::cli
