#include "base/message_log.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/process_mark.h"
#include "base/start_thread.h"

namespace palimpsest {
namespace {

/// A copy of a message, with the texts that it refers to.
class KeptMessage {
 public:
  explicit KeptMessage(const LogMessage& message)
      : level_(message.level), component_(message.component), message_(message.message) {
    texts_.reserve(2 * message.fields.size());
    fields_.reserve(message.fields.size());
    for (const LogField& field : message.fields) {
      LogField& kept = fields_.emplace_back(LogField{keep(field.key), field.value});
      if (const auto* const text = std::get_if<std::string_view>(&field.value)) {
        kept.value = keep(*text);
      }
    }
  }
  KeptMessage(const KeptMessage&) = delete;
  KeptMessage& operator=(const KeptMessage&) = delete;

  [[nodiscard]] LogMessage message() const noexcept {
    return {.level = level_, .component = component_, .message = message_, .fields = fields_};
  }

  std::uint64_t lost_before = 0;  ///< messages lost between the one queued before and this one

 private:
  [[nodiscard]] std::string_view keep(std::string_view text) {
    return texts_.emplace_back(text);  // within its capacity: texts do not move
  }

  const LogLevel level_;
  const std::string component_;
  const std::string message_;
  std::vector<std::string> texts_;
  std::vector<LogField> fields_;
};

}  // namespace

class MessageLog::Queue {
 public:
  Queue(LogFunction function, LogLevel level_min)
      : function_(std::move(function)), level_min_(level_min) {}

  void add(const LogMessage& message) noexcept;
  void deliver() noexcept;
  void stop() noexcept;
  void flush() noexcept;
  /// After the thread has ended: what the function has captured goes with the database.
  void release_function() noexcept { function_ = nullptr; }

 private:
  using Messages = std::list<KeptMessage>;

  /// The next message, and the number of those that were lost before it; false at the end.
  [[nodiscard]] bool wait_for_next(Messages& next, std::uint64_t& lost);
  void note_delivered() noexcept;
  void call(const LogMessage& message) const noexcept;

  const ProcessMark owner_;
  LogFunction function_;  ///< used by the thread; released when it has ended
  const LogLevel level_min_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable delivered_;
  // Protected by mutex_:
  Messages waiting_;
  std::uint64_t lost_ = 0;  ///< after the last message in waiting_
  std::uint64_t queued_count_ = 0;
  std::uint64_t delivered_count_ = 0;
  bool stopping_ = false;
};

// In a child the mutex may be held for ever by a thread that the child does not have.
void MessageLog::Queue::add(const LogMessage& message) noexcept {
  if (message.level < level_min_ || !owner_.is_of_this_process()) {
    return;
  }
  Messages kept;
  try {
    kept.emplace_back(message);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it counts as lost
  }
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      return;
    }
    if (kept.empty() || waiting_.size() >= kMessagesMax) {
      ++lost_;
    } else {
      kept.front().lost_before = std::exchange(lost_, 0);
      waiting_.splice(waiting_.end(), kept);
      ++queued_count_;
    }
  }
  wake_.notify_one();
}

bool MessageLog::Queue::wait_for_next(Messages& next, std::uint64_t& lost) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !waiting_.empty() || lost_ != 0; });
  if (waiting_.empty()) {
    lost = std::exchange(lost_, 0);
  } else {
    next.splice(next.end(), waiting_, waiting_.begin());
    lost = next.front().lost_before;
  }
  return lost != 0 || !next.empty();
}

void MessageLog::Queue::note_delivered() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ++delivered_count_;
  }
  delivered_.notify_all();
}

void MessageLog::Queue::deliver() noexcept {
  for (;;) {
    Messages next;
    std::uint64_t lost = 0;
    if (!wait_for_next(next, lost)) {
      return;
    }
    if (lost != 0) {
      const LogField count{.key = "messages", .value = lost};
      call({.level = LogLevel::warning,
            .component = component::kMessages,
            .message = "messages were lost: the function that receives them did not keep up, or "
                       "memory was short",
            .fields = {&count, 1}});
    }
    if (!next.empty()) {
      call(next.front().message());
      note_delivered();
    }
  }
}

void MessageLog::Queue::call(const LogMessage& message) const noexcept {
  try {
    function_(message);
  } catch (...) {  // NOLINT(bugprone-empty-catch): it is the user's; nothing depends on it
  }
}

void MessageLog::Queue::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
}

void MessageLog::Queue::flush() noexcept {
  std::unique_lock lock(mutex_);
  const std::uint64_t all = queued_count_;
  delivered_.wait(lock, [&] { return delivered_count_ >= all; });
}

MessageLog::MessageLog(LogFunction function, LogLevel level_min) {
  if (level_min == LogLevel::off || !function) {
    return;
  }
  queue_ = std::make_shared<Queue>(std::move(function), level_min);
  thread_ = start_thread("that delivers messages", [queue = queue_.get()] { queue->deliver(); });
}

MessageLog::~MessageLog() {
  if (queue_ != nullptr) {
    queue_->stop();
    thread_.join();
    queue_->release_function();
  }
}

LogSink MessageLog::sink() const {
  if (queue_ == nullptr) {
    return {};
  }
  return [queue = queue_](const LogMessage& message) { queue->add(message); };
}

void MessageLog::flush() const noexcept {
  if (queue_ != nullptr) {
    queue_->flush();
  }
}

}  // namespace palimpsest
