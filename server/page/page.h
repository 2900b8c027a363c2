// The page at `/`: models, their graphs, live latencies. page.html is embedded as text (generated).
#pragma once

namespace sconce::server {

extern const char* const kPage;

}  // namespace sconce::server
