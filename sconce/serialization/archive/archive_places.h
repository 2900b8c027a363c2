// Archive layout: where the parts of a TorchScript module lie in a file that may hold several (torch.package).
#pragma once

#include <memory>
#include <string>

#include "sconce/serialization/archive/archive.h"
#include "sconce/serialization/file/records.h"

namespace sconce {

struct ArchivePlaces {
  std::string code;  // what stands in front of "code/"
  std::string data = "data.pkl", constants = "constants.pkl";
  std::string data_storages = "data/", constant_storages = "constants/";
};

// The module at these places; see load_archive.
Archive load_archive_at(const std::shared_ptr<const Records>& records, const ArchivePlaces& places,
                        const LoadOptions& options);

}  // namespace sconce
