#include "device_operators.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "sconce/base/error.h"
#include "sconce/dispatch/register_backend.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/backend.h"

namespace sconce::cli {
namespace {

// What the child says: a line for each operator that is missing, then the number of the others; or "!" and the reason.
std::string answer(Device device) {
  try {
    backend_of(device);
  } catch (const std::exception& e) {
    return std::string("!") + e.what();
  }
  std::string text;
  size_t with_kernel = 0;
  for (const Op* op : all_ops()) {
    if (!op->has_kernel(Key::cpu)) continue;
    if (runs_on(*op, device.type))
      ++with_kernel;
    else
      text += op->qualified_name() + "\n";
  }
  return text + std::to_string(with_kernel);
}

}  // namespace

DeviceOperators operators_of(Device device) {
  int ends[2];
  SCONCE_CHECK(::pipe(ends) == 0, "no pipe for a child that asks for device {}", to_string(device));
  std::fflush(nullptr);
  const pid_t child = ::fork();
  SCONCE_CHECK(child >= 0, "no child that asks for device {}", to_string(device));
  if (child == 0) {
    const std::string text = answer(device);
    for (size_t at = 0; at < text.size();) {
      const ssize_t written = ::write(ends[1], text.data() + at, text.size() - at);
      if (written <= 0) break;
      at += static_cast<size_t>(written);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  SCONCE_CHECK(!text.empty(), "device {}: the child that asked for its operators ended with status {}",
               to_string(device), status);
  if (text[0] == '!') fail("{}", text.substr(1));

  DeviceOperators found;
  for (size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1)
    found.missing.push_back(text.substr(at, end - at));
  found.with_kernel = std::stoul(text.substr(text.rfind('\n') + 1));
  return found;
}

}  // namespace sconce::cli
