// Anomaly mode: nodes remember where the forward operation was called, and backward says so when it fails or gives NaN.
#pragma once

#include <functional>
#include <string>

#include "sconce/autograd/node.h"

namespace sconce::autograd {

class SCONCE_API AnomalyMode {
 public:
  explicit AnomalyMode(bool enabled = true, bool check_nan = true);
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;
  static bool enabled() noexcept;
  static bool checks_nan() noexcept;

 private:
  bool enabled_, check_nan_;
};

// Where a node was made: the line of the program that ran, and the node whose apply made it (in double backward).
struct Place {
  std::string text;
  Ref<Node> parent;
};

// Says where the current thread is, for Place::text; the interpreter gives the script's source line. Empty where unknown.
using PlaceSource = std::string (*)();
void set_place_source(PlaceSource source) noexcept;
std::string current_place();
// Of a node that is being made now.
std::unique_ptr<Place> make_place();

}  // namespace sconce::autograd
