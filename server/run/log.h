// Log: structured logging. A line of JSON for each event, with its time, level and fields.
//
//   log.info("model loaded").field("model", name).field("seconds", 0.2);
#pragma once

#include <concepts>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "server/protocol/json_writer.h"

namespace sconce::server {

class Log {
 public:
  // One line, written when it goes.
  class Line {
   public:
    Line(Log* log, const char* level, std::string_view event);
    ~Line();
    Line(Line&& other) noexcept : log_(std::exchange(other.log_, nullptr)), out_(std::move(other.out_)) {}
    Line& field(std::string_view name, std::string_view value) & { return out_.key(name).text(value), *this; }
    Line& field(std::string_view name, const char* value) & { return field(name, std::string_view(value)); }
    template <class T>
      requires std::integral<T> || std::floating_point<T>
    Line& field(std::string_view name, T value) & {
      return out_.key(name).number(value), *this;
    }
    template <class T>
    Line&& field(std::string_view name, const T& value) && {
      field(name, value);
      return std::move(*this);
    }

   private:
    Log* log_;
    JsonWriter out_;
  };

  // Writes to this file descriptor, which stays the caller's; -1: nowhere.
  explicit Log(int file) : file_(file) {}
  Line info(std::string_view event) { return {this, "info", event}; }
  Line warning(std::string_view event) { return {this, "warning", event}; }
  Line error(std::string_view event) { return {this, "error", event}; }

 private:
  void write(const std::string& line);
  const int file_;
  std::mutex mutex_;
};

}  // namespace sconce::server
