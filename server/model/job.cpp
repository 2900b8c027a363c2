#include "server/model/job.h"

#include "sconce/ops.h"
#include "server/model/model.h"
#include "server/protocol/datatype.h"

namespace sconce::server {
namespace {

// Values that can be compared without doubt.
bool is_plain(const Value& v) { return v.is_none() || v.is_bool() || v.is_int() || v.is_double() || v.is_string(); }

Tensor padded(const Tensor& t, const std::vector<int64_t>& sizes, double with) {
  std::vector<int64_t> pad;
  bool any = false;
  for (int64_t d = t.dim() - 1; d > 0; --d) {
    pad.push_back(0);
    pad.push_back(sizes[static_cast<size_t>(d)] - t.size(d));
    any |= pad.back() > 0;
  }
  if (!any) return t;
  const bool real = t.dtype() == DType::float32 || t.dtype() == DType::float64 || t.dtype() == DType::float16 ||
                    t.dtype() == DType::bfloat16;
  return constant_pad_nd(t, pad, real ? Scalar(with) : Scalar(static_cast<int64_t>(with)));
}

}  // namespace

void Job::cancel() { model->cancel(shared_from_this()); }

int64_t rows_of(const std::vector<Value>& args) {
  int64_t rows = 0;
  for (const Value& v : args) {
    if (is_plain(v)) continue;
    if (!v.is_tensor() || v.to_tensor().dim() == 0) return 0;
    const int64_t n = v.to_tensor().size(0);
    if (n == 0 || (rows && n != rows)) return 0;
    rows = n;
  }
  return rows;
}

bool Job::joins(const Job& other) const {
  if (method != other.method || args.size() != other.args.size() || rows == 0 || other.rows == 0) return false;
  for (size_t i = 0; i < args.size(); ++i) {
    const Value &a = args[i], &b = other.args[i];
    if (a.is_tensor() != b.is_tensor()) return false;
    if (!a.is_tensor()) {
      if (a.tag() != b.tag() || !a.equals(b)) return false;
      continue;
    }
    const Tensor &s = a.to_tensor(), &t = b.to_tensor();
    if (s.dtype() != t.dtype() || s.dim() != t.dim()) return false;
    for (int64_t d = 1; d < s.dim() && !ragged[i]; ++d) {
      if (s.size(d) != t.size(d)) return false;
    }
  }
  return true;
}

std::vector<Value> join_arguments(const std::vector<JobPtr>& jobs, const std::vector<double>& padding) {
  std::vector<Value> out = jobs[0]->args;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].is_tensor()) continue;
    std::vector<Tensor> parts;
    for (const JobPtr& job : jobs) parts.push_back(job->args[i].to_tensor());
    if (jobs[0]->ragged[i]) {
      std::vector<int64_t> sizes(parts[0].sizes().begin(), parts[0].sizes().end());
      for (const Tensor& t : parts) {
        for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = std::max(sizes[d], t.sizes()[d]);
      }
      for (Tensor& t : parts) t = padded(t, sizes, padding[i]);
    }
    out[i] = Value(cat(parts, 0));
  }
  return out;
}

std::vector<WireTensor> take_rows(const std::vector<WireTensor>& outputs, int64_t begin, int64_t count, int64_t all) {
  std::vector<WireTensor> out;
  out.reserve(outputs.size());
  for (const WireTensor& t : outputs) {
    if (t.shape.empty() || t.shape[0] != all)
      refuse(Code::internal,
             "output '{}' of shape [{}] has no row for each of the {} rows of a batch: its model cannot have a "
             "max_batch_size",
             t.name, fmt::join(t.shape, ", "), all);
    WireTensor part{t.name, t.datatype, t.shape, {}, {}};
    part.shape[0] = count;
    if (t.datatype == kBytes)
      part.strings.assign(t.strings.begin() + begin, t.strings.begin() + begin + count);
    else
      part.tensor = t.tensor.narrow(0, begin, count);
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace sconce::server
