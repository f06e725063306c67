// Writes one by one: their effects and outcomes, and that a refused one leaves no trace.
#include "engine/table/table_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "btree/leaf_walk.h"
#include "tests/engine/table/table_fixture.h"

namespace palimpsest::engine::test {
namespace {

constexpr const char* kNoNote = "";

palimpsest::detail::FixedPlace place_of(const TableFormat& format, const char* name) {
  return format.fixed_place(format.rows().find_column(name).value());
}

class TableWriterTest : public ::testing::Test {
 protected:
  TableWriterTest() {
    const auto transaction = table_.begin();
    for (const auto& [id, name] : {std::pair(1, "Ada"), {2, "Bob"}, {3, "Cleo"}}) {
      EXPECT_TRUE(table_.in(transaction).insert({id, name, "Rome", 30 + id, kNoNote}));
    }
    transaction->commit();
    before_ = table_.rows();
  }
  /// Nothing has changed.
  [[nodiscard]] bool is_as_before() { return table_.rows() == before_ && agree(); }
  [[nodiscard]] ::testing::AssertionResult agree() { return table_.indexes_are_of(table_.rows()); }
  [[nodiscard]] std::string text(int id) {
    std::string text = "none";
    table_.reads().read({id}, [&](const RowView& row) { text = row.text(); });
    return text;
  }

  OneTable table_{people(), indexes_of_people()};
  Content before_;
};

TEST_F(TableWriterTest, OutcomesNameTableIndexAndKey) {
  const auto transaction = table_.begin();
  const RowStatements writes = table_.in(transaction);
  const Outcome exists = writes.insert({1, "Dan", "Rome", 1, kNoNote});
  EXPECT_EQ(exists.kind(), OutcomeKind::exists);
  EXPECT_EQ(exists.place().table, "people");
  EXPECT_EQ(exists.place().index, "");
  EXPECT_EQ(exists.place().key, "(1)");
  const Outcome unique = writes.insert({4, "Ada", "Rome", 1, kNoNote});
  EXPECT_EQ(unique.kind(), OutcomeKind::exists);
  EXPECT_EQ(unique.place().index, "by_name");
  EXPECT_EQ(unique.place().key, "(\"Ada\")");
  const Outcome absent = writes.update({9}, {{"age", 1}});
  EXPECT_EQ(absent.kind(), OutcomeKind::absent);
  EXPECT_EQ(absent.place().key, "(9)");
  EXPECT_EQ(writes.update({9}, {{"name", "x"}}).kind(), OutcomeKind::absent);
  EXPECT_EQ(writes.erase({9}).kind(), OutcomeKind::absent);
  EXPECT_EQ(writes.modify({9}, [](RowEditor&) {}).kind(), OutcomeKind::absent);
  EXPECT_EQ(writes.rewrite({9}, [](const RowView& row) { return row.bytes(); }).kind(),
            OutcomeKind::absent);
  transaction->commit();
  EXPECT_TRUE(is_as_before());
}

TEST_F(TableWriterTest, ARefusedStatementIsUndoneAndWhatCameBeforeStays) {
  const auto transaction = table_.begin();
  const RowStatements writes = table_.in(transaction);
  ASSERT_TRUE(writes.update({2}, {{"city", "Oslo"}}));
  const Content between = table_.rows();
  // The entry of by_city is moved before by_name refuses.
  EXPECT_EQ(writes.update({3}, {{"city", "Oslo"}, {"name", "Bob"}}).kind(), OutcomeKind::exists);
  EXPECT_EQ(writes.upsert({3, "Bob", "Bonn", 1, kNoNote}).kind(), OutcomeKind::exists);
  EXPECT_EQ(writes.upsert({4, "Bob", "Bonn", 1, kNoNote}).kind(), OutcomeKind::exists);
  EXPECT_TRUE(table_.rows() == between);
  EXPECT_TRUE(agree());
  transaction->commit();
  EXPECT_EQ(text(2), "(2, \"Bob\", \"Oslo\", 32, \"\")");
  EXPECT_TRUE(agree());
  EXPECT_TRUE(sound(table_.database()));
}

EncodedRow encoded(const Row& row) {
  return EncodedRow::of(row.view().key_bytes(), row.view().bytes());
}

// All rows of one call, or none: with indexes, and without.
TEST_F(TableWriterTest, ManyRowsAreInsertedOrNone) {
  for (const bool with_indexes : {true, false}) {
    OneTable table{people(), with_indexes ? indexes_of_people() : decltype(indexes_of_people()){}};
    std::vector<Row> rows;
    table.committed([](auto writes) { return writes.insert({100, "Zoe", "Rome", 1, kNoNote}); });
    {
      OneTable source{people(), {}};
      const auto transaction = source.begin();
      for (int id = 1; id <= 40; ++id) {
        const std::string name = fmt::format("name {}", id);
        ASSERT_TRUE(source.in(transaction).insert({id * 4, name, "Rome", id, kNoNote}));
      }
      transaction->commit();
      for (int id = 1; id <= 40; ++id) {
        source.reads().read({id * 4}, [&](const RowView& row) { rows.emplace_back(row); });
      }
    }
    ASSERT_EQ(rows.size(), 40U);
    std::vector<EncodedRow> records;
    records.reserve(rows.size());
    for (const Row& row : rows) {
      records.push_back(encoded(row));
    }
    const Content before = table.rows();
    const auto transaction = table.begin();
    const Outcome refused = table.in(transaction).insert_many(records);
    EXPECT_EQ(refused.kind(), OutcomeKind::exists);
    EXPECT_EQ(refused.place().key, "(100)");
    EXPECT_TRUE(table.rows() == before) << "those before it are undone";
    records.erase(records.begin() + 24);  // the one with the key that is there
    const auto other = table.begin();
    EXPECT_TRUE(table.in(other).insert_many(records)) << "no transaction has claimed them any more";
    EXPECT_EQ(table.in(transaction).insert_many(records).kind(), OutcomeKind::conflict);
    other->rollback();
    EXPECT_TRUE(table.in(transaction).insert_many(records));
    EXPECT_TRUE(table.in(transaction).insert_many({}));
    transaction->commit();
    EXPECT_EQ(table.rows().size(), 40U);
    EXPECT_TRUE(table.indexes_are_of(table.rows()));
    EXPECT_TRUE(sound(table.database()));
  }
}

TEST_F(TableWriterTest, IndexesFollow) {
  table_.committed([](auto writes) { return writes.update({1}, {{"city", Value()}, {"age", 5}}); });
  table_.committed([](auto writes) { return writes.upsert({2, "Eve", "Bonn", 7, "new"}); });
  table_.committed([](auto writes) { return writes.erase({3}); });
  table_.committed([](auto writes) { return writes.insert({4, "Cleo", "Rome", 1, kNoNote}); });
  table_.committed([](auto writes) { return writes.upsert({5, "Bob", Value(), 1, kNoNote}); });
  table_.committed(
      [](auto writes) { return writes.update({4}, {{"note", "longer than it was"}}); });
  EXPECT_EQ(text(1), "(1, \"Ada\", null, 5, \"\")");
  EXPECT_EQ(text(2), "(2, \"Eve\", \"Bonn\", 7, \"new\")");
  EXPECT_EQ(text(3), "none");
  EXPECT_EQ(text(4), "(4, \"Cleo\", \"Rome\", 1, \"longer than it was\")");
  EXPECT_TRUE(agree());
  EXPECT_TRUE(sound(table_.database()));
}

TEST_F(TableWriterTest, OpenTransactionsAreInConflict) {
  const auto first = table_.begin();
  const auto second = table_.begin();
  ASSERT_TRUE(table_.in(first).update({1}, {{"age", 50}}));
  ASSERT_TRUE(table_.in(first).erase({2}));
  ASSERT_TRUE(table_.in(first).insert({7, "Gil", "Rome", 1, kNoNote}));
  const RowStatements writes = table_.in(second);
  const auto conflicts = [](const Outcome& outcome, const char* index, const char* key) {
    return outcome.is_conflict() && outcome.place().index == index && outcome.place().key == key;
  };
  EXPECT_TRUE(conflicts(writes.update({1}, {{"note", "x"}}), "", "(1)"));
  EXPECT_TRUE(conflicts(writes.upsert({1, "x", "x", 1, kNoNote}), "", "(1)"));
  EXPECT_TRUE(conflicts(writes.erase({1}), "", "(1)"));
  EXPECT_TRUE(conflicts(writes.modify({1}, [](RowEditor&) {}), "", "(1)"));
  EXPECT_TRUE(conflicts(writes.insert({2, "x", "x", 1, kNoNote}), "", "(2)"));
  EXPECT_TRUE(conflicts(writes.insert({8, "Gil", "Oslo", 1, kNoNote}), "by_name", "(\"Gil\")"));
  EXPECT_TRUE(conflicts(writes.insert({8, "Bob", "Oslo", 1, kNoNote}), "by_name", "(\"Bob\")"));
  EXPECT_TRUE(conflicts(writes.update({3}, {{"name", "Bob"}}), "by_name", "(\"Bob\")"));
  EXPECT_TRUE(writes.insert({8, "Hal", "Oslo", 1, kNoNote}));
  first->rollback();
  EXPECT_TRUE(writes.update({1}, {{"name", "Gil"}}));
  second->commit();
  EXPECT_TRUE(agree());
  EXPECT_EQ(table_.rows().size(), 4U);
}

TEST_F(TableWriterTest, ARangeIsErasedWholeOrNotAtAll) {
  const auto transaction = table_.begin();
  const RowStatements writes = table_.in(transaction);
  {
    const auto other = table_.begin();
    ASSERT_TRUE(table_.in(other).update({3}, {{"age", 50}}));
    const ErasedRange refused = writes.erase_range(Range::all());
    EXPECT_TRUE(refused.outcome.is_conflict());
    EXPECT_EQ(refused.outcome.place().key, "(3)");
    EXPECT_EQ(refused.rows, 0U);
    EXPECT_EQ(error_of([&] { return refused.require(); }), ErrorCode::conflict);
    EXPECT_EQ(writes.erase_range(Range::up_to({2})).require(), 2U);
    EXPECT_EQ(text(3).substr(0, 3), "(3,");
    other->rollback();
  }
  EXPECT_EQ(writes.erase_range(Range::all()).require(), 1U);
  EXPECT_EQ(writes.erase_range(Range::all()).require(), 0U);
  transaction->rollback();
  EXPECT_TRUE(is_as_before());
}

TEST_F(TableWriterTest, ARangeHasTheRowsThatTheTransactionSees) {
  const auto before =
      table_.database().begin(txn::Durability::asynchronous, txn::Isolation::snapshot);
  table_.committed([](auto writes) { return writes.insert({50, "Zoe", "Rome", 1, kNoNote}); });
  ASSERT_TRUE(table_.in(before).insert({40, "Yan", "Rome", 1, kNoNote}));
  EXPECT_EQ(table_.in(before).erase_range(Range::from({3})).require(), 2U) << "3 and its own";
  before->commit();
  EXPECT_EQ(table_.rows().size(), 3U);
  EXPECT_EQ(text(50).substr(0, 4), "(50,");
  EXPECT_TRUE(agree());
}

// More than one batch of rows.
TEST_F(TableWriterTest, ARangeOfManyRowsIsErased) {
  for (int first = 10; first < 1'030; first += 60) {
    table_.committed([&](auto writes) {
      for (int id = first; id < first + 60; ++id) {
        const std::string name = "name " + std::to_string(id);
        writes.insert({id, std::string_view(name), "Rome", 1, kNoNote}).require();
      }
      return Outcome();
    });
    table_.database().checkpointer().run();
  }
  const auto by = table_.database().begin(txn::Durability::asynchronous, txn::Isolation::none);
  EXPECT_EQ(table_.in(by).erase_range(Range::from({10})).require(), 1'020U);
  by->commit();
  EXPECT_TRUE(is_as_before());
}

TEST_F(TableWriterTest, RowsThatDoNotFitAreRefused) {
  const auto transaction = table_.begin();
  const RowStatements writes = table_.in(transaction);
  const auto refuses = [](const auto& write, const char* why) {
    return error_of(write, std::string_view(why)) == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(
      refuses([&] { return writes.insert({4, "Dan"}); }, "a row of 2 values: the table has 5"));
  EXPECT_TRUE(refuses([&] { return writes.insert({4, Value(), "x", 1, ""}); }, "column \"name\""));
  EXPECT_TRUE(refuses([&] { return writes.update({1}, {{"agee", 1}}); }, "no such column"));
  EXPECT_TRUE(refuses([&] { return writes.update({1}, {{"id", 1}}); }, "of the key"));
  EXPECT_TRUE(refuses([&] { return writes.update({1}, {{"age", 1}, {"age", 2}}); }, "twice"));
  EXPECT_TRUE(refuses([&] { return writes.update({1}, {{"age", "x"}}); }, "column \"age\""));
  EXPECT_TRUE(refuses([&] { return writes.update({1}, {{"name", ""}}); }, "index \"by_name\""));
  const std::string key = before_.begin()->first;
  EXPECT_TRUE(refuses([&] { return writes.insert(EncodedRow::of(key, "short")); }, "\"people\""));
  EXPECT_TRUE(refuses([&] { return writes.upsert(EncodedRow::of("k", before_.begin()->second)); },
                      "not a key"));
  EXPECT_TRUE(refuses([&] { return writes.rewrite({1}, [](const RowView&) { return "none"; }); },
                      "not a row"));
  transaction->commit();
  EXPECT_TRUE(is_as_before());
}

TEST_F(TableWriterTest, EncodedRowsAreWhatWasRead) {
  const auto [key, bytes] = *before_.begin();
  table_.committed([](auto writes) { return writes.erase({1}); });
  table_.committed([&](auto writes) { return writes.insert(EncodedRow::of(key, bytes)); });
  table_.committed([&](auto writes) { return writes.upsert(EncodedRow::of(key, bytes)); });
  EXPECT_TRUE(is_as_before());
}

TEST_F(TableWriterTest, EditsInPlace) {
  table_.define({indexes_of_people()[1]});
  const Column<std::int32_t> age(place_of(table_.format(), "age"));
  table_.committed([&](auto writes) {
    return writes.modify({1}, [&](RowEditor& row) { row.set(age, row.get(age) + 1); });
  });
  EXPECT_EQ(text(1), "(1, \"Ada\", \"Rome\", 32, \"\")");
}

TEST_F(TableWriterTest, ManyRowsAreEditedOrNone) {
  table_.define({indexes_of_people()[1]});
  const Column<std::int32_t> age(place_of(table_.format(), "age"));
  const auto older = [&](std::size_t number, RowEditor& row) {
    row.set(age, row.get(age) + 1 + static_cast<std::int32_t>(number));
  };
  const std::vector<Value> ids{2, 1, 9};
  const auto key_of = [&](std::size_t number) { return Key(std::span(ids).subspan(number, 1)); };
  const std::vector<Key> keys{key_of(0), key_of(1), key_of(0)};
  table_.committed([&](auto writes) { return writes.modify_many(keys, older); });
  EXPECT_EQ(text(1), "(1, \"Ada\", \"Rome\", 33, \"\")");
  const std::string both = text(1) + text(2);
  const auto transaction = table_.begin();
  const RowStatements writes = table_.in(transaction);
  const std::vector<Key> one_absent{key_of(1), key_of(0), key_of(2), key_of(1)};
  EXPECT_EQ(writes.modify_many(one_absent, older).kind(), OutcomeKind::absent);
  const auto refused = [&](std::size_t number, RowEditor& row) {
    number == 1 ? void(row.bytes()[0] = '\xFF') : older(number, row);  // nulls of no column
  };
  EXPECT_EQ(error_of([&] { return writes.modify_many(keys, refused); }, "table \"people\""),
            ErrorCode::invalid_argument);
  transaction->commit();
  EXPECT_EQ(text(1) + text(2), both);
}

TEST_F(TableWriterTest, EditsOfIndexedColumnsAreRefused) {
  const Column<std::int32_t> age(place_of(table_.format(), "age"));
  auto stale = place_of(table_.format(), "age");
  stale.may_change = true;  // as it was before the index
  const auto transaction = table_.begin();
  const RowStatements writes = table_.in(transaction);
  const auto refuses = [&](EditRow edit) {
    return error_of([&] { return writes.modify({1}, edit); }, "table \"people\"") ==
           ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refuses([&](RowEditor& row) { row.set(age, 1); }));
  EXPECT_TRUE(refuses([&](RowEditor& row) { row.set(Column<std::int32_t>(stale), 1); }));
  EXPECT_TRUE(refuses([&](RowEditor& row) { row.bytes().back() = 'X'; }));  // ends in the name
  EXPECT_TRUE(refuses([&](RowEditor& row) { row.bytes()[0] = '\xFF'; }));   // nulls of no column
  EXPECT_TRUE(refuses([&](RowEditor& row) { row.set_bytes(0, "\xFF"); }));
  EXPECT_TRUE(refuses([&](RowEditor& row) { row.set_bytes(row.view().size(), "beyond"); }));
  EXPECT_TRUE(refuses([&](RowEditor& row) { row.set_bytes(SIZE_MAX, "beyond"); }));
  EXPECT_TRUE(writes.modify({1}, [](RowEditor&) {}));
  transaction->commit();
  EXPECT_TRUE(is_as_before());
}

TEST_F(TableWriterTest, RewritesOfAnyLength) {
  const std::string second = before_.rbegin()->second;  // of Cleo
  std::string longer(before_.begin()->second);
  longer += "a note";
  table_.committed([&](auto writes) {
    return writes.rewrite({1}, [&](const RowView&) { return ByteView(longer); });
  });
  EXPECT_EQ(text(1), "(1, \"Ada\", \"Rome\", 31, \"a note\")");
  EXPECT_TRUE(agree());
  table_.committed([&](auto writes) {  // shorter, and a view of the row itself
    return writes.rewrite(
        {1}, [](const RowView& row) { return row.bytes().substr(0, row.bytes().size() - 5); });
  });
  EXPECT_EQ(text(1), "(1, \"Ada\", \"Rome\", 31, \"a\")");
  table_.committed([](auto writes) { return writes.erase({3}); });
  table_.committed([&](auto writes) {
    return writes.rewrite({1}, [&](const RowView&) { return ByteView(second); });
  });
  EXPECT_EQ(text(1), "(1, \"Cleo\", \"Rome\", 33, \"\")");
  EXPECT_TRUE(agree());
  const auto transaction = table_.begin();
  std::string of_bob = before_.at(std::next(before_.begin())->first);
  EXPECT_EQ(
      table_.in(transaction).rewrite({1}, [&](const RowView&) { return ByteView(of_bob); }).kind(),
      OutcomeKind::exists);
  EXPECT_TRUE(agree());
}

TEST_F(TableWriterTest, LargeRows) {
  const std::string large(20'000, 'l');
  const std::string larger(30'000, 'm');
  table_.committed([&](auto writes) { return writes.insert({9, "Ida", "Rome", 1, large}); });
  table_.committed([](auto writes) { return writes.update({9}, {{"age", 2}}); });
  EXPECT_TRUE(agree());
  table_.committed([&](auto writes) { return writes.update({1}, {{"note", larger}}); });
  std::string bytes = table_.rows().rbegin()->second;
  bytes.back() = 'x';
  table_.committed([&](auto writes) {
    return writes.rewrite({9}, [&](const RowView&) { return ByteView(bytes); });
  });
  const auto transaction = table_.begin();
  EXPECT_EQ(error_of([&] { return table_.in(transaction).modify({9}, [](RowEditor&) {}); },
                     "the row of key (9) is larger than about a quarter of a page"),
            ErrorCode::invalid_argument);
  const std::vector<Value> ids{2, 3, 9};
  const auto key_of = [&](std::size_t number) { return Key(std::span(ids).subspan(number, 1)); };
  const std::vector<Key> keys{key_of(0), key_of(1), key_of(2)};
  const auto message_of = [&](EditRows edit, const char* message) {
    return error_of([&] { static_cast<void>(table_.in(transaction).modify_many(keys, edit)); },
                    message) == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(message_of([](std::size_t, RowEditor&) {},
                         "the row of key (9) is larger than about a quarter of a page"));
  const auto first_refused = [](std::size_t number, RowEditor& row) {
    number == 0 ? void(row.bytes()[0] = '\xFF') : void();  // nulls of no column
  };
  EXPECT_TRUE(
      message_of(first_refused, "a row can be edited in place only in columns of fixed width"));
  ASSERT_TRUE(table_.in(transaction).rewrite({9}, [](const RowView& row) {
    return row.bytes().substr(0, row.bytes().size() - 19'999);
  }));
  transaction->commit();
  EXPECT_EQ(text(9), "(9, \"Ida\", \"Rome\", 2, \"l\")");
  EXPECT_TRUE(agree());
  table_.committed([](auto writes) { return writes.erase({1}); });
  EXPECT_TRUE(agree());
  EXPECT_TRUE(sound(table_.database()));
}

TEST_F(TableWriterTest, WhatARefusedStatementGaveUpIsNotFreed) {
  const std::string large(20'000, 'l');
  table_.committed([&](auto writes) { return writes.update({1}, {{"note", large}}); });
  {
    const auto transaction = table_.begin();
    const RowStatements writes = table_.in(transaction);
    ASSERT_TRUE(writes.update({3}, {{"age", 99}}));
    // A row is stored after its entries; here something is refused after it was.
    const auto refused = transaction->statement([&](const btree::WriteContext& by) {
      const std::string key = before_.begin()->first;
      EXPECT_TRUE(table_.state().visible_to(nullptr)->rows->update(by, key, "small").existed);
      return Outcome(OutcomeKind::exists, {});
    });
    EXPECT_FALSE(refused);
    EXPECT_EQ(writes.update({1}, {{"city", "Oslo"}, {"name", "Bob"}}).kind(), OutcomeKind::exists);
    transaction->commit();
  }
  EXPECT_TRUE(sound(table_.database()));
  const Content rows = table_.rows();
  EXPECT_TRUE(agree());
  table_.crash();
  EXPECT_TRUE(table_.database().recovery().was_needed);
  EXPECT_TRUE(table_.rows() == rows);
  EXPECT_EQ(text(3), "(3, \"Cleo\", \"Rome\", 99, \"\")");
  EXPECT_TRUE(agree());
  EXPECT_TRUE(sound(table_.database()));
  // Pages that are not to be freed are not allocated again.
  for (int id = 20; id < 40; ++id) {
    const std::string name = "p" + std::to_string(id);
    const std::string other(20'000, 'o');
    table_.committed([&](auto writes) { return writes.insert({id, name, "x", 1, other}); });
  }
  table_.reads().read({1}, [&](const RowView& row) { EXPECT_EQ(row["note"].as_bytes(), large); });
}

TEST_F(TableWriterTest, ADefinerBlocksOtherWriters) {
  const auto definer = table_.begin();
  const auto other = table_.begin();
  table_.state().begin_change(*definer);
  table_.state().change_to(table_.definition({}));
  const Outcome conflict = table_.in(other).erase({1});
  EXPECT_TRUE(conflict.is_conflict());
  EXPECT_EQ(conflict.place().table, "people");
  ASSERT_TRUE(table_.in(definer).insert({4, "Ada", "x", 1, kNoNote}));  // there is no index
  table_.state().change_to(nullptr);
  EXPECT_EQ(error_of([&] { return table_.in(definer).erase({1}); }, "no table \"people\""),
            ErrorCode::not_found);
  definer->rollback();
  table_.state().end_change(false);
  EXPECT_TRUE(table_.in(other).erase({1}));
}

TEST_F(TableWriterTest, WrongEntriesAreCorruption) {
  btree::BTree& by_city = *table_.current().indexes[0];
  KeyMemory memory;
  RowValues values;
  const std::string key = before_.begin()->first;
  const IndexEntry entry = table_.format().indexes()[0].codec.encode(
      values.of(table_.format(), key, before_.begin()->second), key, memory);
  ASSERT_TRUE(by_city.remove(entry.key));
  const auto transaction = table_.begin();
  EXPECT_EQ(error_of([&] { return table_.in(transaction).erase({1}); },
                     "table \"people\", index \"by_city\": the entry of the row (1) is missing"),
            ErrorCode::corruption);
  EXPECT_TRUE(table_.rows() == before_);
  ASSERT_TRUE(by_city.insert(entry.key, entry.value));
  ASSERT_TRUE(table_.in(transaction).erase({1}));
  transaction->commit();
  ASSERT_TRUE(by_city.insert(entry.key, entry.value));
  const auto another = table_.begin();
  EXPECT_EQ(error_of([&] { return table_.in(another).insert({1, "Ada", "Rome", 31, kNoNote}); },
                     "index \"by_city\": an entry of the row (1) exists and should not"),
            ErrorCode::corruption);
}

TEST(KeyValueWrites, AnyBytes) {
  OneTable blobs(key_value_table("blobs"));
  const std::string key("\0\xFFk", 3);
  blobs.committed([&](auto writes) { return writes.insert(EncodedRow::of(key, "")); });
  blobs.committed([&](auto writes) { return writes.insert(Values{"b", "value"}); });
  blobs.committed([&](auto writes) { return writes.upsert(EncodedRow::of(key, "longer")); });
  blobs.committed([&](auto writes) { return writes.update({"b"}, {{"value", "other"}}); });
  blobs.committed([&](auto writes) {
    return writes.rewrite(Key::encoded(key), [](const RowView& row) {
      EXPECT_EQ(row.bytes(), "longer");
      return "LONGER";
    });
  });
  blobs.committed([&](auto writes) {
    return writes.modify({"b"}, [](RowEditor& row) { row.bytes()[0] = 'O'; });
  });
  EXPECT_EQ(blobs.rows(), (Content{{key, "LONGER"}, {"b", "Other"}}));
  blobs.committed([&](auto writes) {
    return writes.rewrite({"b"}, [](const RowView& row) { return row.bytes().substr(1, 2); });
  });
  const std::string large(50'000, 'x');
  blobs.committed([&](auto writes) {
    return writes.rewrite(Key::encoded(key), [&](const RowView&) { return ByteView(large); });
  });
  EXPECT_TRUE(blobs.rows() == (Content{{key, large}, {"b", "th"}}));
  EXPECT_TRUE(sound(blobs.database()));
}

// A queue whose front moved on under an old reader: leaves full of ghosts, which no transaction
// visits again on its own.
TEST(GhostsOfTableWriter, ThatAnOldReaderNeededArePurgedLater) {
  constexpr int kJobs = 2000;
  EngineOptions options = small_options();
  options.version_bytes_max = std::uint64_t{4} << 20U;
  OneTable table(people(), {}, options);
  const auto begin = [&] {
    return table.database().begin(txn::Durability::asynchronous, txn::Isolation::snapshot);
  };
  const auto ghosts = [&] {
    std::size_t count = 0;
    btree::LeafWalk walk(table.current().rows->descent(), {.lower = {}, .upper = std::nullopt},
                         btree::Direction::forward);
    while (walk.next()) {
      count += walk.leaf().ghost_count();
    }
    return count;
  };
  for (int id = 1; id <= kJobs; ++id) {
    const auto giver = begin();
    ASSERT_TRUE(table.in(giver).insert({id, "job", "Rome", 30, kNoNote}));
    giver->commit();
  }
  const auto old_reader = begin();
  for (int id = 2; id <= kJobs; ++id) {
    const auto taker = begin();
    ASSERT_TRUE(table.in(taker).erase({id}));
    taker->commit();
  }
  ASSERT_EQ(ghosts(), std::size_t{kJobs - 1});
  old_reader->commit();
  for (int i = 0; i < kJobs; ++i) {  // in the first leaf only
    const auto other = begin();
    ASSERT_TRUE(table.in(other).modify({1}, [](RowEditor&) {}));
    other->commit();
  }
  EXPECT_LT(ghosts(), std::size_t{kJobs / 20});
  EXPECT_EQ(table.rows().size(), 1U);
  EXPECT_TRUE(sound(table.database()));
}

}  // namespace
}  // namespace palimpsest::engine::test
