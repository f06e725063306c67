// JSON objects on any number of lines, or in one array, as records that are told apart: where an
// object ends stands a byte that no text has (kObjectEnd).
//
// Each byte stays where it is: what stands between objects, commas, the array's brackets and white
// space, becomes spaces, and the first byte behind an object its end.
// Failure: Error invalid_argument, which names the byte, for what is neither an object nor an array
//          of them. Thread-safety: as ByteSource.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tools/load/byte_source.h"

namespace palimpsest::load {

class JsonSource : public ByteSource {
 public:
  JsonSource(std::unique_ptr<ByteSource> source, std::string path)
      : source_(std::move(source)), path_(std::move(path)), byte_(source_->skipped().bytes) {}

  std::size_t read(std::span<char> into) override;
  [[nodiscard]] bool is_compressed() const noexcept override { return source_->is_compressed(); }
  [[nodiscard]] Skipped skipped() const noexcept override { return source_->skipped(); }

 private:
  /// Where the next byte stands.
  enum class Place : std::uint8_t {
    begin = 1,     ///< before everything
    between,       ///< objects that follow each other
    in_array,      ///< before its first object
    behind_comma,  ///< of an array
    behind,        ///< an object of an array
    object,
    string,   ///< of an object
    escaped,  ///< by a backslash
    end,      ///< behind the array
  };

  void pass(char& byte);
  void pass_outside(char& byte);
  void pass_in_object(char byte);
  void begin_object() noexcept;
  void require_end() const;
  [[noreturn]] void refuse(const char* what) const;

  std::unique_ptr<ByteSource> source_;
  std::string path_;
  std::uint64_t byte_;
  Place place_ = Place::begin;
  std::uint64_t depth_ = 0;
  bool in_array_ = false;
  bool has_ended_ = false;  ///< an object, just now
};

}  // namespace palimpsest::load
