// Archive mutation, for fuzzing: takes a zip file apart, changes something in a way that fits its kind (bytes of a
// record, opcodes of a pickle, tokens of code, the records themselves, fields of headers), and packs it again with
// right checksums, so that the readers of the inside see it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sconce/testing/hostile/zip_bytes.h"

namespace sconce::testing {

using Random = std::mt19937_64;

class ArchiveMutator {
 public:
  // Throws Error when `bytes` are not a zip file.
  explicit ArchiveMutator(const std::string& bytes);

  // One to four changes; the same random numbers give the same bytes.
  std::string mutate(Random& random) const;

 private:
  std::vector<ZipPart> parts_;
};

// The changes, each on its own.
void mutate_bytes(std::string& bytes, Random& random);
void mutate_pickle(std::string& bytes, Random& random);
void mutate_code(std::string& text, Random& random);

}  // namespace sconce::testing
