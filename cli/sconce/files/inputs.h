// The inputs of a call, as they are given on the command line: files, values of the script language, random tensors.
#pragma once

#include <string>
#include <vector>

#include "files/picture_options.h"
#include "text/call_text.h"
#include "text/options.h"

namespace sconce::cli {

class ModelFile;

struct InputOptions {
  std::vector<std::string> values;  // INPUT...
  std::vector<std::string> random;  // --random
  PictureOptions pictures;
};
// INPUT..., --random, and what prepares pictures.
void add_input_options(App command, InputOptions& options);
// The same without INPUT..., for commands that take inputs otherwise.
void add_random_options(App command, InputOptions& options);
// What --help says about inputs.
extern const char* const kInputHelp;

// Arguments for a method of the model, in the order of `values`, then of `random`. The method's types decide in one
// case: a tensor for an argument of type List[Tensor] becomes a list of one (a picture [1, 3, H, W] as [3, H, W]).
// Throws UsageError for what is neither a file nor a value, and Error for files and values that are wrong.
CallValues read_inputs(const InputOptions& options, const ModelFile& model, const std::string& method);

// "1x3x224x224", "2x16:int64", "2x16:int64:1000" (integers below 1000). Throws UsageError.
Tensor random_tensor(const std::string& text);

}  // namespace sconce::cli
