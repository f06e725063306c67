// Any store (engines/store.h) as an engine of commits.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "experiments/engines/load_batch.h"
#include "experiments/log_bench/commit_engine.h"

namespace palimpsest::experiments {

template <StoreSession S>
class StoreCommitSession final : public CommitSession {
 public:
  StoreCommitSession(std::unique_ptr<S> session, bool delta)
      : session_(std::move(session)), delta_(delta) {}

  void update(std::uint64_t record, std::size_t offset, const Field& bytes) override {
    const RecordKey key(record);
    for (;;) {
      session_->begin(Intent::read_write);
      const Access access = change(key.view(), offset, {bytes.data(), bytes.size()});
      if (access == Access::done && session_->commit() == Access::done) {
        return;
      }
      session_->rollback();
      if (access == Access::missing) {
        throw DamagedRecord(fmt::format("record {} is missing", record));
      }
      std::this_thread::yield();  // another transaction's change: it is about to end
    }
  }

  std::optional<Value> read(std::uint64_t record) override {
    std::optional<Value> found;
    const RecordKey key(record);
    session_->begin(Intent::read_only);
    static_cast<void>(session_->get(kTable, key.view(), [&](ByteView value) {
      if (value.size() == kValueBytes) {
        std::memcpy(found.emplace().data(), value.data(), kValueBytes);
      }
    }));
    static_cast<void>(session_->commit());
    return found;
  }

 private:
  static constexpr TableId kTable{0};

  Access change(ByteView key, std::size_t offset, ByteView bytes) {
    if constexpr (HasReplaceBytes<S>) {
      if (delta_) {
        return session_->replace_bytes(kTable, key, offset, bytes);
      }
    }
    if constexpr (HasPatch<S>) {
      return session_->patch(kTable, key, [&](RowEditor& row) { row.set_bytes(offset, bytes); });
    } else {
      return session_->rewrite(kTable, key, [&](ByteView value) -> ByteView {
        copy_.assign(value);
        copy_.replace(offset, bytes.size(), bytes);
        return copy_;
      });
    }
  }

  std::unique_ptr<S> session_;
  const bool delta_;
  std::string copy_;
};

template <Store S>
class StoreCommitEngine final : public CommitEngine {
 public:
  StoreCommitEngine(std::unique_ptr<S> store, bool delta, std::uint64_t load_batch)
      : store_(std::move(store)), delta_(delta), load_batch_(load_batch) {}

  void load(std::uint64_t records) override {
    auto session = store_->open_session(SessionUse::load);
    LoadBatch batch(*session, load_batch_);
    for (std::uint64_t record = 0; record < records; ++record) {
      batch.add(TableId{0}, RecordKey(record).view(), view_of(fresh_value(record)));
    }
    batch.finish();
    session.reset();
    store_->finish_load();
  }

  std::unique_ptr<CommitSession> open_session() override {
    return std::make_unique<StoreCommitSession<typename S::Session>>(
        store_->open_session(SessionUse::read_write), delta_);
  }
  LogCounts log_counts() const override {
    const StoreCounts counts = store_->counts();
    return {.record_bytes = counts.log_record_bytes,
            .log_bytes = counts.log_bytes,
            .checkpoints = counts.checkpoints};
  }
  std::string durability_description() const override { return store_->description(); }
  void close() override { store_->close(); }

 private:
  std::unique_ptr<S> store_;
  const bool delta_;
  const std::uint64_t load_batch_;
};

/// At that isolation: the weakest that loses no update.
template <Store S>
[[nodiscard]] CommitEngineEntry commit_engine_on(StoreEntry<S> store, Isolation isolation) {
  return {
      .traits = {.name = store.traits.name,
                 .takes_delta = store.traits.takes_delta,
                 .bounds_log = store.traits.bounds_log,
                 .checkpoints_by_time = store.traits.checkpoints_by_time},
      .open = [store, isolation](const CommitSettings& settings) -> std::unique_ptr<CommitEngine> {
        return std::make_unique<StoreCommitEngine<S>>(
            store.open({.purpose = Purpose::commits,
                        .directory = settings.directory,
                        .tables = {},
                        .memory_bytes = settings.memory_bytes,
                        .sessions_max = settings.sessions_max,
                        .isolation = isolation,
                        .durability = settings.durability,
                        .asynchronous_interval = settings.flush_every,
                        .checkpoint_every = settings.checkpoint_every,
                        .log_bytes_max = settings.log_bytes_max}),
            settings.delta, store.traits.load_batch);
      }};
}

}  // namespace palimpsest::experiments
