// sconce-bench-grpc ADDRESS MODEL INPUT SHAPE SECONDS: unary calls of ModelInfer, one after the other, over one channel. Prints the
// latencies as JSON.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <absl/synchronization/mutex.h>
#include <grpcpp/grpcpp.h>

#include "inference.grpc.pb.h"
#include "server/run/latency_histogram.h"

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: sconce-bench-grpc ADDRESS MODEL INPUT SHAPE SECONDS\n");
    return 2;
  }
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as the server does
  const auto stub =
      inference::GRPCInferenceService::NewStub(grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  inference::ModelInferRequest request;
  request.set_model_name(argv[2]);
  auto* input = request.add_inputs();
  input->set_name(argv[3]);
  input->set_datatype("FP32");
  std::istringstream shape(argv[4]);
  size_t count = 1;
  for (std::string size; std::getline(shape, size, 'x');) {
    input->add_shape(std::atoll(size.c_str()));
    count *= static_cast<size_t>(std::atoll(size.c_str()));
  }
  request.add_raw_input_contents(std::string(4 * count, '\0'));
  using Clock = std::chrono::steady_clock;
  sconce::server::LatencyHistogram<7> latency;
  const auto start = Clock::now();
  const auto warm = start + std::chrono::milliseconds(500);
  const auto end =
      warm + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::atof(argv[5])));
  for (auto before = Clock::now(); before < end;) {
    grpc::ClientContext context;
    inference::ModelInferResponse response;
    const grpc::Status status = stub->ModelInfer(&context, request, &response);
    const auto now = Clock::now();
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.error_message().c_str());
      return 1;
    }
    if (before >= warm) latency.add(static_cast<uint64_t>(std::chrono::nanoseconds(now - before).count()));
    before = now;
  }
  std::printf("{\"answers\": %lu, \"p50_seconds\": %.9f, \"p90_seconds\": %.9f, \"p99_seconds\": %.9f}\n",
              latency.count(), 1e-9 * static_cast<double>(latency.quantile(0.5)),
              1e-9 * static_cast<double>(latency.quantile(0.9)), 1e-9 * static_cast<double>(latency.quantile(0.99)));
}
