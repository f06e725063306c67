// An external program: it has only the installed library. It is also built as a shared library,
// like a module of another language, which host.cc loads.
#include <palimpsest/database.h>
#include <palimpsest/table_of.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

namespace {

struct Note {
  std::int64_t id = 0;
  std::string text{};
};

/// Writes a note and reads it again, after closing and opening the database.
bool write_and_read(const char* directory) {
  using namespace palimpsest;
  const auto notes_of = [](const Database& database) {
    return TableOf<Note>(database.table("note"), {{"id", &Note::id}, {"text", &Note::text}});
  };
  {
    Database database = Database::open(directory);
    database.create_table({.name = "note",
                           .columns = {{"id", types::int64()}, {"text", types::varchar(100)}},
                           .key = {"id"}});
    const TableOf<Note> notes = notes_of(database);
    database.run([&](Transaction& transaction) {
      notes.insert(transaction, {.id = 1, .text = "from outside"}).require();
    });
    database.close();
  }
  const Database database = Database::open(directory, {.create_if_missing = false});
  const auto note = notes_of(database).get({1});
  return note.has_value() && note->text == "from outside";
}

}  // namespace

/// Returns 0 on success.
extern "C" int write_and_read_notes(const char* directory) {
  try {
    const bool right = write_and_read(directory);
    std::puts(right ? "a note came back" : "no note came back");
    return right ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}

int main(int argc, char** argv) {
  return argc == 2 ? write_and_read_notes(argv[1]) : 1;
}
