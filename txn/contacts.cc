#include "txn/contacts.h"

#include "txn/transactions.h"

namespace palimpsest::txn {

ConflictingWriter Contacts::conflicting_writer() const noexcept {
  const Transaction* const other = all_.writer(writer_.conflicting_writer());
  if (other == nullptr) {
    return {};
  }
  const std::uint64_t life = other->life();
  return {.transaction = other,
          .life = life,
          .is_definer = definer_.transaction == other && definer_.life == life};
}

void Contacts::note_definer(const Transaction& definer) noexcept {
  definer_ = {.transaction = &definer, .life = definer.life(), .is_definer = true};
  writer_.note_conflicting_writer(static_cast<const Contacts&>(definer).writer_.id());
}

}  // namespace palimpsest::txn
