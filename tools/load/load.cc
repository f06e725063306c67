#include "tools/load/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "tools/load/bulk_sink.h"
#include "tools/load/byte_source.h"
#include "tools/load/chunk_reader.h"
#include "tools/load/interrupt.h"
#include "tools/load/load_checks.h"
#include "tools/load/load_conditions.h"
#include "tools/load/load_input.h"
#include "tools/load/no_sink.h"
#include "tools/load/parse_pipeline.h"
#include "tools/load/record_reader.h"
#include "tools/load/resume_files.h"
#include "tools/load/row_numbers.h"
#include "tools/load/schema_text.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

/// Files of fewer bytes together are put into the table as they come: their faults, too, are told
/// in that order.
constexpr std::uint64_t kSortedBytesMin = std::uint64_t{64} << 10U;
/// Rows between two looks at whether the process is to stop.
constexpr std::uint64_t kInterruptRows = 1024;
/// Rows that are kept for another load are synced when there are so many bytes of them, or as many
/// as the memory for sorting has.
constexpr std::uint64_t kKeptBytes = std::uint64_t{64} << 20U;

/// Half of the memory is the database's, a quarter is for sorting; parsing takes the rest.
Options database_options(const LoadOptions& options, bool may_make) {
  return {.memory_bytes = options.memory_bytes / 2, .create_if_missing = may_make};
}

/// A record does not fit a schema that was chosen by a sample: it is chosen again, by all of them.
class GuessContradicted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Load : public RowOutcomes {
 public:
  /// Alone if `together` is null.
  Load(const LoadOptions& options, Counters& counters, LoadsTogether* together)
      : options_(options),
        counters_(counters),
        input_(options, counters),
        database_(together == nullptr ? nullptr : &together->database),
        slots_(together == nullptr ? nullptr : &together->slots) {}

  LoadResult run(const std::function<void(const LoadFindings&)>& found) {
    const auto begin = std::chrono::steady_clock::now();
    check_options(options_);
    counters_.bytes_total = input_bytes_of(options_).value_or(0);
    input_.open();
    find_table(found);
    ColumnPlanner planner(definition_.table, options_.dialect, options_.header, options_.columns,
                          options_.row_id);
    planner.require_header(input_.required_header());
    check_beginnings(planner);
    open_or_make_database();
    input_.reader().set_chunk_bytes(ChunkReader::kChunkBytes);
    find_kept();
    report_ = std::make_unique<FaultReport>(options_.faults, saved_ ? &saved_->faults : nullptr);
    go_on();
    put_rows(planner);
    close();
    summarize();
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    result_.stages = counters_.stages.times();
    return std::move(result_);
  }

 private:
  void find_table(const std::function<void(const LoadFindings&)>& found) {
    if (options_.schema) {
      definition_ = parse_schema(*options_.schema, options_.table);
    }
    if (database_ == nullptr) {
      open(find_database(options_.database, database_options(options_, false)));
    }
    const auto table = database_ != nullptr ? database_->find_table(options_.table) : std::nullopt;
    result_.made_table = !table;
    if (table) {
      take_definition(*table);
    }
    const bool is_known = table || options_.schema;
    if (!is_known && options_.on_duplicate != OnDuplicate::error && options_.primary_key.empty()) {
      throw UsageError("--on-duplicate is for a key that is told: --primary-key, or --schema");
    }
    if (!is_known && options_.resume) {
      options_.sample_bytes = 0;  // what is chosen must be the same when it goes on
    }
    const auto chosen = find_input(is_known);
    if (chosen) {
      definition_ = *chosen;
    }
    if (!options_.row_id.empty()) {
      numbers_.emplace(definition_.table, options_.row_id,
                       table ? next_number(*table, options_.row_id) : 1);
    }
    found({.options = options_,
           .schema = chosen ? text_of(definition_) : std::string(),
           .notes = input_.notes()});
  }

  /// Nothing if there is no database.
  void open(std::optional<Database> database) {
    own_database_ = std::move(database);
    database_ = own_database_ ? &*own_database_ : nullptr;
  }

  [[nodiscard]] std::optional<TableText> find_input(bool is_known) {
    const InStage parsing(counters_.stages, Stage::parsing);
    return input_.find(is_known ? &definition_ : nullptr, options_);
  }

  /// Of a table that is there.
  void take_definition(const Table& table) {
    const TableText own{.table = table.schema(), .indexes = table.indexes()};
    if (options_.infer || options_.requires_new_table) {
      throw UsageError(fmt::format("table {} is there, its schema is not chosen: {}",
                                   in_quotes(options_.table), text_of(own)));
    }
    if (options_.schema && !is_described(own)) {
      throw UsageError(fmt::format("table {} is there with another schema: {}",
                                   in_quotes(options_.table), text_of(own)));
    }
    definition_ = own;
  }

  /// By a schema that was given; it may leave out the indexes.
  [[nodiscard]] bool is_described(TableText own) const {
    TableText given = definition_;
    std::ranges::sort(given.indexes, {}, &IndexSchema::name);
    std::ranges::sort(own.indexes, {}, &IndexSchema::name);
    return given.table == own.table && (given.indexes.empty() || given.indexes == own.indexes);
  }

  /// Before anything is begun: whether files can be read, and their headers mean something. Of what
  /// can be read but once only the first input is judged; another one is when its turn comes.
  void check_beginnings(const ColumnPlanner& planner) {
    planner.check_file(*input_.reader().look_ahead(), options_.files.front());
    note_header(0, *input_.reader().look_ahead());
    std::atomic<std::uint64_t> not_counted = 0;
    for (std::size_t number = 1; number < options_.files.size(); ++number) {
      const std::string& file = options_.files[number];
      if (can_be_read_again(file)) {
        ChunkReader beginning(
            {file}, options_.dialect, not_counted, ChunkReader::kFirstBytes,
            [&](std::size_t) { return input_.files().open(number, not_counted); });
        planner.check_file(*beginning.look_ahead(), file);
        note_header(number, *beginning.look_ahead());
      }
    }
  }

  /// What stands above the records of a file, for those that are rejected.
  void note_header(std::size_t file, const Chunk& beginning) {
    headers_.resize(options_.files.size());
    if (options_.header != Header::off) {
      headers_[file] = header_text(beginning, options_.dialect, options_.files[file]);
    }
  }

  void open_or_make_database() {
    if (database_ == nullptr && !options_.dry_run) {
      open(make_database(options_.database, database_options(options_, true)));
    }
  }

  /// What another load has kept and this one goes on with.
  void find_kept() {
    if (options_.dry_run) {
      return;
    }
    kept_.emplace(options_.database.pages, options_.table);
    if (options_.resume) {
      conditions_ = conditions_of(options_, text_of(definition_), result_.made_table);
      saved_ = kept_->find();
    }
    if (!saved_) {
      return;
    }
    if (const auto what = difference(saved_->conditions, conditions_)) {
      throw UsageError(
          fmt::format("the load that is to be resumed was another one: {}; a load "
                      "without --resume begins anew",
                      *what));
    }
  }

  /// What another load has kept is given up only now, when what was asked for has been judged: it
  /// may be the work of hours.
  void go_on() {
    if (!saved_) {
      remove_kept();
      return;
    }
    result_.records = saved_->records;
    result_.skipped_lines = saved_->skipped_lines;
    result_.resumed = saved_->rows;
    if (numbers_) {
      numbers_->pass(saved_->rows);
    }
    counters_.rows = saved_->records;
    counters_.rows_kept = saved_->rows;
    counters_.faults = report_->count();
    input_.reader().go_on_at(saved_->position);
    for (std::size_t file = 0; file < saved_->position.file; ++file) {
      left_out_bytes_ += file_bytes(options_.files[file]).value_or(0);
    }
  }

  /// All before the position survives any crash.
  void save(const InputPosition& position, RowSink& sink) {
    const std::uint64_t rows = result_.records - report_->count();
    std::string runs = sink.save();
    kept_->save({.conditions = conditions_,
                 .position = position,
                 .records = result_.records,
                 .skipped_lines = result_.skipped_lines,
                 .rows = rows,
                 .faults = report_->save(),
                 .runs = std::move(runs)});
    counters_.rows_kept = rows;
  }

  void remove_kept() {
    if (kept_) {
      kept_->remove();
      counters_.rows_kept = 0;
    }
  }

  [[nodiscard]] RowSortOptions sort_options() const {
    RowSortOptions sort{.memory_bytes = options_.memory_bytes / 4};
    if (options_.resume) {
      sort.kept_as = kept_->runs_name();
      sort.saved = saved_ ? saved_->runs : "";
    }
    return sort;
  }

  [[nodiscard]] std::unique_ptr<RowSink> make_sink() {
    if (options_.dry_run) {
      return std::make_unique<NoSink>(*this);
    }
    const BulkSinkOptions options{
        .makes_table = result_.made_table,
        .on_duplicate = options_.on_duplicate,
        .may_sort = counters_.bytes_total == 0 || counters_.bytes_total > kSortedBytesMin,
        .sort = sort_options(),
        .space = options_.checks_space ? std::optional(space_check()) : std::nullopt};
    return std::make_unique<BulkSink>(*database_, definition_, options, *this, counters_.stages);
  }

  [[nodiscard]] SpaceCheckOptions space_check() {
    return {.directory = options_.database.pages,
            .input_bytes = [this] { return input_bytes(); },
            .adds_all = options_.on_duplicate == OnDuplicate::error,
            .data_bytes = database_->statistics().data_bytes};
  }
  /// Decompressed; what has been read tells how much smaller the files are.
  [[nodiscard]] std::optional<std::uint64_t> input_bytes() {
    const std::uint64_t taken = counters_.bytes_taken - left_out_bytes_;
    if (counters_.bytes_total == 0 || taken == 0) {
      return std::nullopt;
    }
    return static_cast<std::uint64_t>(static_cast<double>(input_.reader().text_bytes()) *
                                      static_cast<double>(counters_.bytes_total - left_out_bytes_) /
                                      static_cast<double>(taken));
  }

  /// Leaves nothing behind if it throws, or if there are too many faults, but what is kept for
  /// another load: until that has ended, or the input is bad.
  void put_rows(const ColumnPlanner& planner) {
    std::unique_ptr<RowSink> sink = make_sink();
    counters_.phase = Phase::rows;
    try {
      put_batches(planner, *sink);
      if (!result_.too_many_faults) {
        end(*sink);
        require_all_rows();
      }
      result_.too_many_faults = result_.too_many_faults || report_->is_over(result_.records);
      if (!result_.too_many_faults) {
        stop_if_interrupted();
        report_->finish();  // a full disk is noticed while the rows can be given up
        commit(*sink);
        sink.reset();
        remove_kept();
        return;
      }
    } catch (const UsageError&) {
      undo(std::move(sink), true);
      throw;
    } catch (...) {
      undo(std::move(sink), input_is_bad_);
      throw;
    }
    undo(std::move(sink), true);
    report_->finish();
  }

  /// What was sorted is put into the table.
  void end(RowSink& sink) {
    const std::uint64_t rows = result_.records - report_->count();
    counters_.rows_sorted = rows - std::min(rows, rows_put());
    not_sorted_ = rows_put();
    counters_.phase = Phase::sorted;
    const InStage ending(counters_.stages, sink.stage());
    sink.end();
  }

  void require_all_rows() const {
    if (options_.expected_rows && result_.added != *options_.expected_rows) {
      throw Error(ErrorCode::corruption,
                  fmt::format("{}: it has {} rows, {} were dumped", options_.files.front(),
                              result_.added, *options_.expected_rows));
    }
  }

  /// Whatever goes wrong after it, the rows are there. One that fails leaves the table as it was,
  /// unless the database fails with it: then that is unknown.
  void commit(RowSink& sink) {
    counters_.phase = Phase::commit;
    const InStage writing(counters_.stages, Stage::writing);
    try {
      sink.finish();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::failed) {
        counters_.commit = CommitState::unknown;
      }
      throw;
    }
    counters_.commit = options_.dry_run ? CommitState::none : CommitState::done;
  }

  void undo(std::unique_ptr<RowSink> sink, bool is_over) {
    counters_.phase = Phase::undoing;
    sink.reset();
    if (is_over || counters_.rows_kept == 0) {
      remove_kept();
    }
  }

  void put_batches(const ColumnPlanner& planner, RowSink& sink) {
    const std::size_t processors = std::max(std::thread::hardware_concurrency(), 1U);
    ParsePipeline pipeline(input_.reader(), planner, definition_.table, options_.dialect,
                           {.threads = options_.threads != 0 ? options_.threads : processors,
                            .memory_bytes = options_.memory_bytes / 4,
                            .slots = slots_},
                           [&sink] { return sink.coder(); });
    const std::uint64_t kept_bytes =
        options_.memory_bytes != 0 ? options_.memory_bytes / 4 : kKeptBytes;
    const InStage putting(counters_.stages, sink.stage());
    while (std::optional<RowBatch> batch = next_of(pipeline)) {
      counters_.stages.enter(sink.stage());
      note_header(*batch);
      if (was_put(*batch)) {
        continue;
      }
      result_.skipped_lines += batch->skipped_lines;
      for (const BatchRecord& record : batch->records) {
        if (++result_.records % kInterruptRows == 0) {
          stop_if_interrupted();
        }
        put(*batch, record, sink);
        if (report_->is_over()) {
          result_.too_many_faults = true;
          require_whole(pipeline, batch->chunk);
          return;
        }
      }
      sink.let_go();
      counters_.rows = result_.records;
      if (sink.unsaved_bytes() >= kept_bytes) {
        save(batch->chunk.end(), sink);
      }
    }
    if (options_.resume) {
      save({.file = options_.files.size()}, sink);
    }
  }

  /// The records of a damaged file are not to blame: what is compressed is read to its end first,
  /// where its checksum is.
  void require_whole(ParsePipeline& pipeline, const Chunk& chunk) {
    for (bool is_at_end = !chunk.is_compressed || chunk.is_last; !is_at_end;) {
      const std::optional<RowBatch> batch = next_of(pipeline);
      is_at_end = !batch || batch->chunk.file != chunk.file || batch->chunk.is_last;
    }
  }

  [[nodiscard]] std::optional<RowBatch> next_of(ParsePipeline& pipeline) {
    try {
      counters_.stages.enter(Stage::reading);
      std::optional<RowBatch> batch = pipeline.next();
      if (batch) {
        counters_.stages.move(batch->awaited_parsing, Stage::reading, Stage::parsing);
      }
      return batch;
    } catch (const Error& error) {
      input_is_bad_ =
          error.code() == ErrorCode::corruption || error.code() == ErrorCode::invalid_argument;
      throw;
    }
  }

  /// By the load that is gone on with: of the first chunk only the header was wanted.
  [[nodiscard]] bool was_put(const RowBatch& batch) const {
    return saved_ && batch.chunk.is_first && batch.chunk.file == saved_->position.file &&
           saved_->position.byte != 0;
  }

  /// Of a pipe, whose turn has come.
  void note_header(const RowBatch& batch) {
    if (batch.chunk.is_first) {
      headers_[batch.chunk.file] = batch.header;
    }
  }

  /// As it stands in its file, without the byte that tells objects apart.
  [[nodiscard]] std::string_view record_text(const RowBatch& batch,
                                             const BatchRecord& record) const {
    std::string_view text = batch.text(record);
    text.remove_suffix(text.ends_with(kObjectEnd) ? 1 : 0);
    return text;
  }

  void put(RowBatch& batch, const BatchRecord& record, RowSink& sink) {
    if (record.fault != BatchRecord::kNone) {
      sink.flush();  // the faults of the rows before it come first
      Fault fault = batch.faults[record.fault];
      fault.at.file = options_.files[batch.chunk.file];
      require_no_guess(fault);
      add(fault, record_text(batch, record), batch.chunk.file);
      return;
    }
    if (numbers_) {
      numbers_->number(batch.rows, record);
    }
    const bool keeps_record = !options_.faults.reject_file.empty();
    sink.put(batch.row(record),
             {.file = batch.chunk.file,
              .line = record.line,
              .byte = batch.chunk.byte + record.begin,
              .record = keeps_record ? record_text(batch, record) : std::string_view()});
  }

  void done(PutResult result, std::uint64_t rows) override {
    switch (result) {
      case PutResult::added: result_.added += rows; break;
      case PutResult::replaced: result_.replaced += rows; break;
      case PutResult::skipped: result_.skipped += rows; break;
    }
    counters_.rows_put = rows_put() - not_sorted_;
  }
  [[nodiscard]] std::uint64_t rows_put() const noexcept {
    return result_.added + result_.replaced + result_.skipped;
  }
  void refused(Fault fault, const RowOrigin& origin) override {
    fault.at = {
        .file = options_.files[origin.file], .line = origin.line, .column = 1, .byte = origin.byte};
    require_no_guess(fault);
    add(fault, origin.record, origin.file);
  }
  bool goes_on() const override { return !report_->is_over(); }
  void add(const Fault& fault, std::string_view record, std::uint64_t file) {
    report_->add(fault, record, headers_[file]);
    counters_.faults = report_->count();
  }

  /// A value that does not fit a guess shows that the guess is wrong, unless records may be bad.
  void require_no_guess(const Fault& fault) const {
    const bool is_of_guess = fault.is_unknown || fault.kind != FaultKind::parse;
    const bool allows_bad = options_.faults.limit.percent || options_.faults.limit.count != 0;
    if (input_.is_by_sample() && is_of_guess && !allows_bad) {
      throw GuessContradicted(fault.text());
    }
  }

  void close() {
    counters_.phase = Phase::closing;
    if (!own_database_) {
      return;
    }
    try {
      own_database_->close();
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("{}; the database was not closed cleanly, and is recovered when it "
                              "is opened again",
                              error.what()));
    }
  }

  void summarize() {
    if (result_.too_many_faults) {
      result_.added = result_.replaced = result_.skipped = 0;
    }
    result_.dry_run = options_.dry_run;
    result_.taken = options_;
    result_.schema = text_of(definition_);
    result_.bytes = counters_.bytes_taken;
    result_.faults = report_->count();
    result_.first_unshown = report_->first_unshown();
    for (const FaultKind kind : kFaultKinds) {
      result_.faults_by_kind[static_cast<std::size_t>(kind) - 1] = report_->count(kind);
    }
  }

  LoadOptions options_;
  Counters& counters_;
  LoadInput input_;
  std::optional<Database> own_database_{};
  Database* database_;  ///< that, or another one; null: there is none yet
  ParseSlots* slots_;
  TableText definition_{};
  std::unique_ptr<FaultReport> report_{};
  std::optional<ResumeFiles> kept_{};        ///< unless it is a dry run
  std::vector<LoadCondition> conditions_{};  ///< if rows are kept
  std::optional<SavedLoad> saved_{};         ///< what is gone on with
  std::uint64_t left_out_bytes_ = 0;         ///< of files that are all in there
  std::uint64_t not_sorted_ = 0;             ///< rows that were put before those that are sorted
  bool input_is_bad_ = false;
  std::vector<std::string> headers_{};  ///< of the files so far, as they stand there
  std::optional<RowNumbers> numbers_{};
  LoadResult result_{};
};

}  // namespace

LoadResult run_load(const LoadOptions& options, Counters& counters,
                    const std::function<void(const LoadFindings&)>& found) {
  std::string why;
  try {
    return Load(options, counters, nullptr).run(found);
  } catch (const GuessContradicted& contradicted) {
    why = contradicted.what();
  }
  const bool can_begin_again = std::ranges::all_of(
      options.files, [](const std::string& file) { return can_be_read_again(file); });
  if (!can_begin_again) {
    throw UsageError(
        fmt::format("{}; the schema was chosen by the first {} bytes, and a pipe is read but once: "
                    "--schema says what it is, or a file is loaded",
                    why, options.sample_bytes));
  }
  LoadOptions by_all = options;
  by_all.sample_bytes = 0;
  counters.bytes_taken = 0;
  counters.rows = 0;
  counters.rows_put = 0;
  counters.faults = 0;
  counters.phase = Phase::opening;
  const std::vector<std::string> notes{
      why, "the schema that the first records suggested does not fit: it is chosen by all of them"};
  found({.options = options, .notes = notes});
  return Load(by_all, counters, nullptr).run(found);
}

LoadResult run_load(const LoadOptions& options, Counters& counters, LoadsTogether& together) {
  return Load(options, counters, &together).run([](const LoadFindings&) {});
}

}  // namespace palimpsest::load
