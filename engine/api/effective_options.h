// Options in effect on a machine: what the parts of a database are constructed with, and what is
// shown to the user.
//
// Only this file derives options that were left open from the machine, and only this file refuses
// options; the message names the option, its value and the limit.
// Thread-safety: pure functions, except for reading this machine's figures.
#pragma once

#include <string>
#include <vector>

#include "palimpsest/options.h"

#include "base/io/machine.h"
#include "base/io/open_device.h"
#include "engine/engine.h"
#include "txn/transaction.h"

namespace palimpsest::engine {

struct EffectiveOptions {
  EngineOptions database;
  io::DeviceOptions device;
  /// Defaults of transactions that do not specify these.
  txn::Durability durability = txn::Durability::synchronous;
  txn::Isolation isolation = txn::Isolation::snapshot;
  /// In the order of Options.
  std::vector<EffectiveOption> shown;
};

/// The isolation level in effect for a transaction that asks for `wanted`.
[[nodiscard]] txn::Isolation isolation_of(Isolation wanted, txn::Isolation by_default) noexcept;

/// Replaces shown sizes by the database's own, where these differ from the options it was opened
/// with.
void show_as_opened(std::vector<EffectiveOption>& shown, Engine& database);

/// Throws invalid_argument for an invalid option.
[[nodiscard]] EffectiveOptions effective_options(const Options& options,
                                                 const io::Machine& machine);

}  // namespace palimpsest::engine
