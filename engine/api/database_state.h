// The implementation of the public API's Database: devices, the engine on them, and options in
// effect.
//
// In namespace detail, like the other classes of this folder, because public headers name it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/options.h"

#include "base/io/device.h"
#include "base/io/machine.h"
#include "base/io/overlay_device.h"
#include "base/message_log.h"
#include "base/process_mark.h"
#include "base/thread_blocks.h"
#include "engine/api/own_process.h"
#include "engine/engine.h"
#include "txn/transaction.h"

namespace palimpsest::detail {

class DatabaseState {
 public:
  ProcessMark owner;
  const int process = io::this_process();      ///< for messages
  std::string path;                            ///< of the database, for messages
  std::unique_ptr<MessageLog> messages;        ///< null once it was closed
  std::shared_ptr<io::OverlayMemory> overlay;  ///< null: it is open to write
  std::shared_ptr<io::Device> pages;           ///< null once it was closed; sorts hold it longer
  std::unique_ptr<io::Device> log;             ///< null: the log is on the pages' device
  std::unique_ptr<engine::Engine> engine;
  std::vector<EffectiveOption> options;
  bool has_large_pages = false;  ///< of more than 4 KiB
  std::uint64_t memory_bytes = 0;
  txn::Durability durability = txn::Durability::synchronous;
  txn::Isolation isolation = txn::Isolation::snapshot;
  std::chrono::milliseconds autocommit_patience{0};
  std::chrono::milliseconds definition_patience{0};

  [[nodiscard]] bool is_read_only() const noexcept { return overlay != nullptr; }
  /// Closes the engine and the devices, and delivers what they have reported.
  void shut() noexcept {
    engine.reset();
    log.reset();
    pages.reset();
    messages.reset();
  }
  /// Throws invalid_argument in a child of the process that opened it.
  void require_own_process() const {
    if (!owner.is_of_this_process()) [[unlikely]] {
      refuse_other_process(path, process);
    }
  }

  /// At the beginning of a call: memory for what small stacks have no room for
  /// (base/thread_blocks.h). Throws out_of_memory.
  void reserve_blocks() const {
    if (has_large_pages) {
      reserve_thread_blocks();
    }
  }

  [[nodiscard]] txn::TransactionPtr begin(
      Durability wanted, txn::Isolation isolated,
      txn::SnapshotUse use = txn::SnapshotUse::reads_and_writes) const {
    switch (wanted) {
      case Durability::synchronous:
        return engine->begin(txn::Durability::synchronous, isolated, use);
      case Durability::asynchronous:
        return engine->begin(txn::Durability::asynchronous, isolated, use);
      case Durability::by_default: break;
    }
    return engine->begin(durability, isolated, use);
  }
};

/// Throws invalid_argument if it was opened to be read.
void require_writable(const DatabaseState& database);

}  // namespace palimpsest::detail
