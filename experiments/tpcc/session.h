// What TPC-C needs from an engine: the concept Session, one thread's access to the nine tables.
//
// Templates, not virtual functions: an adapter's calls are inlined into the transactions. Rows and
// keys are typed (rows.h, keys.h); a session over a key-value engine is one template for each of
// read, update, insert and erase, and four visits.
//
// The operations, all within a transaction but begin():
//   begin(intent)         no transaction is open
//   commit()              done or conflict; the transaction has ended either way. It may wait for
//                         durability, as the run is configured
//   rollback()            undoes everything; does not throw
//   read(key, use)        calls use(const Row&), or finds the row missing
//   update(key, change)   calls change(Row&) on the newest row and stores it, or finds it missing.
//                         From here to the end of the transaction nobody else changes the row
//   insert(key, row)      done, or finds that the key exists. An order is also entered in the index
//                         of orders by customer
//   erase(key)            done or missing
//   visit_customers(district, last, visit)
//                         calls visit(const CustomerNameKey&) for the customers with that last
//                         name, in the order of their first names; done even if there is none
//   latest_order(customer, order)
//                         sets `order` to the key of the customer's order with the largest number,
//                         or finds none: missing
//   oldest_new_order(district, new_order)
//                         the same for the district's new-order with the smallest number
//   visit_order_lines(district, first, last, visit)
//                         calls visit(const OrderLineKey&, const OrderLineRow&) for all lines of
//                         orders [first, last], in key order; done even if there is none
// Rows given to callbacks are whole: a session whose engine shows bytes that may change copies them
// first. A callback of read or update may be called again from the start of the operation if the
// engine has to repeat it; the last call counts. Callbacks do not throw and call no session.
//
// Failure: `conflict` means that the transaction has to be rolled back and may be run again; its
//          caller calls rollback(), except after commit(). What the environment does is thrown, and
//          rollback() is called then as well.
// Thread-safety: one session belongs to one thread; sessions of one database work concurrently.
#pragma once

#include <concepts>
#include <cstdint>

#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/rows.h"

namespace palimpsest::experiments::tpcc {

/// What an operation of a session came to.
enum class [[nodiscard]] Access : std::uint8_t {
  done,
  missing,   ///< no row has that key
  exists,    ///< a row that was to be inserted is there
  conflict,  ///< another transaction is in the way
};

/// What a transaction came to.
enum class [[nodiscard]] Outcome : std::uint8_t {
  committed,
  rolled_back,  ///< as its input asked for
  conflict,     ///< rolled back; it may be run again
};

/// What a transaction is going to do.
enum class Intent : std::uint8_t { read_only, read_write };

namespace detail {

struct CustomerVisitor {
  void operator()(const CustomerNameKey& name) const;
};
struct OrderLineVisitor {
  void operator()(const OrderLineKey& key, const OrderLineRow& row) const;
};

template <class S, class Key>
concept Reads = requires(S& session, const Key& key, void (&use)(const RowOf<Key>&)) {
  { session.read(key, use) } -> std::same_as<Access>;
};
template <class S, class Key>
concept Updates = requires(S& session, const Key& key, void (&change)(RowOf<Key>&)) {
  { session.update(key, change) } -> std::same_as<Access>;
};
template <class S, class Key>
concept Inserts = requires(S& session, const Key& key, const RowOf<Key>& row) {
  { session.insert(key, row) } -> std::same_as<Access>;
};
template <class S, class Key>
concept Erases = requires(S& session, const Key& key) {
  { session.erase(key) } -> std::same_as<Access>;
};

template <class S>
concept Begins = requires(S& session, Intent intent) {
  session.begin(intent);
  { session.commit() } -> std::same_as<Access>;
  { session.rollback() } noexcept;
};

template <class S>
concept Visits =
    requires(S& session, const DistrictKey& district, const CustomerKey& customer,
             const FixedText<16>& last, Number number, OrderKey& order, NewOrderKey& new_order,
             const CustomerVisitor& visit_customer, const OrderLineVisitor& visit_line) {
      { session.visit_customers(district, last, visit_customer) } -> std::same_as<Access>;
      { session.latest_order(customer, order) } -> std::same_as<Access>;
      { session.oldest_new_order(district, new_order) } -> std::same_as<Access>;
      { session.visit_order_lines(district, number, number, visit_line) } -> std::same_as<Access>;
    };

}  // namespace detail

template <class S>
concept Session = detail::Begins<S> && detail::Visits<S> && detail::Reads<S, ItemKey> &&
                  detail::Reads<S, WarehouseKey> && detail::Reads<S, DistrictKey> &&
                  detail::Reads<S, CustomerKey> && detail::Reads<S, OrderKey> &&
                  detail::Reads<S, StockKey> && detail::Updates<S, WarehouseKey> &&
                  detail::Updates<S, DistrictKey> && detail::Updates<S, CustomerKey> &&
                  detail::Updates<S, OrderKey> && detail::Updates<S, OrderLineKey> &&
                  detail::Updates<S, StockKey> && detail::Inserts<S, HistoryKey> &&
                  detail::Inserts<S, NewOrderKey> && detail::Inserts<S, OrderKey> &&
                  detail::Inserts<S, OrderLineKey> && detail::Erases<S, NewOrderKey>;

}  // namespace palimpsest::experiments::tpcc
