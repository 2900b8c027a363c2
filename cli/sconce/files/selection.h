// Selections: the operators, dtypes, formats and vector levels that models need, for a library built with no others
// (docs/small.md, opgen/selection.py).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "files/model_file.h"
#include "text/call_text.h"

namespace sconce::cli {

struct Selection {
  std::set<std::string> operators, dtypes, formats, levels, kinds;  // no dtypes, levels or kinds of files: all
  // Random numbers: whether operators draw them in any case, or while training alone, as dropout does; whether models
  // are training.
  bool draws = false, drops_out = false, trains = false;
  bool places = false;               // errors name lines of source
  bool is_partial = false;           // has what runs called, not all that the models name
  std::vector<std::string> origins;  // files, for people

  std::string text() const;
};

// Whether a file has bytecode, which a lite library runs whatever code it has beside it.
bool is_lite_file(const std::string& path);

// A file that was written before, or by hand. Throws UsageError naming the line that is none.
Selection read_selection(const std::string& path);

// What all methods of a lite archive (.ptl) or of a compiled file (.scx) need; of a .pt, what they need in its lite
// archive. `dtypes`: also those of its tensors and constants, and those that every program computes in. Throws Error,
// also where an operator does not exist at all; UsageError for other files.
void select_model(const ModelFile& model, const FileBytesPtr& file, bool dtypes, Selection& selection);

// What one call runs: a library that is built with no more loads the model, and fails where another call needs more.
void select_run(const ModelFile& model, const FileBytesPtr& file, const std::string& method, CallValues inputs,
                bool dtypes, Selection& selection);

}  // namespace sconce::cli
