#include "sconce/frontend/script/program/script_library.h"

#include <zlib.h>

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/names/language_values.h"
#include "sconce/frontend/script/names/names.h"
#include "sconce/syntax/parser.h"

namespace sconce::script {
namespace {

using syntax::as;

bool is_overload(const syntax::FunctionDef& def) {
  for (const syntax::ExprPtr d : def.decorators) {
    if (syntax::dotted_name(d) == "torch.jit._overload") return true;
  }
  return false;
}

// One namespace of the library: a file, or all files of a folder.
class LibrarySpace : public Resolver {
 public:
  LibrarySpace(std::string_view path, const std::vector<const LibrarySource*>& files)
      : inlined(path.starts_with("builtins/")), prefix_("__torch__.") {
    prefix_ += path.ends_with(".py") ? path.substr(0, path.size() - 3) : path;
    for (char& c : prefix_) {
      if (c == '/') c = '.';
    }
    for (const LibrarySource* file : files) {
      add(syntax::parse(std::make_shared<Source>("script/" + std::string(file->path), file->text())));
    }
  }

  const bool inlined;             // into callers
  LibrarySpace* wider = nullptr;  // whose names are seen, too
  ir::CompilationUnit unit;

  SugaredPtr find_value(Emitter& e, const Range& at, const std::string& name) override {
    if (const auto f = functions_.find(name); f != functions_.end()) return std::make_shared<FunctionValue>(f->second);
    if (const auto choice = choices_.find(name); choice != choices_.end()) return chosen(e, at, *choice->second);
    if (const auto alias = aliases_.find(name); alias != aliases_.end()) return find_path(e, at, alias->second);
    return wider ? wider->find_value(e, at, name) : nullptr;
  }
  TypePtr find_type(const std::string&) override { return nullptr; }
  std::vector<std::string> known_names() const override { return names_; }

  std::vector<ir::Function*> functions(const std::string& name) {
    const auto found = functions_.find(name);
    if (found == functions_.end()) return {};
    // Signatures are known before bodies are compiled, which may use the same name for other types.
    for (ir::Function* f : found->second) {
      if (f->has_schema() || f->is_compiling()) continue;
      bool declared = false;
      Schema schema = declared_schema(*source_of_.at(f), &declared);
      if (declared) f->set_schema(std::move(schema));
    }
    return found->second;
  }

 private:
  void add(const syntax::TreePtr& tree) {
    std::vector<const syntax::FunctionDef*> declared;  // @torch.jit._overload, of the definition that follows
    for (const syntax::StmtPtr s : tree->body) {
      if (const auto* def = as<syntax::FunctionDef>(s)) {
        if (is_overload(*def)) {
          declared.push_back(def);
          continue;
        }
        for (const syntax::FunctionDef* d : declared) add_function(tree, with_signature(*def, *d));
        if (declared.empty()) add_function(tree, def);
        declared.clear();
      } else if (const auto* assign = as<syntax::Assign>(s)) {
        add_name(*assign);
      }
    }
  }

  // The body of `def` under the signature of an overload, which says its own defaults.
  const syntax::FunctionDef* with_signature(const syntax::FunctionDef& def, const syntax::FunctionDef& declaration) {
    syntax::FunctionDef& made = made_.emplace_back(def);
    made.parameters = declaration.parameters;
    made.returns = declaration.returns;
    return &made;
  }

  void add_function(const syntax::TreePtr& tree, const syntax::FunctionDef* def) {
    FunctionSource& from = sources_.emplace_back();
    from.tree = tree;
    from.def = def;
    from.resolver = std::shared_ptr<Resolver>(std::shared_ptr<Resolver>(), this);  // both live forever
    from.always_inline = inlined;
    std::vector<ir::Function*>& overloads = functions_[def->name];
    if (overloads.empty()) names_.push_back(def->name);
    ir::Function& f = unit.add_function(unit.unique_name(prefix_ + "." + def->name),
                                        [&from](ir::Function& made) { compile_function(made, from); });
    source_of_[&f] = &from;
    overloads.push_back(&f);
  }

  // name = boolean_dispatch(...) or name = some.other.name
  void add_name(const syntax::Assign& assign) {
    const auto* target = assign.targets.size() == 1 ? as<syntax::Name>(assign.targets[0]) : nullptr;
    if (!target) refuse(assign.range, "the script library takes functions and names only");
    const auto* call = as<syntax::Call>(assign.value);
    if (call && syntax::dotted_name(call->callee) == "boolean_dispatch") {
      choices_[target->id] = call;
    } else if (const std::string path = syntax::dotted_name(assign.value); !path.empty()) {
      aliases_[target->id] = path;
    } else {
      refuse(assign.range, "the script library takes functions and names only");
    }
    names_.push_back(target->id);
  }

  SugaredPtr chosen(Emitter& e, const Range& at, const syntax::Call& call) {
    std::string argument;
    int64_t index = 0;
    bool by_default = false;
    SugaredPtr yes, no;
    for (const syntax::Keyword& k : call.keywords) {
      const auto* constant = as<syntax::Constant>(k.value);
      if (k.name == "arg_name" && constant) argument = constant->string;
      if (k.name == "arg_index" && constant) index = constant->integer;
      if (k.name == "default" && constant) by_default = constant->literal == syntax::Constant::Literal::true_;
      if (k.name == "if_true") yes = find_value(e, at, syntax::dotted_name(k.value));
      if (k.name == "if_false") no = find_value(e, at, syntax::dotted_name(k.value));
    }
    if (argument.empty() || !yes || !no) refuse(call.range, "boolean_dispatch needs arg_name, if_true and if_false");
    return std::make_shared<ChosenFunction>(argument, static_cast<size_t>(index), by_default, yes, no);
  }

  std::string prefix_;
  std::deque<FunctionSource> sources_;
  std::deque<syntax::FunctionDef> made_;
  std::unordered_map<std::string, std::vector<ir::Function*>> functions_;
  std::unordered_map<const ir::Function*, const FunctionSource*> source_of_;
  std::unordered_map<std::string, const syntax::Call*> choices_;
  std::unordered_map<std::string, std::string> aliases_;
  std::vector<std::string> names_;
};

struct Library {
  std::recursive_mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<LibrarySpace>> spaces;

  // Null when there is no such file or folder.
  LibrarySpace* find(std::string_view path) {
    if (const auto found = spaces.find(std::string(path)); found != spaces.end()) return found->second.get();
    std::vector<const LibrarySource*> files;
    for (const LibrarySource& source : library_sources()) {
      const size_t slash = source.path.rfind('/');
      if (source.path == path || (slash != std::string_view::npos && source.path.substr(0, slash) == path)) {
        files.push_back(&source);
      }
    }
    std::unique_ptr<LibrarySpace> space;
    if (!files.empty()) space = std::make_unique<LibrarySpace>(path, files);
    if (path == "builtins/decompositions") space->wider = find("builtins/formulas.py");
    return (spaces[std::string(path)] = std::move(space)).get();
  }
  const LibrarySpace* space_of(const ir::Function& function) const {
    for (const auto& [path, space] : spaces) {
      if (space && &space->unit == &function.unit()) return space.get();
    }
    return nullptr;
  }
};

// Never destroyed: graphs refer to its functions.
Library& library() {
  static Library& made = *new Library;
  return made;
}

}  // namespace

std::string LibrarySource::text() const {
  std::string made(size, '\0');
  uLongf length = made.size();
  const int status = uncompress(reinterpret_cast<Bytef*>(made.data()), &length, deflated.data(), deflated.size());
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  SCONCE_ASSERT(status == Z_OK && length == size);
  return made;
}

SugaredPtr library_value(Emitter& e, const Range& at, std::string_view path, const std::string& name) {
  Library& l = library();
  const std::lock_guard lock(l.mutex);
  LibrarySpace* space = l.find(path);
  return space ? space->find_value(e, at, name) : nullptr;
}

std::vector<ir::Function*> library_functions(std::string_view path, std::string_view name) {
  Library& l = library();
  const std::lock_guard lock(l.mutex);
  LibrarySpace* space = l.find(path);
  return space ? space->functions(std::string(name)) : std::vector<ir::Function*>();
}

std::vector<std::string> library_names(std::string_view path) {
  Library& l = library();
  const std::lock_guard lock(l.mutex);
  const LibrarySpace* space = l.find(path);
  return space ? space->known_names() : std::vector<std::string>();
}

void ensure_compiled(ir::Function& function) {
  Library& l = library();
  std::unique_lock lock(l.mutex);
  if (!l.space_of(function)) lock.unlock();
  function.ensure_defined();
}

std::unique_lock<std::recursive_mutex> lock_library() { return std::unique_lock(library().mutex); }

bool is_inlined_into_callers(const ir::Function& function) {
  Library& l = library();
  const std::lock_guard lock(l.mutex);
  const LibrarySpace* space = l.space_of(function);
  return space && space->inlined;
}

}  // namespace sconce::script
