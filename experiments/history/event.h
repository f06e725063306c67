// The events of a history: each transaction's beginning and its outcome.
//
// One line of JSON for each event, or the same as a map of EDN, which Elle reads:
//   {"type":"ok","process":3,"index":17,"time":1234,"value":[["r",5,[1,2]],["append",5,3]]}
//   {:type :ok, :process 3, :index 17, :time 1234, :value [[:r 5 [1 2]] [:append 5 3]]}
// A list that is empty, or whose row is absent, is [] or null. The result of a read is known only
// in events `ok`. A register's operations are ["w",5,1] and ["r",5,1], or null.
// Thread-safety: plain values. Failure: MalformedEvent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::experiments::history {

enum class EventType : std::uint8_t {
  invoke = 1,  ///< it begins
  ok,          ///< it has committed
  fail,        ///< it has certainly not
  info,        ///< its outcome is unknown
};

enum class OperationKind : std::uint8_t {
  read_list = 1,
  append,
  read_register,
  write,
};

[[nodiscard]] constexpr bool is_read(OperationKind kind) noexcept {
  return kind == OperationKind::read_list || kind == OperationKind::read_register;
}

struct Operation {
  OperationKind kind = OperationKind::read_list;
  bool known = false;  ///< of a read: what it has found
  std::int64_t key = 0;
  std::vector<std::int64_t> values{};  ///< the values written or read
};

struct Event {
  EventType type = EventType::invoke;
  std::int64_t process = 0;
  std::uint64_t index = 0;
  std::int64_t time_ns = 0;
  std::vector<Operation> operations{};
};

[[nodiscard]] std::string_view name_of(EventType type) noexcept;
/// The operations alone: [["r",5,[1,2]]].
void append_json(std::string& text, const std::vector<Operation>& operations);
/// A line, with its end.
void append_json(std::string& text, const Event& event);
void append_edn(std::string& text, const Event& event);

/// A line that is no event: which field is wrong, missing, or there twice.
class MalformedEvent : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads a line without its end. Reads `null` as an empty list. `time` and `f` need not be there.
[[nodiscard]] Event parse_json(std::string_view line);

}  // namespace palimpsest::experiments::history
