#include "graphs/top_classes.h"

#include <fmt/format.h>

#include "commands/commands.h"
#include "sconce/ops.h"

namespace sconce::cli {
namespace {

void collect(const Value& v, std::vector<Tensor>& out) {
  if (v.is_tensor()) out.push_back(v.to_tensor());
  if (v.is_tuple()) {
    for (const Value& item : v.to_tuple().items) collect(item, out);
  }
  if (v.is_list()) {
    for (const Value& item : v.to_list().values()) collect(item, out);
  }
  if (v.is_dict()) v.to_dict().for_each([&](const Value&, const Value& item) { collect(item, out); });
}

std::vector<std::string> read_labels(const std::string& path) {
  std::vector<std::string> labels;
  const std::string text = read_text(path);
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    const bool carriage = end > from && text[end - 1] == '\r';
    labels.push_back(text.substr(from, end - from - carriage));
    from = end + 1;
  }
  return labels;
}

}  // namespace

std::vector<std::vector<ClassScore>> top_classes(const Value& output, const TopOptions& o) {
  std::vector<Tensor> tensors;
  collect(output, tensors);
  SCONCE_CHECK(tensors.size() == 1, "--top needs one tensor of scores, the result has {}", tensors.size());
  Tensor scores = tensors[0];
  SCONCE_CHECK((scores.dim() == 1 || scores.dim() == 2) && scores.numel() > 0 && !is_complex(scores.dtype()),
               "--top needs scores of shape [classes] or [rows, classes], the result is {} {}",
               dtype_name(scores.dtype()), scores.sizes());
  scores = scores.to(DType::float64);
  if (scores.dim() == 1) scores = scores.unsqueeze(0);
  const std::vector<std::string> labels = o.labels.empty() ? std::vector<std::string>() : read_labels(o.labels);
  if (!o.labels.empty() && static_cast<int64_t>(labels.size()) < scores.size(1))
    throw UsageError(fmt::format("{}: has {} labels for {} classes", o.labels, labels.size(), scores.size(1)));
  const Tensor probabilities = softmax(scores, 1).contiguous();
  const auto [best, indices] = topk(scores, std::min(o.count, scores.size(1)));
  std::vector<std::vector<ClassScore>> out;
  for (int64_t row = 0; row < scores.size(0); ++row) {
    std::vector<ClassScore>& classes = out.emplace_back();
    for (int64_t k = 0; k < best.size(1); ++k) {
      const int64_t index = indices.contiguous().data<int64_t>()[row * best.size(1) + k];
      classes.push_back({index, best.contiguous().data<double>()[row * best.size(1) + k],
                         probabilities.data<double>()[row * scores.size(1) + index],
                         labels.empty() ? "" : labels[static_cast<size_t>(index)]});
    }
  }
  return out;
}

}  // namespace sconce::cli
