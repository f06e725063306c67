// Options as they are in effect on a machine: what the parts of a database are made with, and what
// a user is shown.
//
// What is left open is taken from the machine here and nowhere else; so is every refusal of an
// option, whose message names the option, its value and the limit.
// Thread-safety: pure functions, but for this machine's figures.
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
  /// Of transactions that do not say it.
  txn::Durability durability = txn::Durability::synchronous;
  txn::Isolation isolation = txn::Isolation::snapshot;
  /// In the order of Options.
  std::vector<EffectiveOption> shown;
};

/// What a transaction that wants this gets.
[[nodiscard]] txn::Isolation isolation_of(Isolation wanted, txn::Isolation by_default) noexcept;

/// Shows the sizes that a database has, where they are others than those that it was opened with.
void show_as_opened(std::vector<EffectiveOption>& shown, Engine& database);

/// Throws invalid_argument for what no option can be.
[[nodiscard]] EffectiveOptions effective_options(const Options& options,
                                                 const io::Machine& machine);

}  // namespace palimpsest::engine
