// The activities of a thread, by transactions and between them: a list of functions. A new feature
// of the database is one more line in this list, or in that of statements.
//
// Thread-safety: belongs to its thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "tests/everything/worker.h"

namespace palimpsest::everything {

class Activities {
 public:
  explicit Activities(Worker& worker) : worker_(worker) {}

  /// Runs any one of them.
  void one();

  // The activities of the list.

  void transaction();
  void bulk();
  void refresh();
  void run();
  void loose();
  void alone();
  void define();
  void look();
  void long_read();
  void backup();
  void change_room();

  [[nodiscard]] static std::size_t count();
  [[nodiscard]] static const char* name(std::size_t number);

 private:
  using Body = std::function<void(Scope&)>;

  /// Begins a transaction, calls the body and ends it, with the marker first or last.
  void transact(const char* what, const TransactionOptions& options, const Body& body);
  void finish(Scope& scope, bool is_committed);
  void some_statements(Scope& scope, std::int64_t count);
  [[nodiscard]] TransactionOptions any_options();
  void give_up(Transaction& transaction);

  // Definitions
  void change_definition(Scope& scope);
  void create_table(Scope& scope, std::uint8_t table);
  void drop_table(Scope& scope, const Target& target);
  void change_index(Scope& scope, const Target& target);
  void alter(Scope& scope, std::uint8_t table);

  Worker& worker_;
  std::optional<Transaction> reader_;  ///< that stays open
};

}  // namespace palimpsest::everything
