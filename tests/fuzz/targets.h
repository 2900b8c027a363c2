// What is fuzzed: each target takes any bytes, and neither crashes nor hangs nor throws. `make fuzz` runs each with
// libFuzzer; corpus/<target>/ holds texts to start from and every input that was ever found to fail, which the ordinary
// unit tests replay.
#pragma once

#include <string_view>

namespace sconce::fuzz {

// Text to tree, in both dialects, as a file, as statements and as an expression.
void parser(std::string_view bytes);

// Graph text to a graph, to text again, to the same graph.
void ir(std::string_view bytes);

// Text to graphs: names, types, calls, control flow.
void compile(std::string_view bytes);

// The directory of a zip file, and every record of it.
void zip(std::string_view bytes);

// A pickle that may name any class.
void pickle(std::string_view bytes);

// The pickle of a checkpoint: NumPy's arrays, objects of unknown classes.
void checkpoint(std::string_view bytes);

// A torch.package: its pickles, and the TorchScript modules in it, loaded and not run.
void package(std::string_view bytes);

// A whole TorchScript archive: loaded, its graphs verified, nothing of it run.
void archive(std::string_view bytes);

// A compiled file: verified, and run when it is accepted.
void compiled(std::string_view bytes);

// Files of tensors.
void safetensors(std::string_view bytes);
void npy(std::string_view bytes);

// Bytecode of lite archives: verified, and run when it is accepted.
void bytecode(std::string_view bytes);

struct Target {
  std::string_view name;
  void (*run)(std::string_view bytes);
};
inline constexpr Target kTargets[] = {
    {"parser", parser},     {"ir", ir},           {"compile", compile},         {"zip", zip},
    {"pickle", pickle},     {"archive", archive}, {"safetensors", safetensors}, {"npy", npy},
    {"bytecode", bytecode}, {"package", package}, {"checkpoint", checkpoint},   {"compiled", compiled}};

}  // namespace sconce::fuzz
