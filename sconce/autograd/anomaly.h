// Anomaly mode: nodes remember where the forward operation was called, and backward says so when it fails or gives NaN.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "sconce/autograd/graph/node.h"

namespace sconce::autograd {

// For a scope; it counts for all threads.
class SCONCE_API AnomalyMode {
 public:
  explicit AnomalyMode(bool enabled = true, bool check_nan = true);
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;
  // Without a scope, until it is set again.
  static void set(bool enabled, bool check_nan) noexcept;
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

// The source lines of the script that the current thread runs, for Place::text; empty outside of scripts. The
// interpreter answers (Note [Connections]); null if none is linked.
using PlaceSource = std::string (*)();
extern const PlaceSource place_source;
std::string current_place();
// The same for code of another language that calls operators: asked where no script runs.
SCONCE_API void set_outer_place_source(PlaceSource source) noexcept;
// Of a node that is being made now.
std::unique_ptr<Place> make_place();

// The node that this thread applies, null if none.
Node* running_node() noexcept;
class RunningNode {
 public:
  explicit RunningNode(Node& node) noexcept;
  ~RunningNode();
  RunningNode(const RunningNode&) = delete;

 private:
  Node* outer_;
};

// Throws if one of the gradients that a node gave is NaN.
void check_nan(const Node& node, std::span<const Tensor> gradients);
// For the end of an error's message: where the node's forward call was, then those that led to it.
std::string history_of(const Node& node);

}  // namespace sconce::autograd
