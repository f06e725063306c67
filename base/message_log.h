// Delivers the messages of a database to the user's function (palimpsest/log.h).
//
// A part of the engine reports where something happens: in any thread, under any latch. The user's
// function may block, so it is not called there. A message is copied into a queue, and a thread of
// its own calls the function, with nothing held.
//
// Why not call at a later point of the thread that reported: background threads have such points,
// but a commit would wait for the user's function there, and an event in a thread that then sleeps
// for an hour would be reported after it.
//
// Invariants: (1) the function is called by the thread only, one message at a time, in the order in
//                 which the messages were queued, and never with a latch held.
//             (2) at most kMessagesMax messages wait. Further ones are counted, as are those that
//                 there is no memory for; their number is delivered in their place.
//             (3) when the destructor has returned, the function is neither called nor kept.
// Latching: the queue's mutex is a leaf: a thread that holds it calls nothing and waits for
//           nothing, so a message may be queued under any latch.
// Thread-safety: sinks, from any thread, also after the destructor: they do nothing then. flush(),
//                from any thread. Constructor and destructor by the owner.
// Failure: the constructor throws Error out_of_memory if no thread can be started, bad_alloc. A
//          sink throws nothing. What the function throws is ignored.
#pragma once

#include <cstddef>
#include <memory>
#include <thread>

#include "base/log_sink.h"

namespace palimpsest {

class MessageLog {
 public:
  static constexpr std::size_t kMessagesMax = 1024;

  /// Messages below `level_min` are not delivered. With LogLevel::off there is no thread.
  MessageLog(LogFunction function, LogLevel level_min);
  /// Delivers what waits, and stops.
  ~MessageLog();
  MessageLog(const MessageLog&) = delete;
  MessageLog& operator=(const MessageLog&) = delete;

  /// The sink for the parts of the database; empty with LogLevel::off. In a child of fork() it does
  /// nothing.
  [[nodiscard]] LogSink sink() const;
  /// Waits until everything that was queued before is delivered.
  void flush() const noexcept;

 private:
  class Queue;

  std::shared_ptr<Queue> queue_;  ///< shared with sinks; null with LogLevel::off
  std::thread thread_;
};

}  // namespace palimpsest
