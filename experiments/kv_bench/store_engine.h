// Any store (engines/store.h) as a key-value engine.
//
// A session that only reads has one transaction, for its whole life; else each operation has one.
// At Purpose::key_values a store takes that for what it needs: most have operations without a
// transaction.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "experiments/engines/load_batch.h"
#include "experiments/kv_bench/kv_engine.h"

namespace palimpsest::experiments {

template <StoreSession S>
class StoreKvSession final : public KvSession {
 public:
  StoreKvSession(std::unique_ptr<S> session, SessionUse use, std::uint32_t load_batch)
      : session_(std::move(session)), use_(use), batch_(*session_, load_batch) {
    if (use == SessionUse::read_only) {
      session_->begin(Intent::read_only);
    }
  }

  void insert(ByteView key, ByteView value) override { batch_.add(kTable, key, value); }
  void finish_load() override { batch_.finish(); }

  std::optional<std::size_t> lookup(ByteView key, std::span<char> out) override {
    std::optional<std::size_t> size;
    static_cast<void>(framed(Intent::read_only, [&] {
      return session_->get(kTable, key, [&](ByteView value) {
        std::memcpy(out.data(), value.data(), std::min(out.size(), value.size()));
        size = value.size();
      });
    }));
    return size;
  }

  bool update(ByteView key, RecordChange& change) override {
    for (;;) {
      RecordChange attempt = change;
      const Access done = framed(Intent::read_write, [&] { return apply(key, attempt, change); });
      if (done != Access::conflict) {
        change = attempt;
        return done == Access::done;
      }
    }
  }

  void scan(ByteView from, ScanSink& sink) override {
    static_cast<void>(framed(Intent::read_only, [&] {
      return session_->scan(kTable, from, kLast.view(), Direction::forward,
                            [&](ByteView key, ByteView value) { return sink.record(key, value); });
    }));
  }

 private:
  static constexpr TableId kTable{0};
  inline static const RecordKey kLast{~std::uint64_t{0}};

  /// `change` as it was before, for an engine that repeats the operation.
  Access apply(ByteView key, RecordChange& attempt, const RecordChange& change) {
    if constexpr (HasPatch<S>) {
      return session_->patch(kTable, key, [&](RowEditor& row) {
        attempt = change;
        if (const std::optional<std::uint64_t> count = attempt.count_after(row.view())) {
          char bytes[sizeof *count];
          std::memcpy(bytes, &*count, sizeof bytes);
          row.set_bytes(kStampBytes, {bytes, sizeof bytes});
        }
      });
    } else {
      return session_->rewrite(kTable, key, [&](ByteView value) -> ByteView {
        attempt = change;
        copy_.assign(value);
        attempt(copy_);
        return copy_;
      });
    }
  }

  /// The operation in a transaction, unless one is open for all of them.
  template <class Operation>
  Access framed(Intent intent, Operation&& operation) {
    if (use_ == SessionUse::read_only) {
      return operation();
    }
    session_->begin(intent);
    const Access done = operation();
    if (done == Access::done) {
      return session_->commit();
    }
    session_->rollback();
    return done;
  }

  std::unique_ptr<S> session_;
  const SessionUse use_;
  LoadBatch<S> batch_;
  std::string copy_;
};

template <Store S>
class StoreKvEngine final : public KvEngine {
 public:
  StoreKvEngine(std::unique_ptr<S> store, std::uint32_t load_batch)
      : store_(std::move(store)), load_batch_(load_batch) {}

  std::unique_ptr<KvSession> open_session(SessionUse use) override {
    return std::make_unique<StoreKvSession<typename S::Session>>(store_->open_session(use), use,
                                                                 load_batch_);
  }
  void finish_load() override { store_->finish_load(); }
  EngineStats stats() const override {
    const StoreCounts counts = store_->counts();
    return {.page_reads = counts.page_reads, .page_writes = counts.page_writes};
  }
  std::string io_description() const override { return store_->description(); }
  void close() override { store_->close(); }

 private:
  std::unique_ptr<S> store_;
  const std::uint32_t load_batch_;
};

template <Store S>
[[nodiscard]] EngineEntry kv_engine_on(StoreEntry<S> store) {
  return {.traits = {.name = store.traits.name,
                     .page_kib_fixed = store.traits.page_kib_fixed,
                     .load_threads_max = store.traits.load_threads_max,
                     .memory_mib_min = store.traits.memory_mib_min},
          .open = [store](const EngineSettings& settings) -> std::unique_ptr<KvEngine> {
            return std::make_unique<StoreKvEngine<S>>(
                store.open({.purpose = Purpose::key_values,
                            .directory = settings.directory,
                            .tables = {},
                            .memory_bytes = settings.memory_bytes,
                            .data_bytes = settings.records * (kKeyBytes + settings.value_bytes),
                            .sessions_max = settings.sessions_max,
                            .isolation = store.traits.isolations.front(),
                            .page_bytes = settings.page_bytes}),
                store.traits.load_batch);
          }};
}

}  // namespace palimpsest::experiments
