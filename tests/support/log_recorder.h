// A sink that keeps what it receives: for tests of what is reported (palimpsest/log.h).
//
// Thread-safety: all functions, from any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "palimpsest/log.h"

namespace palimpsest::test {

/// A copy of a message.
struct RecordedMessage {
  LogLevel level{};
  std::string component{};
  std::string message{};
  std::string text{};  ///< text_of()
  std::vector<std::pair<std::string, LogValue>> fields{};
  std::vector<std::pair<std::string, std::string>> texts{};  ///< fields that are texts
  std::thread::id thread{};

  /// A field that is a number; nothing if there is none, or it is none.
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const {
    for (const auto& [name, value] : fields) {
      if (name == key && std::holds_alternative<std::uint64_t>(value)) {
        return std::get<std::uint64_t>(value);
      }
      if (name == key && std::holds_alternative<std::int64_t>(value)) {
        return static_cast<std::uint64_t>(std::get<std::int64_t>(value));
      }
    }
    return std::nullopt;
  }
  /// A field that is a text; "none" if there is none.
  [[nodiscard]] std::string field(std::string_view key) const {
    for (const auto& [name, value] : texts) {
      if (name == key) {
        return value;
      }
    }
    return "none";
  }
};

class LogRecorder {
 public:
  /// Records to this object, also after copies of it have gone.
  [[nodiscard]] LogFunction function() const {
    return [kept = kept_](const LogMessage& message) { kept->add(message); };
  }
  [[nodiscard]] std::vector<RecordedMessage> all() const {
    const std::lock_guard lock(kept_->mutex);
    return kept_->messages;
  }
  /// Those of the component whose message has the part.
  [[nodiscard]] std::vector<RecordedMessage> of(std::string_view component,
                                                std::string_view part = "") const {
    std::vector<RecordedMessage> found = all();
    std::erase_if(found, [&](const RecordedMessage& one) {
      return one.component != component || one.message.find(part) == std::string::npos;
    });
    return found;
  }
  [[nodiscard]] std::size_t count(std::string_view component, std::string_view part = "") const {
    return of(component, part).size();
  }
  void clear() {
    const std::lock_guard lock(kept_->mutex);
    kept_->messages.clear();
  }

 private:
  struct Kept {
    void add(const LogMessage& message) {
      RecordedMessage copy{.level = message.level,
                           .component = std::string(message.component),
                           .message = std::string(message.message),
                           .text = text_of(message),
                           .thread = std::this_thread::get_id()};
      for (const LogField& field : message.fields) {
        copy.fields.emplace_back(field.key, field.value);
        if (const auto* const text = std::get_if<std::string_view>(&field.value)) {
          copy.fields.back().second = std::string_view("see texts");
          copy.texts.emplace_back(field.key, *text);
        }
      }
      const std::lock_guard lock(mutex);
      messages.push_back(std::move(copy));
    }

    std::mutex mutex;
    std::vector<RecordedMessage> messages;  ///< protected by mutex
  };

  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace palimpsest::test
