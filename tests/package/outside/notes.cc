// The program in README.md.
#include <palimpsest/database.h>

int main() {
  auto database = palimpsest::Database::open("shop");  // makes it the first time
  if (!database.find_table("notes")) {
    database.create_table(palimpsest::key_value_table("notes"));
  }
  const palimpsest::Table notes = database.table("notes");
  database.run([&](palimpsest::Transaction& transaction) {
    notes.upsert(transaction, {"first", "hello"}).require();
    notes.upsert(transaction, {"second", "world"}).require();
  });
  database.close();
}
