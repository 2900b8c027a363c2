// Rows that train a network: one call is a step (forward, loss, backward, SGD with momentum or AdamW). training.py has
// the same networks in PyTorch, with parameters made in the same order.
#pragma once

#include "bench/rows/rows.h"

namespace sconce::bench {

// A network with one batch of inputs. The constructor makes everything, parameters through the functions below.
class TrainingModel {
 public:
  virtual ~TrainingModel();
  virtual Tensor loss() = 0;  // of the batch, with history
  const std::vector<Tensor>& parameters() const { return parameters_; }

 protected:
  // A weight of two and more dimensions: uniform within 1 / sqrt(inputs of an output).
  Tensor weight(IntList sizes, MemoryFormat format = MemoryFormat::contiguous);
  Tensor constant(IntList sizes, double value);  // biases, and weights of normalisations
  // A parameter that exists: it gets the values that the functions above would give it.
  void adopt(const Tensor& t, bool is_bias);

 private:
  Tensor values(IntList sizes) const;  // of the next weight
  Tensor add(Tensor t);
  std::vector<Tensor> parameters_;
};

// Channels_last, where asked for, in input and weights.
std::unique_ptr<TrainingModel> small_cnn(MemoryFormat format);
std::unique_ptr<TrainingModel> resnet18();

// Networks over sequences, of the text at `path`.
std::unique_ptr<TrainingModel> transformer(const std::string& path, bool causal, double dropout);
std::unique_ptr<TrainingModel> lstm_model(const std::string& path);

std::vector<Row> training_rows(const std::string& folder);  // where sequences.py is

}  // namespace sconce::bench
